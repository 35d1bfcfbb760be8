// Executes measures: servers, empty databases, one child process per measurement, and the figures they give.

import { fork } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { cpus, loadavg, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { startPostgres } from '../test/support/servers.mjs'
import { figure } from './report.mjs'
import { startServer } from './servers.mjs'
import { SYSTEMS } from './systems.mjs'

const CHILD = fileURLToPath(new URL('./child.mjs', import.meta.url))
const MEASURE_MS_MAX = 300_000
/** They say where this machine keeps things; the page must not. */
const PATHS = /(?:file:\/\/)?(?:\/[\w.@+-]+){2,}/g
const COUNTING = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track': 'all',
}

export class Runner {
  figures = {}
  /** Why a peer, or one of its figures, is missing. */
  absent = []
  #about = new Map()
  #postgres = null
  #counting = null
  #databases = 0
  #serverVersion = ''
  /** Before the bench itself makes any. */
  #load = loadavg()[0]
  #home = mkdtempSync(join(tmpdir(), 'perdure-bench-'))
  #say

  constructor({ say }) {
    this.#say = say
    process.once('exit', () => rmSync(this.#home, { recursive: true, force: true }))
  }

  async open({ peers }) {
    this.#postgres = await startPostgres({ version: 15, fsync: true })
    this.#serverVersion = await this.#query(this.#postgres, 'show server_version')
    for (const name of ['perdure', 'embedded', 'bare', 'raw', ...peers]) await this.#describe(name)
  }

  async close() {
    await Promise.all([this.#postgres, this.#counting].map((server) => server?.stop()))
  }

  /** A peer that cannot be imported, or whose server does not start, is said to be absent and left out. */
  async #describe(name) {
    try {
      const about = await this.#child(name, 'describe', {})
      await (await this.#place(name)).clear()
      this.#about.set(name, about)
    } catch (error) {
      this.#leaveOut(SYSTEMS[name].title, error)
    }
  }

  #leaveOut(what, error) {
    const [reason] = error.message.split('\n')
    const line = `${what} (${reason.replace(PATHS, '…')})`
    this.absent.push(line)
    this.#say(`not available: ${line}`)
  }

  /** One round of one measure: every system has its turn, in each round another one begins. */
  async measure({ id, workload = id, systems, options }, round) {
    const names = this.#systemsOf(workload, systems)
    for (let turn = 0; turn < names.length; turn += 1) {
      const name = names[(turn + round) % names.length]
      const what = `${String(round + 1).padEnd(2)} ${id.padEnd(10)} ${name.padEnd(12)}`
      try {
        const result = await this.#once(name, workload, options)
        this.#record(id, name, result)
        const shown = Object.entries(result).map(([field, value]) => `${field} ${figure(value)}`)
        this.#say(`${what} ${shown.join('  ')}`)
      } catch (error) {
        this.#leaveOut(`${SYSTEMS[name].title}, ${id} in round ${round + 1}`, error)
      }
    }
  }

  #systemsOf(workload, systems) {
    const names = [...this.#about.keys()]
    if (systems === 'own') return ['perdure']
    if (Array.isArray(systems)) return names.filter((name) => systems.includes(name))
    if (systems === 'sql') {
      return names.filter(
        (name) => SYSTEMS[name].database === 'postgres' && !['bare', 'raw'].includes(name),
      )
    }
    return names.filter((name) => this.#about.get(name).can.includes(workload))
  }

  #record(id, name, result) {
    this.figures[id] ??= {}
    this.figures[id][name] ??= {}
    for (const [field, value] of Object.entries(result)) {
      this.figures[id][name][field] ??= []
      this.figures[id][name][field].push(value)
    }
  }

  async #once(name, workload, options) {
    const isCounting = workload === 'statements' || workload === 'transport'
    const place = await this.#place(name, isCounting)
    try {
      return await this.#child(name, workload, { ...options, ...place.options })
    } finally {
      await place.clear()
    }
  }

  /** An empty place for one measurement, and how to clear it away. */
  async #place(name, isCounting = false) {
    const kind = SYSTEMS[name].database
    if (kind === 'postgres') return this.#database(isCounting)
    if (kind === 'embedded') {
      const home = mkdtempSync(join(this.#home, 'data-'))
      const clear = async () => rmSync(home, { recursive: true, force: true })
      return { options: { url: `file:${home}` }, clear }
    }
    const { options, stop } = await startServer(kind)
    return { options, clear: stop }
  }

  async #database(isCounting) {
    if (isCounting) {
      const options = { version: 15, fsync: true, settings: COUNTING }
      this.#counting ??= await startPostgres(options)
    }
    const server = isCounting ? this.#counting : this.#postgres
    this.#databases += 1
    const name = `bench${this.#databases}`
    await this.#query(server, `create database ${name}`)
    const url = new URL(server.url)
    url.pathname = name
    const clear = () => this.#query(server, `drop database ${name} with (force)`)
    return { options: { url: url.href }, clear }
  }

  async #query(server, sql) {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    const { rows } = await client.query(sql)
    await client.end()
    return rows[0] && Object.values(rows[0])[0]
  }

  /** The child is killed when it has answered: nothing that it would still do can disturb the next one. */
  async #child(system, workload, options) {
    const child = fork(CHILD, {
      execArgv: ['--expose-gc', '--no-deprecation'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    let complaint = ''
    child.stderr.on('data', (chunk) => {
      complaint = (complaint + chunk).slice(-2_000)
    })
    const ended = new Promise((resolve) => child.once('close', resolve))
    const late = setTimeout(() => child.kill('SIGKILL'), MEASURE_MS_MAX)
    const answer = new Promise((resolve, reject) => {
      child.once('message', ({ result, error }) =>
        error ? reject(new Error(error)) : resolve(result),
      )
      child.once('exit', () => reject(new Error(complaint.trim() || 'no answer in time')))
    })
    try {
      child.send({ system, workload, options })
      return await answer
    } finally {
      clearTimeout(late)
      child.kill('SIGKILL')
      await ended
    }
  }

  /** What the page says about this run. No names of hosts, no paths. */
  about() {
    const { dependencies } = JSON.parse(readFileSync(new URL('./package.json', import.meta.url)))
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url)))
    const names = [...this.#about.keys()].flatMap((name) => SYSTEMS[name].packages ?? [])
    const settings = [...this.#about].filter(([name]) => !['embedded', 'raw'].includes(name))
    return {
      date: new Date().toISOString().slice(0, 10),
      machine: `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}`,
      load: this.#load,
      cores: cpus().length,
      versions: [
        `perdure ${version}`,
        `Node ${process.versions.node}`,
        `PostgreSQL ${this.#serverVersion}`,
        ...names.map((name) => `${name} ${dependencies[name]}`),
      ],
      settings: Object.fromEntries(settings.map(([name, about]) => [name, about.settings])),
    }
  }
}

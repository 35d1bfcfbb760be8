// A world: one database (a schema of a server, or a directory), its ledger, and the victims that live in it.

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import pg from 'pg'
import { openEmbedded } from '../../dist/store/driver-embedded/open-embedded.js'
import { openSqlStore } from '../../dist/store/sql-store.js'
import { victimBundle } from './bundle.mjs'
import { LEDGER_TABLE } from './ledger.mjs'
import { readSnapshot } from './snapshot.mjs'

const BOOT = fileURLToPath(new URL('./boot.cjs', import.meta.url))
const EFFECTS = 'create table if not exists effects (run text, step text, key text)'
const LEDGER = 'perdure_ledger'
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

/** On a server. Its ledger is in another database of it; or a file, which costs less and has the times of the processes. */
export async function serverWorld({ url, leaseMs = 2_000, hasLedgerFile = false }) {
  const name = `w_${randomBytes(5).toString('hex')}`
  await queryOn(url, `create database ${LEDGER}`).catch((error) => {
    if (error.code !== '42P04' && error.code !== '23505') throw error
  })
  const ledgerUrl = Object.assign(new URL(url), { pathname: `/${LEDGER}` }).href
  for (const [at, sql] of [
    [ledgerUrl, LEDGER_TABLE],
    [ledgerUrl, 'create index if not exists executions_world on executions (world)'],
    [url, EFFECTS],
  ]) {
    // Two worlds may be made at once: "if not exists" does not look at what is not yet committed.
    await queryOn(at, sql).catch(() => queryOn(at, sql))
  }
  const database = { database: url, schema: name }
  const world = new World(name, leaseMs, database, { url: ledgerUrl, world: name })
  if (hasLedgerFile) world.ledger = { file: join(world.folder, 'ledger') }
  world.url = url
  world.bundle = await victimBundle()
  return world
}

/** A directory of its own. Copied from one that was made before, because making one takes seconds; or `empty`. */
export async function embeddedWorld({ leaseMs = 10_000, empty = false } = {}) {
  const name = `w_${randomBytes(5).toString('hex')}`
  const folder = fs.mkdtempSync(join(tmpdir(), 'perdure-crash-'))
  const directory = join(folder, 'data')
  if (!empty) fs.cpSync(await template(), directory, { recursive: true })
  const database = { database: `file:${directory}`, schema: 'perdure' }
  const world = new World(name, leaseMs, database, { file: join(folder, 'ledger') }, folder)
  world.directory = directory
  world.bundle = await victimBundle()
  return world
}

let made = null
function template() {
  made ??= (async () => {
    // As in boot.cjs.
    setFlagsFromString('--liftoff-only')
    const directory = fs.mkdtempSync(join(tmpdir(), 'perdure-crash-template-'))
    process.once('exit', () => fs.rmSync(directory, { recursive: true, force: true }))
    const driver = await openDirectory(directory)
    const store = await openSqlStore({ driver, schema: 'perdure' })
    await driver.script(EFFECTS)
    await store.close()
    return directory
  })()
  return made
}

const openDirectory = (directory) =>
  openEmbedded({ directory, production: false, allowInProduction: false, log: quiet })

async function queryOn(connectionString, sql, params = []) {
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql, params)).rows
  } finally {
    await client.end()
  }
}

class World {
  victims = []
  count = 0
  /** Protections that its victims do not have (src/kernel/defects.ts). */
  defects = []
  /** Every run that somebody was told to start: id → kind. */
  runs = new Map()

  constructor(name, leaseMs, database, ledger, folder) {
    this.name = name
    this.leaseMs = leaseMs
    this.database = database
    this.ledger = ledger
    this.folder = folder ?? fs.mkdtempSync(join(tmpdir(), 'perdure-crash-'))
  }

  /** A new run of each of these kinds, to be driven by a victim. */
  newRuns(...kinds) {
    return kinds.map((kind) => {
      this.count += 1
      const id = `${this.name}-${kind}-${this.count}`
      this.runs.set(id, kind)
      return { id, kind }
    })
  }

  /** `fault`: as PERDURE_FAULT. `preload`: a module that Node imports first. `heapMb`: it may have no more. The rest: see Order. */
  spawn({ fault, preload, heapMb, ...order } = {}) {
    const { leaseMs, ledger, folder, defects } = this
    const victim = new Victim(
      { ...this.database, world: this.name, leaseMs, ledger, folder, defects, ...order },
      { ...(fault ? { PERDURE_FAULT: fault } : {}) },
      [
        ...(preload ? ['--import', preload] : []),
        ...(heapMb ? [`--max-old-space-size=${heapMb}`] : []),
        BOOT,
        this.bundle,
      ],
      // What V8 says at the end of a heap is long.
      heapMb ? 'ignore' : 'inherit',
    )
    this.victims.push(victim)
    return victim
  }

  /** Everything that all lives of all victims have said. */
  get said() {
    return this.victims.flatMap((victim) => victim.said)
  }

  /** Lives without faults drive every run again, until each has ended. Throws what is stuck. */
  async finish({ victims = 1, withinMs = 120_000 } = {}) {
    const all = [...this.runs].map(([id, kind]) => ({ id, kind }))
    const crew = Array.from({ length: victims }, (_, i) =>
      this.spawn({
        runs: all.filter((_, at) => at % victims === i),
        concurrency: 20,
        closeWhenDriven: true,
      }),
    )
    const timer = setTimeout(() => {
      for (const victim of crew) victim.signal('SIGKILL')
    }, withinMs)
    const ends = await Promise.all(crew.map((victim) => victim.ended))
    clearTimeout(timer)
    return ends.every(({ code }) => code === 0)
  }

  async snapshot() {
    const events = this.#lines('events')
    if (this.directory) {
      const driver = await openDirectory(this.directory)
      try {
        const query = (sql) => driver.query('read', sql, [])
        return { ...(await readSnapshot(query, 'perdure')), ledger: this.#lines('ledger'), events }
      } finally {
        await driver.close()
      }
    }
    const query = (sql) => queryOn(this.url, sql)
    const read = await readSnapshot(query, this.name)
    const effects = read.effects.filter(({ run }) => run.startsWith(`${this.name}-`))
    return { ...read, effects, ledger: await this.#executions(), events }
  }

  async #executions() {
    if (this.ledger.file) return this.#lines('ledger')
    return queryOn(
      this.ledger.url,
      `select run, step, key, attempt, life, began, (extract(epoch from at) * 1000)::float8 as at
         from executions where world = $1 order by at`,
      [this.name],
    )
  }

  /** Only on a server. */
  query(sql, params) {
    return queryOn(this.url, sql.replaceAll('@schema@', this.name), params)
  }

  /** What the kernels of all lives have counted, as far as it was written. */
  counters() {
    const sum = {}
    for (const file of fs.readdirSync(this.folder)) {
      if (!/^counters-.*\.json$/.test(file)) continue
      const counted = JSON.parse(fs.readFileSync(join(this.folder, file), 'utf8'))
      for (const [name, count] of Object.entries(counted)) sum[name] = (sum[name] ?? 0) + count
    }
    return sum
  }

  async [Symbol.asyncDispose]() {
    for (const victim of this.victims) victim.signal('SIGKILL')
    await Promise.all(this.victims.map((victim) => victim.ended))
    if (this.url) await this.query('drop schema if exists @schema@ cascade').catch(() => {})
    fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }

  #lines(name) {
    const file = join(this.folder, name)
    if (!fs.existsSync(file)) return []
    // The last line of a killed process may be half a line, and the next one begins behind it.
    return fs
      .readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line) => (line.startsWith('{') && line.endsWith('}') ? [JSON.parse(line)] : []))
  }
}

class Victim {
  said = []
  stops = 0
  #child
  #hearers = new Set()

  constructor(order, env, args, stderr) {
    this.#child = spawn(process.execPath, args, {
      env: { ...process.env, NODE_OPTIONS: '', VICTIM: JSON.stringify(order), ...env },
      stdio: ['pipe', 'pipe', stderr],
    })
    this.#child.stdin.on('error', () => {})
    const lines = createInterface({ input: this.#child.stdout })
    lines.on('line', (line) => {
      if (!line.startsWith('{') || !line.endsWith('}')) return
      this.said.push(JSON.parse(line))
      for (const hearer of this.#hearers) hearer()
    })
    const allSaid = new Promise((resolve) => lines.once('close', resolve))
    this.ended = new Promise((resolve) => {
      this.#child.once('exit', async (code, signal) => {
        await allSaid
        this.end = { code, signal }
        for (const hearer of this.#hearers) hearer()
        resolve(this.end)
      })
    })
  }

  get pid() {
    return this.#child.pid
  }

  /** The first thing it says (or has said) that fits; null if it ends before, or after `ms`. */
  hear(fits, ms = 30_000) {
    return new Promise((resolve) => {
      const look = () => {
        const found = this.said.find(fits)
        if (!found && !this.end) return
        done(found ?? null)
      }
      const timer = setTimeout(() => done(null), ms)
      const done = (value) => {
        clearTimeout(timer)
        this.#hearers.delete(look)
        resolve(value)
      }
      this.#hearers.add(look)
      look()
    })
  }

  tell(what) {
    this.#child.stdin.write(`${JSON.stringify(what)}\n`)
  }

  signal(signal) {
    if (this.end) return
    if (signal === 'SIGSTOP') this.stops += 1
    this.#child.kill(signal)
    // A stopped process hears nothing but this.
    if (signal === 'SIGKILL') this.#child.kill('SIGCONT')
  }

  /** 'T' in /proc: stopped by a signal. */
  async stopped(ms = 20_000) {
    for (const until = Date.now() + ms; Date.now() < until; ) {
      if (this.end) return false
      const stat = fs.readFileSync(`/proc/${this.pid}/stat`, 'utf8')
      if (stat.slice(stat.lastIndexOf(')') + 2)[0] === 'T') return true
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return false
  }
}

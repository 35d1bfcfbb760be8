// Real PostgreSQL servers for tests and benches, without root and without Docker.
//
// Owns:      one folder under os.tmpdir() per server: data, log, and the binaries if they had to be copied.
// Invariant: a server never outlives the process that started it. A shell waits for the end of a pipe that this
//            process holds open; however the process ends, kill -9 included, the shell stops the server and
//            removes the folder.

import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  closeSync,
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePorts } from './guarded.mjs'

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const START_MS_MAX = 60_000
const STOP_MS_MAX = 15_000
const SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT' }

const GUARD = `trap '' INT TERM HUP
cat >/dev/null
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ] && { [ ! -d /proc/self ] || [ "$(readlink "/proc/$pid/cwd")" = "$1/data" ]; }; then
  kill -QUIT "$pid" && for _ in 1 2 3 4 5 6 7 8 9 10; do [ -e "$1/data/postmaster.pid" ] || break; sleep 0.3; done
fi 2>/dev/null
rm -rf "$1"`

/**
 * The server for a test run: the one named by TEST_DATABASE_URL_<version>, else one of our own.
 * @param {import('./servers.mjs').PostgresOptions} options
 */
export async function providePostgres(options) {
  const url = process.env[`TEST_DATABASE_URL_${options.version}`]
  return url ? { url, stop: async () => {} } : startPostgres(options)
}

/**
 * A new, empty server of our own.
 * @param {import('./servers.mjs').PostgresOptions} options
 * @returns {Promise<import('./servers.mjs').Postgres>}
 */
export async function startPostgres({ version, fsync = false, settings = {} }) {
  const user = serverUser()
  const home = mkdtempSync(join(tmpdir(), `perdure-pg${version}-`))
  const guard = startGuard(home)
  try {
    if (user.uid !== undefined) chownSync(home, user.uid, user.gid)
    const bin = usableBinaries(version, home, user)
    const dataDir = join(home, 'data')
    initialise(bin, dataDir, version, fsync, user)
    const server = new Server({ bin, home, dataDir, version, user, guard })
    server.settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: dataDir.length < 80 ? dataDir : '',
      max_connections: 200,
      shared_buffers: '128MB',
      fsync: fsync ? 'on' : 'off',
      ...settings,
    }
    await server.firstStart()
    return server
  } catch (error) {
    guard.stdin.end()
    throw error
  }
}

class Server {
  #process = null
  #guard
  #port = 0

  constructor({ bin, home, dataDir, version, user, guard }) {
    this.bin = bin
    this.home = home
    this.dataDir = dataDir
    this.version = version
    this.user = user
    this.#guard = guard
  }

  get pid() {
    return this.#process?.pid ?? null
  }

  get url() {
    return `postgresql://postgres@127.0.0.1:${this.#port}/postgres`
  }

  /** Another process may take the probed port before we do, so a few ports are tried. */
  async firstStart() {
    for (let tries = 3; ; tries -= 1) {
      ;[this.#port] = await freePorts(1)
      try {
        return await this.start()
      } catch (error) {
        if (tries === 1 || !/could not bind/.test(error.message)) throw error
      }
    }
  }

  /** Starts it again on the same port and data. */
  async start() {
    if (this.#process) throw new Error(`PostgreSQL ${this.version} is already running`)
    const deadline = Date.now() + START_MS_MAX
    while (!(await this.#startOnce(deadline))) await sleep(100)
  }

  /** False: backends of a killed server still hold its memory; they are about to notice its death. */
  async #startOnce(deadline) {
    const log = join(this.home, 'log')
    const logFrom = existsSync(log) ? readFileSync(log).length : 0
    const settings = { port: this.#port, ...this.settings }
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const out = openSync(log, 'a')
    const child = spawn(join(this.bin, 'postgres'), ['-D', this.dataDir, ...args], {
      ...this.user,
      cwd: this.home,
      env: serverEnv(),
      detached: true, // Ctrl-C is for the tests; they stop the server, or the guard does
      stdio: ['ignore', out, out],
    })
    closeSync(out)
    child.unref()
    let ended = null
    child.once('error', (error) => {
      ended = error.message
    })
    child.once('exit', (code, signal) => {
      ended ??= `exit ${code ?? signal}`
      if (this.#process === child) this.#process = null
    })
    while (ended === null && !isReady(this.dataDir, child.pid)) {
      if (Date.now() > deadline) child.kill('SIGKILL')
      await sleep(20)
    }
    if (ended === null) {
      this.#process = child
      return true
    }
    const said = existsSync(log) ? readFileSync(log).subarray(logFrom).toString() : ''
    if (/shared memory block .* is still in use/.test(said) && Date.now() < deadline) return false
    throw new Error(`PostgreSQL ${this.version} did not start (${ended}):\n${said.slice(-2000)}`)
  }

  /** @param {'fast' | 'immediate'} mode */
  async restart(mode = 'fast') {
    await this.#end(SIGNALS[mode])
    await this.start()
  }

  /** The server and all its backends die at once, as by the kernel's hand. */
  async kill9() {
    const backends = childrenOf(this.pid)
    await this.#end('SIGKILL', backends)
  }

  async stop() {
    // A killed server left shared memory behind; only a start and an orderly stop take it away.
    if (!this.#process && existsSync(join(this.dataDir, 'postmaster.pid'))) {
      await this.start().catch(() => {})
    }
    await this.#end('SIGINT')
    rmSync(this.home, { recursive: true, force: true })
    this.#guard.stdin.end()
  }

  async #end(signal, alsoKill = []) {
    const child = this.#process
    if (!child) return
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    for (const pid of alsoKill) kill(pid, 'SIGKILL')
    child.ref()
    for (const next of ['SIGQUIT', 'SIGKILL']) {
      const timer = sleep(STOP_MS_MAX, 'late', { ref: false })
      if ((await Promise.race([gone, timer])) !== 'late') break
      child.kill(next)
    }
    await gone
  }
}

// ── binaries ────────────────────────────────────────────────────────────────────────────────────────────────

/** Where a version may be: npm's optional packages, then what distributions and Homebrew install. */
function places(version) {
  return [
    join(ROOT, `test/support/node_modules/pg${version}-bin/native/bin`),
    `/usr/lib/postgresql/${version}/bin`,
    `/usr/pgsql-${version}/bin`,
    `/opt/homebrew/opt/postgresql@${version}/bin`,
    `/usr/local/opt/postgresql@${version}/bin`,
  ]
}

/** Whether startPostgres can be tried: TEST_DATABASE_URL_… does not help a test that has to stop its server. */
export function hasBinaries(version) {
  return places(version).some((bin) => existsSync(join(bin, 'postgres')))
}

/** The first place whose binaries run; those the server's user cannot reach (a checkout below /root) are copied. */
function usableBinaries(version, home, user) {
  const reasons = []
  for (const bin of places(version)) {
    if (!existsSync(join(bin, 'postgres')) || !existsSync(join(bin, 'initdb'))) continue
    linkLibraries(dirname(dirname(bin)))
    if (!whyNotRunning(bin, user)) return bin
    if (bin.includes('node_modules')) {
      const copied = copyBinaries(dirname(dirname(bin)), home, user)
      if (!whyNotRunning(copied, user)) return copied
      reasons.push(`${bin}: ${whyNotRunning(copied, user)}`)
    } else {
      reasons.push(`${bin}: ${whyNotRunning(bin, user)}`)
    }
  }
  const why = reasons.length > 0 ? reasons.join('; ') : 'no binaries found'
  throw new Error(`PostgreSQL ${version}: ${why}`)
}

function whyNotRunning(bin, user) {
  for (const name of ['initdb', 'postgres']) {
    const options = { ...user, cwd: '/', env: serverEnv(), encoding: 'utf8' }
    const { status, error, stderr } = spawnSync(join(bin, name), ['--version'], options)
    if (status !== 0) return error?.message ?? stderr.trim()
  }
  return null
}

/** What the package's install script does, for when npm was told not to run install scripts. */
function linkLibraries(packageDir) {
  const list = join(packageDir, 'native/pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8'))) {
    try {
      symlinkSync(relative(dirname(target), source), join(packageDir, target))
    } catch {} // it exists, or the folder is read-only: whyNotRunning tells
  }
}

function copyBinaries(packageDir, home, user) {
  const copy = join(home, 'package')
  cpSync(packageDir, copy, { recursive: true, verbatimSymlinks: true })
  linkLibraries(copy)
  const bin = join(copy, 'native/bin')
  for (const name of readdirSync(bin)) chmodSync(join(bin, name), 0o755)
  if (user.uid !== undefined) spawnSync('chown', ['-R', `${user.uid}:${user.gid}`, copy])
  return bin
}

function initialise(bin, dataDir, version, fsync, user) {
  const args = ['-D', dataDir, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C']
  // One of the two sorts as people do, so that nothing comes to rely on byte order.
  if (version === 15) args.push('--locale-provider=icu', '--icu-locale=en-US')
  if (!fsync) args.push('--no-sync')
  const options = { ...user, cwd: '/', env: serverEnv(), encoding: 'utf8' }
  const { status, error, stderr } = spawnSync(join(bin, 'initdb'), args, options)
  if (status !== 0) throw new Error(`initdb ${version}: ${error?.message ?? stderr.trim()}`)
}

// ── processes ───────────────────────────────────────────────────────────────────────────────────────────────

/** PostgreSQL refuses to run as root: then it runs as `postgres`, or as nobody. */
export function serverUser() {
  if (process.getuid?.() !== 0) return {}
  const users = readFileSync('/etc/passwd', 'utf8')
  const [, uid, gid] = /^postgres:[^:]*:(\d+):(\d+):/m.exec(users) ?? [null, 65534, 65534]
  return { uid: Number(uid), gid: Number(gid) }
}

function serverEnv() {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' }
}

function startGuard(home) {
  const guard = spawn('/bin/sh', ['-c', GUARD, 'guard', home], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  guard.stdin.on('error', () => {})
  guard.stdin.unref?.()
  guard.unref()
  return guard
}

/** As pg_ctl -w knows it: the server's own line in postmaster.pid (which a killed one leaves behind). */
function isReady(dataDir, pid) {
  try {
    const lines = readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n')
    return lines[0] === String(pid) && lines[7]?.trim() === 'ready'
  } catch {
    return false
  }
}

function childrenOf(pid) {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    // Without a child the text is empty, and 0 would be our own process group.
    return children
      .split(' ')
      .map(Number)
      .filter((child) => child > 1)
  } catch {
    return [] // no /proc: the backends end by themselves when they miss their parent
  }
}

function kill(pid, signal) {
  try {
    process.kill(pid, signal)
  } catch {} // gone already
}

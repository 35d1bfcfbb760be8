// Makes a fresh checkout ready: packages, generated SQL, dist with the Studio. Uses Node's own modules only, because it runs
// before node_modules exists. Everything it says goes to stderr.

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { makeCluster } from './cluster.mjs'
import { GENERATED, writeSql } from './inline-sql.mjs'

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
export const CACHE = join(ROOT, '.cache')
const LOCK = join(CACHE, 'bootstrap.lock')
/** What has packages of its own, in words; else it is said by its folder. */
const SPOKEN = { '': 'Perdure', studio: 'the Studio' }
const NOT_SOURCES = ['node_modules', '.next']
const BUILD_STAMP = join(CACHE, 'build.stamp')

/** `isForTests`: with the servers and the browser that tests need. Throws a one-line Error if packages are missing for good; `built` is false if the sources do not compile, or the Studio is too large. */
export async function bootstrap({ isForTests = true } = {}) {
  checkNode()
  mkdirSync(CACHE, { recursive: true })
  const unlock = await lock()
  try {
    await install()
    if (isForTests) await install(join(ROOT, 'test/support'))
    // In CI a stale file has to fail (test/tidy), not to be mended in silence.
    if (!process.env.CI || !existsSync(join(ROOT, GENERATED))) writeSql(ROOT)
    const built = await build()
    if (built) await makeCluster()
    // studio.mjs takes its tools from here.
    const { buildStudio } = await import('./studio.mjs')
    return { built: built && (await buildStudio()) }
  } finally {
    unlock()
  }
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > 20 || (major === 20 && minor >= 19)) return
  console.error(`Perdure needs Node 20.19 or newer; this is ${process.versions.node}.`)
  process.exit(1)
}

/** One process at a time; a lock whose holder is gone is taken over. */
async function lock() {
  for (;;) {
    try {
      writeFileSync(LOCK, String(process.pid), { flag: 'wx' })
      return () => rmSync(LOCK, { force: true })
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    if (isHeld()) await sleep(200)
    else rmSync(LOCK, { force: true })
  }
}

function isHeld() {
  try {
    const pid = Number(readFileSync(LOCK, 'utf8'))
    if (pid === 0) return Date.now() - statSync(LOCK).mtimeMs < 1_000 // being written
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** The packages of a folder that has a lock of its own; `options` are npm's. */
export async function install(folder = ROOT, options = []) {
  if (isInstalled(folder)) return
  const modules = join(folder, 'node_modules')
  if (lstatSync(modules, { throwIfNoEntry: false })?.isSymbolicLink()) {
    throw new Error(
      'node_modules is a link and does not fit package-lock.json: run npm ci where it points',
    )
  }
  const place = relative(ROOT, folder)
  const how = { fold: `installing packages of ${SPOKEN[place] ?? place}`, cwd: folder }
  if ((await run('npm', ['ci', ...options], { ...how, isTried: true })).code === 0) return
  // npm ci refuses a lock that lacks packages of other platforms, as one made behind a partial mirror does.
  const { code, output } = await run('npm', ['install', '--no-save', ...options], how)
  if (code !== 0) throw new Error(`npm install failed:\n${output.slice(-4000)}`)
}

/** By version and not by time: a checkout gives every file a new time. Optional packages may be missing. */
function isInstalled(folder) {
  const installed = join(folder, 'node_modules/.package-lock.json')
  if (!existsSync(installed)) return false
  const have = JSON.parse(readFileSync(installed, 'utf8')).packages
  const want = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')).packages
  return Object.entries(want).every(([path, { version, optional }]) =>
    path === '' || !path.includes('node_modules') || (optional && !have[path])
      ? true
      : have[path]?.version === version,
  )
}

async function build() {
  const stamp = sourceHash(['src', 'sql', 'tsconfig.json', 'tsconfig.build.json'])
  const built = existsSync(BUILD_STAMP) && readFileSync(BUILD_STAMP, 'utf8')
  if (built === stamp && existsSync(join(ROOT, 'dist'))) return true
  rmSync(join(ROOT, 'dist'), { recursive: true, force: true })
  const tsc = join(ROOT, 'node_modules/typescript-native/bin/tsc')
  const args = [tsc, '-p', 'tsconfig.build.json']
  const { code, output } = await run(process.execPath, args, { fold: 'building dist' })
  if (code !== 0) process.stderr.write(output)
  else writeFileSync(BUILD_STAMP, stamp)
  return code === 0
}

/** One hash over files and folders, names included. */
export function sourceHash(paths) {
  const hash = createHash('sha256')
  for (const path of paths.flatMap(filesBelow).sort()) {
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(ROOT, path)))
      .update('\0')
  }
  return hash.digest('hex')
}

function filesBelow(path) {
  const stat = statSync(join(ROOT, path), { throwIfNoEntry: false })
  if (!stat) return []
  if (!stat.isDirectory()) return [path]
  const names = readdirSync(join(ROOT, path)).filter((name) => !NOT_SOURCES.includes(name))
  return names.flatMap((name) => filesBelow(`${path}/${name}`))
}

/**
 * Runs a command, in the root. With `fold` its output becomes one line that moves, and is given back. `isTried`: if it fails, another
 * command goes on with that line.
 */
export function run(command, args, options = {}) {
  const { fold, isTried = false, cwd = ROOT, env = {}, stdio = 'inherit' } = options
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: fold ? ['ignore', 'pipe', 'pipe'] : stdio,
  })
  let output = ''
  const started = Date.now()
  const show = (end) => {
    const line = `${fold} … ${Math.round((Date.now() - started) / 1000)} s`
    if (process.stderr.isTTY) process.stderr.write(`\r${line}${end}`)
    else if (end) process.stderr.write(`${line}${end}`)
  }
  const ticking = fold && setInterval(show, 500, '')
  for (const stream of fold ? [child.stdout, child.stderr] : []) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }
  return new Promise((resolve) => {
    child.once('error', (error) => {
      output += `${command}: ${error.message}\n`
    })
    child.once('close', (code) => {
      clearInterval(ticking)
      if (fold && !(isTried && code !== 0)) show('\n')
      resolve({ code: code ?? 1, output })
    })
  })
}

/** For the main function of a script: an expected failure is one line, not a stack. */
export function failWith(error) {
  console.error(error.message)
  process.exit(1)
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  // Not awaited: studio.mjs imports this file, which would then wait for itself.
  bootstrap().then(({ built }) => {
    process.exitCode = built ? 0 : 1
  }, failWith)
}

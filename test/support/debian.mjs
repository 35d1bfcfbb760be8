// Programs that npm has no package of: on the PATH, or Debian's packages, unpacked into the cache without root.

import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const CACHE = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), '.cache/debian')
const DOWNLOAD_MS_MAX = 60_000
const run = promisify(execFile)

/**
 * @param {{ names: string[], path: string, packages: string }} program its names on the PATH, else its path in the packages
 * @returns {Promise<{ binary: string, home: string | null, env: Record<string, string> }>}
 */
export async function findProgram({ names, path, packages }) {
  for (const name of names) {
    if (spawnSync(name, ['--version']).status === 0) return { binary: name, home: null, env: {} }
  }
  const home = join(CACHE, names[0])
  if (!existsSync(home)) await unpack(home, packages.split(' '), names[0])
  return { binary: join(home, path), home, env: libraries(home) }
}

/** The libraries that came with it, for the loader. */
export function libraries(home) {
  const { stdout } = spawnSync('sh', ['-c', 'echo usr/lib/*-linux-gnu*'], { cwd: home })
  const folders = String(stdout).trim().split(' ')
  return { LD_LIBRARY_PATH: folders.map((folder) => join(home, folder)).join(':') }
}

/** Made under another name and renamed when it is whole: two may do so at once. */
async function unpack(home, packages, name) {
  mkdirSync(CACHE, { recursive: true })
  const making = mkdtempSync(join(CACHE, 'making-'))
  try {
    await download(making, packages)
    await run('sh', ['-c', 'for deb in *.deb; do dpkg-deb -x "$deb" .; done; rm -r *.deb apt'], {
      cwd: making,
    })
    renameSync(making, home)
  } catch {
    rmSync(making, { recursive: true, force: true })
    if (existsSync(home)) return
    throw new Error(`no ${name} on the PATH, and Debian has none to download here`)
  }
}

/** With the lists of the machine, else with lists of our own: in containers there are often none. */
async function download(home, packages) {
  const options = { cwd: home, timeout: DOWNLOAD_MS_MAX }
  const own = [
    `Dir::State=${home}/apt`,
    'Dir::State::status=/var/lib/dpkg/status',
    `Dir::Cache=${home}/apt`,
    'Debug::NoLocking=1',
  ].flatMap((option) => ['-o', option])
  for (const folder of ['lists/partial', 'archives/partial']) {
    mkdirSync(join(home, 'apt', folder), { recursive: true })
  }
  try {
    await run('apt-get', ['download', ...packages], options)
  } catch {
    await run('apt-get', [...own, 'update'], options)
    await run('apt-get', [...own, 'download', ...packages], options)
  }
}

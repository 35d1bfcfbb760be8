// A Chromium: the one of CHROME_PATH, one on the PATH, or that of the package @sparticuz/chromium (Linux on x64).

import { accessSync, constants, existsSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'
import { ROOT } from '../tidy/repository.js'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
export const ENABLE =
  'CHROME_PATH=/path/to/chromium npm test (or: npm install --prefix test/support --include=optional)'

export interface Found {
  readonly path: string
  readonly args: readonly string[]
}

/** Throws the reason why there is none. */
export async function findBrowser(): Promise<Found> {
  const args = ['--no-sandbox', '--disable-dev-shm-usage']
  const { CHROME_PATH } = process.env
  if (CHROME_PATH) {
    if (!existsSync(CHROME_PATH)) throw new Error(`CHROME_PATH is ${CHROME_PATH}: no such file`)
    return { path: CHROME_PATH, args }
  }
  const installed = onPath()
  if (installed !== null) return { path: installed, args }
  return { path: await unpacked(), args: [...args, '--headless=shell', '--disable-gpu'] }
}

function onPath(): string | null {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const paths = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)))
  return paths.find(isExecutable) ?? null
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** It unpacks 200 MB into the temporary folder: here it stays for the next time. */
async function unpacked(): Promise<string> {
  const { resolve } = createRequire(join(ROOT, 'test/support/package.json'))
  let packed: { default: { executablePath(): Promise<string> } }
  try {
    packed = (await import(resolve('@sparticuz/chromium'))) as typeof packed
  } catch {
    throw new Error('there is no chromium on the PATH, and @sparticuz/chromium is not installed')
  }
  const folder = join(ROOT, '.cache/chromium')
  mkdirSync(folder, { recursive: true })
  const { TMPDIR } = process.env
  process.env.TMPDIR = folder
  try {
    return await packed.default.executablePath()
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  }
}

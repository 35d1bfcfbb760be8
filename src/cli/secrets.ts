// Files with secrets that everybody on this machine may read.

import { readFileSync, statSync } from 'node:fs'
import type { Log } from '../index.js'

/** A token, or an address with a password. */
const SECRET = /PERDURE_TOKENS?\s*=\s*\S|\btoken\s*:\s*['"`]\S|:\/\/[^\s:/@]*:[^\s@]+@/

/** Said once, where a process begins to serve or to work. Windows has other rights, and is not asked. */
export function warnOfReadable(files: readonly (string | null)[], log: Log): void {
  if (process.platform === 'win32') return
  for (const file of files) {
    const found = file === null ? undefined : statSync(file, { throwIfNoEntry: false })
    if (file === null || !found?.isFile() || (found.mode & 0o004) === 0) continue
    if (!SECRET.test(readFileSync(file, 'utf8'))) continue
    const what = `${file} has a secret, and everybody on this machine may read it: chmod o-r ${file}`
    log.warn(what)
  }
}

// Where the process is that has the embedded database open. `perdure dev` and `perdure serve` write it beside the data; the other
// commands read it, since the directory has room for one process only.

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Address {
  readonly url: string
  readonly pid: number
  /** Only where the server wants one; the file is for its owner alone. */
  readonly token?: string
}

const FILE = 'server.json'

/** `folder` is the one that holds the data directory: `.perdure`. The answer takes the file away again. */
export function announce(folder: string, address: Address): () => void {
  const file = join(folder, FILE)
  // Made anew: what was there before may be readable by others, or lead elsewhere.
  rmSync(file, { force: true })
  writeFileSync(file, `${JSON.stringify(address)}\n`, { mode: 0o600, flag: 'wx' })
  return () => {
    if (addressIn(folder)?.pid === address.pid) rmSync(file, { force: true })
  }
}

/** Of a process that lives. What one left behind that was killed is none. */
export function addressIn(folder: string): Address | null {
  try {
    const address = JSON.parse(readFileSync(join(folder, FILE), 'utf8')) as Address
    process.kill(address.pid, 0)
    return address
  } catch {
    return null
  }
}

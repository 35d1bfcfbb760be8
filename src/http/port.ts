// A port that is taken: who has it. On Linux the kernel says so for processes of the same user; elsewhere nobody is asked.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { PerdureError } from '../model/errors.js'

export interface Holder {
  readonly pid: number
  /** The beginning of its command line. */
  readonly command: string
}

export function portTaken(port: number, host: string): PerdureError {
  const holder = holderOf(port)
  const who = holder ? `process ${holder.pid} (${holder.command})` : 'another process'
  return new PerdureError('OPTION_INVALID', `Port ${port} of ${host} is taken by ${who}.`, {
    hint: `stop ${holder ? `process ${holder.pid}` : 'it'}, or take another port`,
    details: { isTaken: true, port, pid: holder?.pid ?? null },
  })
}

/** Before anything else is opened. Somebody may still take it in between; then listening says so. */
export async function checkPort(port: number, host: string): Promise<void> {
  const probe = createServer()
  await new Promise<void>((resolve, reject) => {
    probe.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? reject(portTaken(port, host)) : resolve(),
    )
    probe.listen(port, host, () => probe.close(() => resolve()))
  })
}

export const isPortTaken = (error: unknown): boolean =>
  PerdureError.is(error) && (error.details as { isTaken?: boolean } | undefined)?.isTaken === true

function holderOf(port: number): Holder | null {
  try {
    const sockets = new Set(['tcp', 'tcp6'].flatMap((table) => listeners(table, port)))
    const pid = readdirSync('/proc').find((name) => /^\d+$/.test(name) && hasOne(name, sockets))
    return pid === undefined ? null : { pid: Number(pid), command: commandOf(pid) }
  } catch {
    return null
  }
}

/** Lines of the table: number, local address, remote address, state (0A listens), …, and as tenth word the inode. */
function listeners(table: string, port: number): string[] {
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return readFileSync(`/proc/net/${table}`, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(end) && state === '0A')
    .map((words) => `socket:[${words[9]}]`)
}

function hasOne(pid: string, sockets: ReadonlySet<string>): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) =>
      sockets.has(readlinkSync(`/proc/${pid}/fd/${fd}`)),
    )
  } catch {
    // Gone, or not ours to look at.
    return false
  }
}

const COMMAND_LENGTH_MAX = 80

function commandOf(pid: string): string {
  const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim()
  return words.length > COMMAND_LENGTH_MAX ? `${words.slice(0, COMMAND_LENGTH_MAX)}…` : words
}

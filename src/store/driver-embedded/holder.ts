// Who holds a lock, and whether that process still runs. Everything here reads; nothing writes.

import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** A process, told apart from any other that had or will have its pid. Null: this system does not say. */
export interface Identity {
  readonly pid: number
  readonly startTime: string | null
  readonly bootId: string | null
  readonly pidNamespace: string | null
  readonly machine: string
}

export interface Holder extends Identity {
  readonly nonce: string
  /** Milliseconds since 1970, written every two seconds. Only its moving means anything. */
  readonly heartbeat: number
}

/** What is seen of a pid in this namespace. Null: no such process. */
export type Look = (pid: number) => { readonly startTime: string | null } | null

/** `unclear`: the holder cannot be looked at from here; only its heartbeat can tell. */
export type Verdict = 'alive' | 'dead' | 'unclear'

/** The kernel gives the first pid namespace of every machine this number: a process in it is in no container. */
const FIRST_NAMESPACE = 'pid:[4026531836]'
/** A holder with a younger heartbeat is not taken for a victim of a restart of the machine. */
const RESTART_AGE_MS = 10_000

export function judge(holder: Holder, me: Identity, now: number, look: Look): Verdict {
  const sameKernel =
    me.bootId === null
      ? holder.bootId === null && holder.machine === me.machine
      : holder.bootId === me.bootId
  if (sameKernel && holder.pidNamespace === me.pidNamespace) {
    const seen = look(holder.pid)
    if (seen === null) return 'dead'
    const known = seen.startTime !== null && holder.startTime !== null
    if (known && seen.startTime !== holder.startTime) return 'dead'
    // It is this process, but this thread did not open it: another thread may have.
    return holder.pid === me.pid ? 'unclear' : 'alive'
  }
  return !sameKernel && restarted(holder, me, now) ? 'dead' : 'unclear'
}

/**
 * Another boot of this machine, or another machine on a shared disk? In containers names and ids repeat between
 * machines, so only a holder outside of any container can be told.
 */
function restarted(holder: Holder, me: Identity, now: number): boolean {
  return (
    holder.bootId !== null &&
    holder.machine === me.machine &&
    holder.pidNamespace === FIRST_NAMESPACE &&
    me.pidNamespace === FIRST_NAMESPACE &&
    now - holder.heartbeat > RESTART_AGE_MS
  )
}

export function identify(): Identity {
  const machineId = tried(() => readFileSync('/etc/machine-id', 'utf8').trim())
  return {
    pid: process.pid,
    startTime: startTimeOf(process.pid)?.startTime ?? null,
    bootId: tried(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()),
    pidNamespace: tried(() => readlinkSync('/proc/self/ns/pid')),
    machine: `${hostname()} ${machineId ?? ''}`.trim(),
  }
}

export const lookAt: Look = (pid) => {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // Any other refusal, such as that of another user's process, means that it exists.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return null
  }
  const seen = startTimeOf(pid)
  return seen?.ended ? null : { startTime: seen?.startTime ?? null }
}

/** `ended`: killed, but its parent has not asked for its exit code yet. */
function startTimeOf(pid: number): { readonly startTime: string; readonly ended: boolean } | null {
  const stat = tried(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  if (stat !== null) {
    // The second field is the name in brackets and may itself hold brackets and spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [state, startTime] = [fields[0], fields[19]]
    if (startTime !== undefined) return { startTime, ended: state === 'Z' || state === 'X' }
  }
  if (process.platform === 'win32' || process.platform === 'linux') return null
  const started = tried(() =>
    execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim(),
  )
  return started ? { startTime: started, ended: false } : null
}

/** Null for a file that is empty, half written or not ours. */
export function parseHolder(text: string): Holder | null {
  const value = tried(() => JSON.parse(text) as Partial<Record<keyof Holder, unknown>> | null)
  if (typeof value !== 'object' || value === null) return null
  const { pid, nonce, heartbeat, machine } = value
  if (!Number.isSafeInteger(pid) || (pid as number) <= 0) return null
  if (typeof nonce !== 'string' || typeof heartbeat !== 'number') return null
  const known = (field: unknown): string | null => (typeof field === 'string' ? field : null)
  return {
    pid: pid as number,
    nonce,
    heartbeat,
    startTime: known(value.startTime),
    bootId: known(value.bootId),
    pidNamespace: known(value.pidNamespace),
    machine: known(machine) ?? '',
  }
}

function tried<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}

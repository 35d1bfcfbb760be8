// What several routes need.

import type { Client, Engine, RunInfo, StoredError } from '../../index.js'
import { idInvalid, PerdureError, runNotFound } from '../../model/errors.js'
import { type Caller, isAtLeast } from '../access.js'
import { workspaceForbidden } from '../errors.js'
import type { Call } from '../route.js'

/** The id that a path names is of a run of the caller's workspace and, if named, of that definition. */
export async function runOf(client: Client, id: string, workflow?: string): Promise<RunInfo> {
  const info = await client.get(id)
  if (info === null || (workflow !== undefined && info.workflow !== workflow)) throw runNotFound(id)
  return info
}

export async function checkWorkflow(
  client: Client,
  id: string,
  query: { readonly workflow?: string | undefined },
): Promise<void> {
  if (query.workflow !== undefined) await runOf(client, id, query.workflow)
}

interface Failed {
  readonly error?: StoredError | null | undefined
}

/** Stacks show files and code: they are for those who write it. */
export function seenBy<T extends Failed & { readonly open?: readonly Failed[] }>(
  { role }: Caller,
  item: T,
): T {
  if (isAtLeast(role, 'author')) return item
  const { open } = item
  return { ...withoutStack(item), ...(open && { open: open.map(withoutStack) }) }
}

function withoutStack<T extends Failed>(item: T): T {
  if (!item.error?.stack) return item
  const { stack: _, ...error } = item.error
  return { ...item, error }
}

/** The same for errors with their causes, which were decoded for this answer alone. */
export function causeFor({ role }: Caller, cause: unknown): unknown {
  if (isAtLeast(role, 'author')) return cause
  for (let at = cause; at instanceof Error; at = at.cause) {
    Object.defineProperty(at, 'stack', { value: undefined })
  }
  return cause
}

/** Of a worker's definitions: stored graphs may be of another workspace, and are asked for there. */
export const isCode = ({ version }: { readonly version: string }): boolean =>
  !version.startsWith('#')

/** Of the definitions whose code is here: they stay as they are. */
const NAMES = new WeakMap<Engine, ReadonlySet<string>>()

function namesOf(engine: Engine): ReadonlySet<string> {
  const names = NAMES.get(engine) ?? new Set(engine.definitions().map(({ name }) => name))
  NAMES.set(engine, names)
  return names
}

/** Something here or a live worker has it, or it is stored for that workspace. */
export async function isKnown(
  engine: Engine,
  client: Client,
  name: string | null,
): Promise<boolean> {
  if (name === null) return false
  if (namesOf(engine).has(name)) return true
  const codes = (await engine.workers()).flatMap(({ workflows }) => workflows).filter(isCode)
  return codes.some((code) => code.name === name) || (await client.graphs.get(name)) !== null
}

/** A workspace in a body can only be the one that the request acts in. */
export function checkWorkspace({ workspace }: Pick<Call, 'workspace'>, asked?: string): void {
  if (asked !== undefined && asked !== workspace) throw workspaceForbidden()
}

/** One of header and body, or both alike. */
export function sameKey(key: string | undefined, id: string | undefined): string | undefined {
  const one = id ?? key
  // Browsers and servers take these for another address, so nobody could ask for such a run.
  if (one === '.' || one === '..') throw idInvalid(one)
  if (key === undefined || id === undefined || key === id) return one
  throw new PerdureError('OPTION_INVALID', 'The idempotency-key and the id in the body differ.', {
    hint: 'the key is the id: leave one of them out',
  })
}

/** Left-out fields are not given at all. */
export function given<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, one]) => one !== undefined)) as T
}

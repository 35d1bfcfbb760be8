// The children of a machine: each is started, and told to stop, by a step of its own. They are heard of through the mailbox.

import { decode, encode } from '../../model/codec.js'
import type { RunId, Uid } from '../../model/ids.js'
import type { Attempt, Turn } from '../../model/program.js'
import { NO_RETRY } from '../../model/retry.js'
import { thrown } from '../recorded.js'
import type { Child, Starting } from './family.js'

/** In order; each is recorded before the next is started. */
export async function startChildren(
  turn: Turn,
  starts: readonly Starting[],
): Promise<readonly Child[]> {
  const started: Child[] = []
  for (const start of starts) started.push(await startChild(turn, start))
  return started
}

async function startChild(turn: Turn, start: Starting): Promise<Child> {
  const { id, callback, group, ...order } = start
  const { uid: parentUid, id: parentId, workspace, tags } = turn.run
  const run = { ...order, workspace, id: id as RunId, tags }
  const child = await recorded(turn, `start ${id}`, 'start', async (attempt) => {
    const parent = { uid: parentUid, id: parentId, startedBy: attempt.idempotencyKey }
    const { uid } = await attempt.outside.start({ ...run, parent })
    return { value: { uid }, child: uid }
  })
  const { uid } = child as { readonly uid: Uid }
  return { uid, id, callback, ...(group && { group }) }
}

export async function stopChildren(
  turn: Turn,
  children: readonly Child[],
  reason: string,
): Promise<void> {
  const { workspace } = turn.run
  for (const { id } of children) {
    const to = { workspace, id: id as RunId }
    await recorded(turn, `cancel ${id}`, 'cancel', async (attempt) => {
      try {
        await attempt.outside.cancel(to, reason, attempt.idempotencyKey)
      } catch {
        // It has ended by itself.
      }
      return {}
    })
  }
}

interface Done {
  readonly value?: unknown
  /** It has started it. */
  readonly child?: Uid
}

async function recorded(
  turn: Turn,
  name: string,
  label: string,
  code: (attempt: Attempt) => Promise<Done>,
): Promise<unknown> {
  const execute = async (attempt: Attempt) => {
    try {
      const { value, child } = await code(attempt)
      return { value: encode(value, `step "${name}"`), ...(child && { child }) }
    } catch (error) {
      throw thrown(error, { name, stopOn: [] })
    }
  }
  return decode(await turn.step(name, { label, retry: NO_RETRY, timeoutMs: null, execute }))
}

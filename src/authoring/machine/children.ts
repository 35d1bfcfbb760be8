// The children of a machine: started when the transition that asked for them has committed, each by a step of its own, and
// heard of through the mailbox.

import { decode, encode } from '../../model/codec.js'
import { errorRecord } from '../../model/error-record.js'
import type { RunId, Uid } from '../../model/ids.js'
import type { Attempt, Turn } from '../../model/program.js'
import { NO_RETRY } from '../../model/retry.js'
import type { FinalStatus, Stored } from '../../model/run.js'
import { thrown } from '../recorded.js'
import type { Starting } from './context.js'
import type { Child, Scene } from './fire.js'

export async function startChildren(
  scene: Scene,
  turn: Turn,
  starts: readonly Starting[],
): Promise<readonly Child[]> {
  const started: Child[] = []
  for (const start of starts) started.push(await startChild(scene, turn, start))
  return started
}

async function startChild(_scene: Scene, turn: Turn, start: Starting): Promise<Child> {
  const { id, callback, ...order } = start
  const { uid: parent, id: parentId, workspace, tags } = turn.run
  const run = { ...order, workspace, id: id as RunId, tags }
  const child = await recorded(turn, `start ${id}`, 'start', async (attempt) => {
    const startedBy = attempt.idempotencyKey
    const parentOf = { uid: parent, id: parentId, startedBy }
    return attempt.outside.start({ ...run, parent: parentOf })
  })
  const { uid } = child as { readonly uid: Uid }
  return { uid, id, callback }
}

/** A machine that has ended leaves nothing running. */
export async function endOpenChildren(turn: Turn, children: readonly Child[]): Promise<void> {
  const { workspace, id: parentId } = turn.run
  for (const { id } of children) {
    const to = { workspace, id: id as RunId }
    await recorded(turn, `cancel ${id}`, 'cancel', async (attempt) => {
      const reason = `its parent ${parentId} has ended`
      try {
        await attempt.outside.cancel(to, reason, attempt.idempotencyKey)
      } catch {
        // It has ended by itself.
      }
    })
  }
}

/** As engine.run would tell it. */
export function outcomeOf(child: Child | undefined, status: FinalStatus, payload: Stored | null) {
  const id = child?.id ?? ''
  if (status === 'completed') {
    return { id, status, output: payload === null ? undefined : decode(payload) }
  }
  const error = payload === null ? { name: 'Error', message: status } : errorRecord(payload)
  return { id, status, error }
}

async function recorded(
  turn: Turn,
  name: string,
  label: string,
  code: (attempt: Attempt) => Promise<unknown>,
): Promise<unknown> {
  const execute = async (attempt: Attempt) => {
    try {
      return { value: encode(await code(attempt), `step "${name}"`) }
    } catch (error) {
      throw thrown(error, { name, stopOn: [] })
    }
  }
  return decode(await turn.step(name, { label, retry: NO_RETRY, timeoutMs: null, execute }))
}

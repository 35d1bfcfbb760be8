// What the batches of a world had in them: races inside a batch are only met where there is more than one delta.

import type { Delta } from '../../src/kernel/store.js'
import type { MemoryStore } from '../../src/store/memory.js'

export interface Batches {
  /** Of three deltas or more. */
  several: number
  /** Two of its deltas are about one run: a turn and mail to it, two letters, or two starts of one id. */
  ofOneRun: number
  /** A turn that writes to a run which has a turn of its own there. */
  family: number
}

export const newBatches = (): Batches => ({ several: 0, ofOneRun: 0, family: 0 })

export function countBatch(total: Batches, deltas: readonly Delta[], memory: MemoryStore): void {
  if (deltas.length < 2) return
  if (deltas.length > 2) total.several += 1
  const turns = deltas.filter((delta) => delta.kind === 'turn')
  const own = new Set<string>(turns.map(({ fence }) => fence.uid))
  if (turns.some(({ messages }) => messages.some(({ to }) => own.has(to)))) total.family += 1
  const subjects = deltas.map((delta) => {
    if (delta.kind === 'turn') return memory.runs.get(delta.fence.uid)?.run.id
    return delta.kind === 'start' ? delta.run.id : delta.to.id
  })
  if (new Set(subjects).size < subjects.length) total.ofOneRun += 1
}

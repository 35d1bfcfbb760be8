// Adoption: a run that is ours in the database and unknown here was claimed by a call whose answer was lost. It is
// taken up when a second beat names it again; a claim whose answer is merely late has arrived by then.

import type { Uid } from '../model/ids.js'
import type { Executor } from './execute.js'
import type { Frames } from './frames.js'
import type { Claimed, Owned } from './store.js'

export class Adoption {
  private readonly frames: Frames
  private readonly executor: Executor
  private readonly adopted: () => void
  private strangers = new Map<Uid, Claimed>()

  constructor(frames: Frames, executor: Executor, adopted: () => void) {
    this.frames = frames
    this.executor = executor
    this.adopted = adopted
  }

  /** What the database says is ours. Runs that are here hear what they have missed. */
  reconcile(owned: readonly Owned[], mayAdopt: boolean): void {
    const strangers = new Map<Uid, Claimed>()
    for (const { uid, epoch, inbox, stop, row } of owned) {
      const frame = this.frames.active.get(uid)
      if (frame) {
        if (!frame.active || frame.epoch !== epoch) continue
        if (inbox > frame.mail.seen) this.executor.loadMail(frame)
        if (stop === 'pause') frame.handOver('pause')
        continue
      }
      if (this.frames.loading.has(uid)) continue
      const before = this.strangers.get(uid)
      // It may have gone on meanwhile, under the same epoch (bringing.ts).
      if (before?.epoch !== epoch || before.seq !== row.seq || !mayAdopt) {
        strangers.set(uid, row)
        continue
      }
      this.adopted()
      this.executor.adopt(row)
    }
    this.strangers = strangers
  }

  forget(): void {
    this.strangers.clear()
  }
}

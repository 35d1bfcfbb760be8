// Grants: whoever makes a run runnable may take it in the same commit, if it has the code and a free place.
// An already-claimed start, an already-claimed child and deliver-and-claim are this one idea.

import type { Frames } from './frames.js'
import type { Hint } from './ports.js'
import type { Delta, NewRun, TurnDelta } from './store.js'

export class Grants {
  private readonly frames: Frames
  private readonly has: (definition: string, version: string | null) => boolean
  private readonly mayTake: () => boolean

  constructor(
    frames: Frames,
    deps: {
      readonly has: (definition: string, version: string | null) => boolean
      /** This process executes runs, and its lease is not in doubt. */
      readonly mayTake: () => boolean
    },
  ) {
    this.frames = frames
    this.has = deps.has
    this.mayTake = deps.mayTake
  }

  /** The delta as it is sent: with a promised place for each run that it may take. */
  grant(delta: Delta): Delta {
    switch (delta.kind) {
      case 'start':
        return { ...delta, claim: this.forRun(delta.run) }
      case 'message': {
        // Ending a cancelled run needs neither code nor a place: any process that cancels it may do it.
        const cancels = delta.message.kind === 'cancel'
        return { ...delta, claim: cancels || this.forMessage() }
      }
      case 'turn':
        return delta.starts.length + delta.messages.length === 0 ? delta : this.forTurn(delta)
    }
  }

  /** What is due may be taken: there is a place for it, and its code if it is known. */
  areFor({ definition, version = null }: Extract<Hint, { kind: 'due' }>): boolean {
    if (!this.mayTake() || this.frames.free === 0) return false
    return definition === null || this.has(definition, version)
  }

  /** The places that were promised for it: the claimed runs have taken theirs, the rest are free again. */
  settle(delta: Delta): void {
    if (delta.kind === 'turn' && delta.starts.length + delta.messages.length === 0) return
    const promised =
      delta.kind === 'turn'
        ? [...delta.starts, ...delta.messages].filter(({ claim }) => claim).length
        : delta.claim && !(delta.kind === 'message' && delta.message.kind === 'cancel')
          ? 1
          : 0
    if (promised > 0) this.frames.unpromise(promised)
  }

  private forTurn(delta: TurnDelta): TurnDelta {
    const starts = delta.starts.map((start) => ({ ...start, claim: this.forRun(start.run) }))
    const messages = delta.messages.map((message) => ({ ...message, claim: this.forMessage() }))
    return { ...delta, starts, messages }
  }

  private forMessage(): boolean {
    return this.mayTake() && this.frames.promise()
  }

  private forRun(run: NewRun): boolean {
    // With limits it needs a slot first.
    if (!this.mayTake() || run.delayMs > 0 || run.limits) return false
    return this.has(run.definition, run.version) && this.frames.promise()
  }
}

// A turn that is nothing but what messages have done without the body of the run (model/reacted.ts). What it says as every other turn
// does is worked out for who asks for it: a store in memory, a listener.

import {
  ANSWER_OF_REACTED,
  ENTRIES_OF_REACTED,
  entriesOfReacted,
  type Reacted,
  shownBy,
} from '../model/reacted.js'
import type { NewEntry, Shown } from '../model/run.js'
import type { Brings, Fence, Next, TurnDelta } from './store.js'

const NONE: readonly never[] = []

export interface BringsReacted extends Brings {
  readonly reactions: readonly Reacted[]
}

export class ReactedTurn implements TurnDelta {
  readonly kind = 'turn'
  readonly fence: Fence
  readonly brings: BringsReacted
  readonly next: Next
  readonly notBefore = null
  readonly refused = NONE
  readonly starts = NONE
  readonly messages = NONE
  readonly events = NONE
  readonly documents = NONE
  readonly waits = null
  readonly undoOpen = null
  private all: readonly NewEntry[] | null = null

  constructor(fence: Fence, brings: BringsReacted, next: Next) {
    this.fence = fence
    this.brings = brings
    this.next = next
  }

  get entries(): readonly NewEntry[] {
    this.all ??= this.brings.reactions.flatMap(entriesOfReacted)
    return this.all
  }

  get taken(): readonly number[] {
    return this.brings.reactions.map(({ no }) => no)
  }

  get answers() {
    return this.brings.reactions.map(({ no }, i) => ({
      no,
      entry: i * ENTRIES_OF_REACTED + ANSWER_OF_REACTED,
    }))
  }

  get shown(): Shown | null {
    const last = this.brings.reactions.findLast(({ done }) => done.place !== null)
    return last ? shownBy(last) : null
  }

  /** For a log that is written as JSON: who reads it there has the entries. */
  toJSON(): TurnDelta {
    const { kind, fence, next, notBefore, entries, taken, answers, shown } = this
    const brings = { ...this.brings, reactions: NONE }
    const none = { refused: NONE, starts: NONE, messages: NONE, events: NONE, documents: NONE }
    const rest = { ...none, waits: null, undoOpen: null }
    return { kind, fence, brings, next, notBefore, entries, taken, answers, shown, ...rest }
  }
}

// A turn that is nothing but what messages have done without the body of the run (model/reacted.ts). What it says as every other turn
// does is worked out for who asks for it: a store in memory, a listener.

import {
  ANSWER_OF_REACTED,
  ENTRIES_OF_REACTED,
  entriesOfReacted,
  type Reacted,
} from '../model/reacted.js'
import type { NewEntry } from '../model/run.js'
import type { Brings, Fence, Next, TurnDelta } from './store.js'

interface Facts {
  readonly fence: Fence
  readonly brings: Brings & { readonly reactions: readonly Reacted[] }
  readonly next: Next
}

const NONE: readonly never[] = []

export function reactedTurn({ fence, brings, next }: Facts): TurnDelta {
  const { reactions } = brings
  let all: readonly NewEntry[] | null = null
  return {
    kind: 'turn',
    fence,
    notBefore: null,
    get entries() {
      all ??= reactions.flatMap(entriesOfReacted)
      return all
    },
    get taken() {
      return reactions.map(({ message }) => message.no)
    },
    get answers() {
      return reactions.map(({ message: { no } }, i) => ({
        no,
        entry: i * ENTRIES_OF_REACTED + ANSWER_OF_REACTED,
      }))
    },
    refused: NONE,
    starts: NONE,
    messages: NONE,
    events: NONE,
    waits: null,
    undoOpen: null,
    shown: reactions.findLast(({ shown }) => shown)?.shown ?? null,
    documents: NONE,
    next,
    brings,
  }
}

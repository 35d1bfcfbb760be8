// Post: what was written down for others and is still on its way: letters, events, ends of runs.

import type { Committer } from './commit.js'
import { FanOut } from './fan-out.js'
import { Letters } from './letters.js'
import type { Log } from './ports.js'
import type { Store, TurnDelta } from './store.js'

export class Post {
  readonly letters: Letters
  readonly fanOut: FanOut

  constructor(store: Store, log: Log, send: Committer['send']) {
    this.letters = new Letters(store, log, send)
    this.fanOut = new FanOut(store, log, send)
  }

  /** Everything that is there now. */
  carry(): void {
    void this.letters.carry()
    void this.fanOut.look()
  }

  /** A turn of this process is stored. */
  committed({ events, waits, next }: TurnDelta): void {
    const isAwaited = next.kind === 'end' && this.fanOut.awaitsEnds
    if (isAwaited || events.length > 0 || (waits !== null && waits.length > 0)) {
      void this.fanOut.look()
    }
  }
}

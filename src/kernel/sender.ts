// Whoever waits to hear of a message that is brought to a run (bringing.ts).

import { outcomeUnknown } from '../model/errors.js'
import type { NewMessage } from '../model/run.js'
import type { Address } from './api.js'
import { Patient } from './patience.js'
import type { Call, Called } from './store.js'

/** It is stored. `called`: what came of it in the same commit. */
export interface Brought extends Call {
  readonly called: Called | null
}

export class Sender extends Patient {
  readonly message: NewMessage
  /** Its id was made for this call. */
  readonly isNew: boolean
  isTold = false
  /** It was said to be unknown: nothing is sent on any more. */
  private hasGivenUp = false
  readonly to: Address
  /** null: it is not stored. */
  private readonly hears: (brought: Brought | null) => void
  private readonly gaveUp: (error: Error) => void
  /** Those that have sent it again meanwhile. */
  private others: Sender[] | null = null

  constructor(
    to: Address,
    message: NewMessage,
    isNew: boolean,
    hears: (brought: Brought | null) => void,
    gaveUp: (error: Error) => void,
  ) {
    super()
    this.to = to
    this.message = message
    this.isNew = isNew
    this.hears = hears
    this.gaveUp = gaveUp
  }

  giveUp(): void {
    this.hasGivenUp = true
    this.gaveUp(outcomeUnknown(this.to.id))
  }

  /** This one is the same message: it hears what the first one hears. */
  joins(first: Sender): void {
    first.others ??= []
    first.others.push(this)
  }

  told(brought: Brought | null): void {
    this.isTold = true
    this.over()
    if (!this.hasGivenUp) this.hears(brought)
    if (this.others) for (const other of this.others) other.told(brought)
  }

  get bytes(): number {
    return this.message.payload?.length ?? 0
  }
}

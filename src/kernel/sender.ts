// Whoever waits to hear of a message that is brought to a run (bringing.ts).

import type { NewMessage } from '../model/run.js'
import type { Call, Called } from './store.js'

/** It is stored. `called`: what came of it in the same commit. */
export interface Brought extends Call {
  readonly called: Called | null
}

/** null: it is not stored. */
export type Told = (brought: Brought | null) => void

export class Sender {
  readonly message: NewMessage
  /** Its id was made for this call. */
  readonly isNew: boolean
  private readonly first: Told
  /** Those that have sent it again meanwhile. */
  private others: Told[] | null = null

  constructor(message: NewMessage, isNew: boolean, told: Told) {
    this.message = message
    this.isNew = isNew
    this.first = told
  }

  hears(told: Told): void {
    this.others ??= []
    this.others.push(told)
  }

  /** The other is the same message. */
  hands(same: Sender): void {
    same.hears((brought) => this.told(brought))
  }

  told(brought: Brought | null): void {
    this.first(brought)
    for (const told of this.others ?? []) told(brought)
  }

  get bytes(): number {
    return this.message.payload?.length ?? 0
  }
}

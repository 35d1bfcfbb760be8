// What a run waits for beside its mailbox, as its rows say and as its open questions say.

import type { Instant } from '../model/run.js'
import type { Ask } from './asks.js'
import type { EventWait } from './store.js'

export class Listening {
  /** null: not known here. */
  private told: string | null = null
  private isUsed = false

  asked(ask: Ask): void {
    if (ask.kind === 'wait' && ask.heard) this.isUsed = true
  }

  /**
   * All of it, if that has changed; null: as before. `isOver`: the run waits for nothing any more. `isLive`: its body has
   * asked again all that it had asked. A run that ends without that may have rows that nobody here knows of. `bornAt`: a fork
   * has waits that are older than itself.
   */
  news(
    open: readonly Ask[],
    isOver: boolean,
    isLive: boolean,
    bornAt: Instant,
  ): readonly EventWait[] | null {
    if (!this.isUsed && (isLive || !isOver)) return null
    const waits = isOver ? [] : open.flatMap((ask) => waitOf(ask, bornAt))
    return keyOf(waits) === this.told ? null : waits
  }

  stored(waits: readonly EventWait[] | null): void {
    if (waits) this.told = keyOf(waits)
  }
}

const keyOf = (waits: readonly EventWait[]): string =>
  waits.map(({ name, occurrence }) => `${occurrence} ${name}`).join('\n')

function waitOf(ask: Ask, bornAt: Instant): readonly EventWait[] {
  if (ask.kind !== 'wait' || !ask.heard) return []
  const { name, occurrence, askedAt, heard } = ask
  return [{ name, occurrence, since: Math.max(askedAt, bornAt), heard }]
}

// ForeignLimits: what the database says of the limits of definitions that this process does not have, so that the runs which it
// starts of them are counted, too. Asked for at most once a second, and only by those who start such runs.

import { type Limits, limitsBy } from '../model/admission.js'
import type { Clock } from './ports.js'
import type { NamedRules } from './store.js'

const FRESH_MS = 1_000

export class ForeignLimits {
  private readonly clock: Clock
  private readonly ask: () => Promise<readonly NamedRules[]>
  private byName = new Map<string, Limits>()
  private askedAt = Number.NEGATIVE_INFINITY
  private asking: Promise<void> | null = null

  constructor(clock: Clock, ask: () => Promise<readonly NamedRules[]>) {
    this.clock = clock
    this.ask = ask
  }

  /** As it was last heard. A key that only code can say is not counted. */
  get(definition: string): Limits | null {
    return this.byName.get(definition) ?? null
  }

  async refresh(): Promise<void> {
    if (this.clock.monotonic() - this.askedAt < FRESH_MS) return
    this.asking ??= this.hear().finally(() => {
      this.asking = null
    })
    await this.asking
  }

  private async hear(): Promise<void> {
    const at = this.clock.monotonic()
    const rules = await this.ask()
    this.byName = new Map(rules.map((one) => [one.definition, limitsBy(one)]))
    this.askedAt = at
  }
}

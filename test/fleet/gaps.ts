// The longest time in which no run ended, by the clock of the database. What the machine itself stood still is taken off: at
// the same time somebody asks the database for the time, again and again, and does nothing else.

import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'

const PULSE_MS = 50

export class Pulse {
  private readonly beats: number[] = []
  private readonly beating: Promise<void>
  private isOver = false

  constructor(client: pg.Client) {
    this.beating = this.beat(client)
    // Heard where it is stopped; a test that fails before has said why.
    this.beating.catch(() => {})
  }

  async stop(): Promise<void> {
    this.isOver = true
    await this.beating
  }

  /** Of these instants, in order: the longest time between two, without that in which the pulse stood still too. */
  longestGap(instants: readonly number[]): number {
    const gaps = instants.slice(1).map((to, i) => {
      const from = instants[i] ?? to
      return to - from - this.stillMs(from, to)
    })
    return Math.max(0, ...gaps)
  }

  private stillMs(from: number, to: number): number {
    let stillMs = 0
    for (const [i, end] of this.beats.entries()) {
      const begin = this.beats[i - 1] ?? end
      const shared = Math.min(to, end) - Math.max(from, begin)
      stillMs += Math.max(0, shared - 2 * PULSE_MS)
    }
    return stillMs
  }

  private async beat(client: pg.Client): Promise<void> {
    while (!this.isOver) {
      const { rows } = await client.query(
        'select extract(epoch from clock_timestamp())::float8 * 1000 as at',
      )
      this.beats.push(rows[0].at)
      await sleep(PULSE_MS)
    }
    await client.end()
  }
}

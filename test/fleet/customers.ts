// Who orders while the fleet is restarted: over HTTP, at one API process after the other, each order until it is acknowledged.

import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '../../src/client/index.js'
import { PerdureError } from '../../src/index.js'

const LANES = 4
const PAUSE_MS = 100
const AGAIN_MS = 20
/** One of so many orders is followed. */
const FOLLOWED = 8

export class Customers {
  readonly acknowledged: string[] = []
  /** The numbers of the events that came, for each order that was followed. */
  readonly followed = new Map<string, number[]>()
  /** Requests that had to be sent again. */
  again = 0
  private readonly client
  private readonly following: Promise<void>[] = []
  private readonly lanes: Promise<void>[]
  private isOver = false
  private next = 0

  /** `urls`: those of all API processes, gone ones too. */
  constructor(urls: () => readonly string[]) {
    let turn = 0
    const balanced: typeof fetch = (address, init) => {
      turn += 1
      const all = urls()
      return fetch(String(address).replace('http://fleet', all[turn % all.length] ?? ''), init)
    }
    this.client = createClient('http://fleet', { fetch: balanced })
    this.lanes = Array.from({ length: LANES }, () => this.lane())
  }

  /** No more orders. Resolves when all that was sent is acknowledged, and all that is followed has ended. */
  async leave(): Promise<void> {
    this.isOver = true
    await Promise.all(this.lanes)
    await Promise.all(this.following)
  }

  private async lane(): Promise<void> {
    while (!this.isOver) {
      const n = this.next
      this.next += 1
      const id = `order-${n}`
      await this.order(id, n)
      this.acknowledged.push(id)
      if (n % FOLLOWED === 0) this.following.push(this.follow(id))
      await sleep(PAUSE_MS)
    }
  }

  /** The id makes it the same order, however often it is sent. */
  private async order(id: string, n: number): Promise<void> {
    for (;;) {
      try {
        await this.client.start('order', { n }, { id })
        return
      } catch (error) {
        if (!PerdureError.is(error, 'SERVER_UNREACHABLE', 'ENGINE_CLOSED', 'OUTCOME_UNKNOWN'))
          throw error
        this.again += 1
        await sleep(AGAIN_MS)
      }
    }
  }

  private async follow(id: string): Promise<void> {
    const numbers: number[] = []
    this.followed.set(id, numbers)
    for await (const { seq } of this.client.handle('order', id).events()) numbers.push(seq)
  }
}

// Fan-out: what happens beside the mailboxes becomes messages to whoever waits for it. Anyone may do it, at any time: the
// message of a wait has the wait's id, so that it comes once.

import { type MessageId, shownName, type Uid } from '../model/ids.js'
import type { Committer } from './commit.js'
import type { Log } from './ports.js'
import type { Answer, Hearing, Store } from './store.js'
import { StoreRefused } from './store.js'

const PER_ROUND = 500

export class FanOut {
  private readonly store: Store
  private readonly log: Log
  private readonly send: Committer['send']
  private isLooking = false
  private isMore = false
  /** Where the look at the ends of runs stands. */
  private after: Uid | null = null
  /** Somebody waits for the end of a run. */
  awaitsEnds = false

  constructor(store: Store, log: Log, send: Committer['send']) {
    this.store = store
    this.log = log
    this.send = send
  }

  /** Everything that is there now. */
  async look(): Promise<void> {
    this.isMore = true
    if (this.isLooking) return
    this.isLooking = true
    try {
      while (this.isMore) {
        this.isMore = false
        const found = await this.store.fanOut(PER_ROUND)
        await this.tell(found)
        await this.tell(await this.ends())
        this.isMore ||= found.length > 0
      }
    } catch {
      // The database is away; the next round comes.
    }
    this.isLooking = false
  }

  private async ends(): Promise<readonly Hearing[]> {
    const awaited = await this.store.awaited(this.after, PER_ROUND)
    const isAll = awaited.length < PER_ROUND
    this.awaitsEnds = awaited.length > 0 || this.after !== null
    this.after = isAll ? null : (awaited.at(-1)?.uid ?? null)
    this.isMore ||= !isAll
    return awaited.filter(({ message }) => message !== null)
  }

  private async tell(hearings: readonly Hearing[]): Promise<void> {
    const first = new Map<string, Hearing>()
    for (const one of hearings) {
      const key = `${one.uid} ${one.occurrence} ${one.name}`
      if (!first.has(key)) first.set(key, one)
    }
    const all = [...first.values()]
    await Promise.all(all.map((one) => this.one(one)))
    if (all.length > 0) await this.store.heard(all)
  }

  /** One that is refused would be refused again: its run has ended. */
  private async one({ to, name, occurrence, message, payload }: Hearing): Promise<void> {
    const answer = await new Promise<Answer | StoreRefused>((resolve) => {
      const id = `heard:${shownName(name, occurrence)}` as MessageId
      const meta = { name, occurrence }
      const letter = { id, kind: 'event', name: message ?? '', meta, payload } as const
      const delta = { kind: 'message', to, message: letter, claim: false } as const
      this.send(delta, { answered: resolve, refused: resolve })
    })
    if (answer instanceof StoreRefused) {
      this.log.error(`what run ${to.id} waits for cannot be stored`, { error: answer })
    }
  }
}

// Publisher: what the steps of this process publish, stored together: what comes while one call is under way goes with the next.
//
// Owns:      what is published and not stored yet.
// Talks to:  Store.publish.
//
// Invariants
//   U1. What a step has published is stored before its outcome is: who reads a run that has ended has all of it.
//   U2. Nothing of a step is stored before what was answered before it (O3 of the frame).

import { streamFull } from '../model/errors.js'
import type { Uid, WorkerId } from '../model/ids.js'
import {
  BATCH_BYTES_MAX,
  BATCH_DELTAS_MAX,
  PUBLISHED_BYTES_MAX,
  PUBLISHED_MAX,
} from '../model/limits.js'
import type { Stored } from '../model/run.js'
import type { Ports } from './ports.js'
import { type NewChunk, type Store, StoreRefused } from './store.js'

type Sent = Omit<NewChunk, 'sent'>

/** Between two calls: at most fifty a second, however fast steps publish. */
const REST_MS = 20
const AGAIN_MS = 100

export interface PublisherDeps {
  readonly store: Store
  readonly ports: Ports
  owner(): WorkerId
  /** More of the run is stored. */
  changed(uid: Uid): void
}

export class Publisher {
  private readonly deps: PublisherDeps
  private queue: NewChunk[] = []
  private isBusy = false
  private isClosed = false
  private sent = 0
  private stored = 0
  private waiting: { readonly upTo: number; readonly resolve: () => void }[] = []
  private wake: (() => void) | null = null

  constructor(deps: PublisherDeps) {
    this.deps = deps
  }

  send(chunk: Sent): void {
    this.queue.push(this.numbered(chunk))
    if (this.isBusy) return
    this.isBusy = true
    this.deps.ports.quiet.next(() => void this.run())
  }

  /** Resolves when all that was sent until now is stored. */
  flushed(): Promise<void> {
    if (this.stored === this.sent || this.isClosed) return Promise.resolve()
    this.wake?.()
    return new Promise((resolve) => this.waiting.push({ upTo: this.sent, resolve }))
  }

  /** In one call, past the queue: for a step whose transaction has the only connection. */
  async storeNow(chunks: readonly Sent[]): Promise<void> {
    const { store, owner } = this.deps
    const numbered = chunks.map((chunk) => this.numbered(chunk))
    this.stored += chunks.length
    await store.publish(owner(), numbered)
  }

  close(): void {
    this.isClosed = true
    this.wake?.()
    for (const { resolve } of this.waiting.splice(0)) resolve()
  }

  private numbered(chunk: Sent): NewChunk {
    this.sent += 1
    return { ...chunk, sent: this.sent }
  }

  private async run(): Promise<void> {
    while (this.queue.length > 0 && !this.isClosed) {
      const batch = this.take()
      await this.store(batch)
      this.stored += batch.length
      const { stored } = this
      const over = this.waiting.filter(({ upTo }) => upTo <= stored)
      this.waiting = this.waiting.filter(({ upTo }) => upTo > stored)
      for (const { resolve } of over) resolve()
      if (this.waiting.length === 0) await this.rest(REST_MS)
    }
    this.isBusy = false
  }

  private take(): NewChunk[] {
    let bytes = 0
    const over = this.queue.findIndex(({ value }, i) => {
      bytes += value.length
      return i > 0 && (i >= BATCH_DELTAS_MAX || bytes > BATCH_BYTES_MAX)
    })
    return this.queue.splice(0, over < 0 ? this.queue.length : over)
  }

  private async store(batch: readonly NewChunk[]): Promise<void> {
    const { store, ports, owner } = this.deps
    while (!this.isClosed) {
      try {
        ports.fault('publish.before')
        await store.publish(owner(), batch)
        ports.fault('publish.after')
        for (const uid of new Set(batch.map((chunk) => chunk.uid))) this.deps.changed(uid)
        return
      } catch (error) {
        if (error instanceof StoreRefused) return this.refused(batch, error)
        await this.rest(AGAIN_MS)
      }
    }
  }

  private async refused(batch: readonly NewChunk[], error: StoreRefused): Promise<void> {
    if (batch.length > 1) {
      for (const chunk of batch) await this.store([chunk])
      return
    }
    const { step } = batch[0] ?? {}
    this.deps.ports.log.warn('the database refuses what a step has published', { step, error })
  }

  /** Shorter, if somebody waits. */
  private rest(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const off = this.deps.ports.clock.after(ms, () => this.wake?.())
      this.wake = () => {
        this.wake = null
        off()
        resolve()
      }
    })
  }
}

/** What one execution of a step publishes. */
export class Published {
  private readonly of: Pick<NewChunk, 'uid' | 'epoch' | 'step' | 'attempt'>
  private readonly publisher: Publisher
  private readonly past: Promise<void>
  private count = 0
  private bytes = 0
  /** Not null: they are stored with the transaction of the step. */
  private held: Sent[] | null = null

  /** `isHeld`: the transaction has begun. */
  constructor(of: Published['of'], publisher: Publisher, past: Promise<void>, isHeld: boolean) {
    this.of = of
    this.publisher = publisher
    this.past = past
    if (isHeld) this.held = []
  }

  add(value: Stored): void {
    this.count += 1
    this.bytes += value.length
    if (this.count > PUBLISHED_MAX || this.bytes > PUBLISHED_BYTES_MAX) {
      throw streamFull(this.of.step, PUBLISHED_MAX, PUBLISHED_BYTES_MAX)
    }
    const chunk = { ...this.of, isFirst: this.count === 1, value }
    if (this.held) this.held.push(chunk)
    else void this.past.then(() => this.publisher.send(chunk))
  }

  async flushed(): Promise<void> {
    await this.past
    await this.publisher.flushed()
  }

  /** From now on with the transaction, which has the only connection. */
  async hold(): Promise<void> {
    this.held ??= []
    await this.flushed()
  }

  /** All of it is stored. `inside`: in the transaction. */
  async end(inside: ((work: () => Promise<void>) => Promise<void>) | undefined): Promise<void> {
    const { held } = this
    if (held === null) return this.flushed()
    if (held.length > 0 && inside) await inside(() => this.publisher.storeNow(held.splice(0)))
  }
}

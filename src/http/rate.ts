// How often one caller may ask: a bucket that fills again.

import { rateLimited } from './errors.js'

interface Rate {
  readonly burst: number
  readonly perSecond: number
}

/** Callers that are remembered: those whose bucket is full again are forgotten first. */
const BUCKETS_MAX = 10_000

export class Buckets {
  private readonly rate: Rate
  private readonly buckets = new Map<string, { left: number; at: number }>()

  constructor(rate: Rate) {
    this.rate = rate
  }

  /** Throws RATE_LIMITED. */
  take(name: string): void {
    const waitMs = this.waitMs(name)
    if (waitMs > 0) throw rateLimited(waitMs)
    this.spend(name)
  }

  /** How long until one is left; 0: there is one. */
  waitMs(name: string): number {
    const left = this.left(name)
    return left >= 1 ? 0 : ((1 - left) / this.rate.perSecond) * 1000
  }

  spend(name: string): void {
    const left = this.left(name) - 1
    if (this.buckets.size >= BUCKETS_MAX) this.forget()
    this.buckets.set(name, { left, at: performance.now() })
  }

  private left(name: string): number {
    const bucket = this.buckets.get(name)
    if (!bucket) return this.rate.burst
    const filled = ((performance.now() - bucket.at) / 1000) * this.rate.perSecond
    return Math.min(this.rate.burst, bucket.left + filled)
  }

  private forget(): void {
    for (const name of this.buckets.keys()) {
      if (this.left(name) >= this.rate.burst) this.buckets.delete(name)
    }
    if (this.buckets.size >= BUCKETS_MAX) this.buckets.clear()
  }
}

// Uids in the order in which they were made, also within one millisecond: lists page by them.

import { type Uid, uuidv7 } from '../model/ids.js'
import type { Instant } from '../model/run.js'
import type { Random } from './ports.js'

const PER_MS = 4_096

export class Uids {
  private readonly random: Random
  private readonly now: () => Instant
  private lastMs = 0
  private count = 0

  constructor(random: Random, now: () => Instant) {
    this.random = random
    this.now = now
  }

  next(): Uid {
    const bytes = this.random.bytes(10)
    const now = Math.max(0, this.now())
    if (now > this.lastMs) {
      this.lastMs = now
      this.count = bytes[0] ?? 0
    } else this.count += 1
    if (this.count >= PER_MS) {
      this.lastMs += 1
      this.count = 0
    }
    bytes[0] = this.count >> 8
    bytes[1] = this.count & 0xff
    return uuidv7(this.lastMs, bytes) as Uid
  }
}

// The only source of order, time and chance of a simulated world: one seeded generator, virtual milliseconds, and
// a list of things that could happen next. Between two of them every microtask runs.

/** xoshiro128**, seeded by splitmix32. */
export class Rng {
  private readonly s: [number, number, number, number]

  constructor(seed: number) {
    let state = seed | 0
    const word = (): number => {
      state = (state + 0x9e3779b9) | 0
      let z = state
      z = Math.imul(z ^ (z >>> 16), 0x85ebca6b)
      z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35)
      return (z ^ (z >>> 16)) >>> 0
    }
    this.s = [word(), word(), word(), word() | 1]
  }

  next(): number {
    const { s } = this
    const x = Math.imul(s[1], 5)
    const result = Math.imul((x << 7) | (x >>> 25), 9) >>> 0
    const t = s[1] << 9
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = (s[3] << 11) | (s[3] >>> 21)
    return result
  }

  fraction(): number {
    return this.next() / 2 ** 32
  }

  /** 0 ≤ n < below */
  int(below: number): number {
    return Math.floor(this.fraction() * below)
  }

  between(low: number, high: number): number {
    return low + this.int(high - low + 1)
  }

  chance(p: number): boolean {
    return p > 0 && this.fraction() < p
  }

  pick<T>(list: readonly T[]): T {
    const found = list[this.int(list.length)]
    if (found === undefined) throw new Error('pick from an empty list')
    return found
  }
}

/** One life of a process: dead, nothing of it happens any more; held, nothing happens until then. */
export interface Life {
  readonly name: string
  alive: boolean
  heldUntil: number
}

interface Pending {
  readonly life: Life | null
  readonly label: string
  readonly run: () => void
  at: number
  readonly n: number
  off: boolean
}

const realImmediate = setImmediate
const realTick = process.nextTick
/** All microtasks have run when a tick comes; the loop is much slower, but tells of rejections that nobody handles. */
const tick = (): Promise<void> => new Promise((resolve) => realTick(resolve))
const loop = (): Promise<void> => new Promise((resolve) => realImmediate(resolve))
/** Memory of what nobody handled is let go so often. */
const TICKS_MAX = 256
const SPINNING = new Set(['timer 0', 'timer 1', 'claim → answered'])
/** How many of the last events are remembered. */
export const shown = { events: 60 }

export class Scheduler {
  readonly rng: Rng
  now = 0
  events = 0
  hash = 0x811c9dc5
  readonly last: string[] = []
  /** The first thing that went wrong. */
  failure: string | null = null
  private readonly ready: Pending[] = []
  private readonly later: Pending[] = []
  /** Hints make it look at once: the more callers there are, the more often. */
  spinsMax = 100
  private second = 0
  private readonly often = new Map<string, number>()
  private count = 0
  private readonly isLoop: boolean

  constructor(seed: number) {
    this.rng = new Rng(seed)
    this.isLoop = seed % 10 === 0
  }

  /** Happens at `now + ms` or at any time after. Gives back the way to call it off. */
  after(life: Life | null, ms: number, label: string, run: () => void): () => void {
    if (Number.isNaN(ms)) throw new Error(`${label} is to happen at no time`)
    this.count += 1
    const pending = { life, label, run, at: this.now + ms, n: this.count, off: false }
    if (ms <= 0) this.ready.push(pending)
    else this.pushLater(pending)
    return () => {
      pending.off = true
    }
  }

  fail(invariant: string, message: string): void {
    this.note(`FAILED ${invariant}: ${message}`)
    this.failure ??= `${invariant}: ${message}`
  }

  note(text: string): void {
    this.last.push(`${Math.round(this.now)} ${text}`)
    if (this.last.length > shown.events) this.last.shift()
  }

  /** Lets things happen until `until()` holds, virtual `deadline` has come, or nothing can happen. */
  async run(deadline: number, until: () => boolean, eventsMax: number): Promise<'until' | 'over'> {
    while (!this.failure) {
      if (until()) return 'until'
      if (this.now >= deadline) return 'over'
      const next = this.choose()
      if (next === null) return 'over'
      this.events += 1
      if (this.events > eventsMax) this.fail('livelock', `more than ${eventsMax} events`)
      this.happen(next)
      await (this.isLoop || this.events % TICKS_MAX === 0 ? loop() : tick())
    }
    return 'over'
  }

  /** How often a process has done the same thing within this second. A healthy one does nothing without a pause. */
  private spins({ life, label }: Pending): void {
    if (!life || !SPINNING.has(label)) return
    const second = Math.floor(this.now / 1_000)
    if (second !== this.second) this.often.clear()
    this.second = second
    const key = `${life.name} ${label}`
    const count = (this.often.get(key) ?? 0) + 1
    this.often.set(key, count)
    if (count > this.spinsMax) this.fail('spin', `${key} ${count} times in a second`)
  }

  private happen(next: Pending): void {
    this.spins(next)
    const label = next.life ? `${next.life.name} ${next.label}` : next.label
    this.note(label)
    this.mix(label)
    try {
      next.run()
    } catch (error) {
      this.fail('exception', error instanceof Error ? (error.stack ?? error.message) : `${error}`)
    }
  }

  private choose(): Pending | null {
    for (;;) {
      if (this.ready.length > 0 && this.rng.chance(0.02)) this.now += this.rng.between(1, 10)
      for (let top = this.later[0]; top && top.at <= this.now; top = this.later[0]) {
        this.popLater()
        if (!top.off) this.ready.push(top)
      }
      if (this.ready.length === 0) {
        const [top] = this.later
        if (!top) return null
        this.now = top.at
        continue
      }
      const at = this.rng.int(this.ready.length)
      const chosen = this.ready[at]
      const last = this.ready.pop()
      if (last && chosen !== last) this.ready[at] = last
      if (!chosen || chosen.off || chosen.life?.alive === false) continue
      if (chosen.life && chosen.life.heldUntil > this.now) {
        // The same one: whoever may call it off still can.
        chosen.at = chosen.life.heldUntil
        this.pushLater(chosen)
        continue
      }
      return chosen
    }
  }

  private mix(label: string): void {
    let { hash } = this
    for (let i = 0; i < label.length; i += 1) {
      hash = Math.imul(hash ^ label.charCodeAt(i), 0x01000193)
    }
    this.hash = Math.imul(hash ^ Math.round(this.now), 0x01000193) >>> 0
  }

  // ── a heap by time ────────────────────────────────────────────────────────────────────────────────────────

  private pushLater(pending: Pending): void {
    const heap = this.later
    heap.push(pending)
    let at = heap.length - 1
    while (at > 0) {
      const up = (at - 1) >> 1
      if (!this.swapIfBefore(at, up)) break
      at = up
    }
  }

  private popLater(): void {
    const heap = this.later
    const last = heap.pop()
    if (!last || heap.length === 0) return
    heap[0] = last
    let at = 0
    for (;;) {
      const left = at * 2 + 1
      if (left >= heap.length) return
      const right = left + 1
      const least = right < heap.length && this.isBefore(right, left) ? right : left
      if (!this.swapIfBefore(least, at)) return
      at = least
    }
  }

  private isBefore(a: number, b: number): boolean {
    const x = this.later[a]
    const y = this.later[b]
    if (!x || !y) return false
    return x.at < y.at || (x.at === y.at && x.n < y.n)
  }

  private swapIfBefore(a: number, b: number): boolean {
    const x = this.later[a]
    const y = this.later[b]
    if (!x || !y || !this.isBefore(a, b)) return false
    this.later[a] = y
    this.later[b] = x
    return true
  }
}

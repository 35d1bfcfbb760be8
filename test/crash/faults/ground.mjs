// What every fault stands on: a server, chance from a seed, a limit of time, and worlds that are looked at when they end.
//
// A fault: { id, title, unit, count, short, seconds, checked, needs, run(ground, count) }.
//   count    how often the soak does it; short: how often npm test does (0: `tests` has the test that does it there)
//   seconds  about what `count` takes on two cores: the soak shares its time out by it
//   run      gives an Outcome

import { undisturbed, verdict } from '../storm.mjs'
import { FAULT_NORMAL } from '../workloads-faults.mjs'
import { embeddedWorld, serverWorld } from '../world.mjs'

export class Outcome {
  done = 0
  runs = 0
  /** One line for each promise that was broken. */
  broken = []
  /** Name → { value, unit, goal }: what was measured. A missed goal is no broken promise. */
  figures = {}
  counters = {}
  #samples = new Map()
  #onProgress

  constructor(onProgress = () => {}) {
    this.#onProgress = onProgress
  }

  did(count = 1) {
    this.done += count
    this.#onProgress(this)
  }

  note(values) {
    for (const [name, count] of Object.entries(values))
      this.counters[name] = (this.counters[name] ?? 0) + count
  }

  /** Milliseconds of which the last percents are shown. */
  sample(name, values) {
    this.#samples.set(name, (this.#samples.get(name) ?? []).concat(values))
  }

  /** `goal`: the 99th of hundred is to be at most that. */
  percentiles(name, goal = null, unit = 'ms') {
    const sorted = (this.#samples.get(name) ?? []).sort((a, b) => a - b)
    const at = (share) => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN)
    if (sorted.length === 0) return
    this.figures[`${name}, p50`] = { value: at(0.5), unit, goal: null, of: sorted.length }
    this.figures[`${name}, p99`] = { value: at(0.99), unit, goal, of: sorted.length }
  }

  atMost(name, value, goal, unit) {
    const before = this.figures[name]?.value ?? Number.NEGATIVE_INFINITY
    this.figures[name] = { value: Math.max(before, value), unit, goal }
  }
}

export class Ground {
  #normal = null
  #embeddedNormal = null

  /** `postgres`: a server that may be killed; else null. `isShort`: as cheap as can be. */
  constructor({ url, postgres = null, random, isShort = false }) {
    Object.assign(this, { url, postgres, random, isShort })
  }

  /** Protections that its victims do not have: to show that a look can fail. */
  defects = []

  /** By performance.now(). */
  until = Number.POSITIVE_INFINITY
  onProgress = () => {}

  get isOver() {
    return performance.now() > this.until
  }

  /** Something is to be done, and there is time for it; once in any case. */
  goesOn({ done }, count) {
    return done < count && (done === 0 || !this.isOver)
  }

  /** What each kind becomes that nobody disturbs. */
  normal() {
    this.#normal ??= this.inWorld({}, async (world) => normalIn(world))
    return this.#normal
  }

  embeddedNormal() {
    this.#embeddedNormal ??= inside(embeddedWorld(), normalIn)
    return this.#embeddedNormal
  }

  inWorld(options, body) {
    return inside(serverWorld({ url: this.url, ...options }), body)
  }

  between(from, to) {
    return from + this.random() * (to - from)
  }

  pick(list) {
    return list[Math.floor(this.random() * list.length)]
  }

  /**
   * World after world, until `count` is reached or the time is over. `body(world, share, outcome)` does its share in
   * one world; then everything in it is brought to its end and checked. `more(snapshot, world, outcome)` gives what else is wrong.
   */
  async worlds(count, { perWorld, leaseMs, url, more = () => [], ...lenient }, body) {
    const outcome = new Outcome(this.onProgress)
    const normal = await this.normal()
    while (this.goesOn(outcome, count)) {
      const share = Math.min(perWorld, count - outcome.done)
      await this.inWorld({ leaseMs, ...(url ? { url } : {}) }, async (world) => {
        world.defects = this.defects
        await body(world, share, outcome)
        await this.conclude(outcome, world, { normal, more, ...lenient })
      })
    }
    return outcome
  }

  async conclude(outcome, world, { normal, more = () => [], ...options }) {
    const victims = this.isShort ? 1 : 2
    const known = outcome.broken.length
    outcome.broken.push(...(await verdict(world, normal, { victims, ...options })))
    outcome.broken.push(...(await more(await world.snapshot(), world, outcome)))
    for (const text of outcome.broken.slice(known)) console.log(`BROKEN ${text}`)
    outcome.runs += world.runs.size
    outcome.note(world.counters())
  }
}

async function normalIn(world) {
  const { normal, problems } = await undisturbed(world)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return { ...normal, ...FAULT_NORMAL }
}

export async function inside(making, body) {
  const world = await making
  try {
    return await body(world)
  } finally {
    await world[Symbol.asyncDispose]()
  }
}

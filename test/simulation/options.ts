// What a seed means: a small world with some kinds of faults switched on (swarm testing).

import { Rng } from './scheduler.js'

export interface Options {
  readonly seed: number
  readonly workers: number
  readonly concurrency: number
  readonly framesMax: number
  readonly leaseMs: number
  readonly pollMs: number
  /** So many times `pollMs` pass between two looks: who only looks costs time, and finds little. */
  readonly patience: number
  readonly chaosMs: number
  /** Workers know only some of the definitions until the world heals. */
  readonly split: boolean
  /** How much faster or slower than the database each worker's clock may run. */
  readonly drift: number
  readonly starts: number
  readonly signals: number
  readonly cancels: number
  readonly retries: number
  readonly closes: number
  /** Runs are paused, and resumed some time later. */
  readonly rests: number
  /** How often a start brings its first message. */
  readonly messages: number
  readonly depth: number
  /** Programs have scopes, races, loops and undo. */
  readonly scopes: boolean
  /** Programs emit and hear events and wait for the ends of other runs; callers emit and trigger so often. */
  readonly others: number
  /** Programs start, signal and cancel other runs. */
  readonly reaches: boolean
  /** So often somebody cancels a run while it commits, or signals it when its wait is over. */
  readonly races: number
  /** So much of the programs is waits with a deadline. */
  readonly waits: number
  /** Half of what is started is machines; callers trigger them, and send events to others, so often. */
  readonly machines: number
  /** So many runs of each definition at once; 0: as many as there are. */
  readonly limits: number
  readonly mailboxMax: number
  /** A commit takes at least so long, and callers come all at once: batches fill. 0: as they come. */
  readonly crowdMs: number
  readonly faults: Faults
}

/** Probabilities per call, or how often in all. */
export interface Faults {
  readonly notApplied: number
  readonly replyLost: number
  /** The caller hears that it failed, and later it is applied. */
  readonly late: number
  readonly slow: number
  readonly busy: number
  readonly hintsLost: number
  readonly hintsDoubled: number
  readonly poison: number
  readonly bombs: number
  readonly faultPoints: number
  readonly crashes: number
  readonly pauses: number
  readonly clockJumps: number
  readonly outages: number
}

/** Some of the options, for worlds in which something certain is looked for. */
export type Aim = Partial<Omit<Options, 'faults'>> & { readonly faults?: Partial<Faults> }

export const aimed = (options: Options, { faults, ...aim }: Aim): Options => ({
  ...options,
  ...aim,
  faults: { ...options.faults, ...faults },
})

/** Few worlds have machines, which cost three times as much as others; half of them are small. */
const WITH_MACHINES = new Set([2, 9])
const SMALL_STARTS = 3

/** A world that costs less than it was drawn: more of them can be looked at. */
export function optionsOf(seed: number): Options {
  const { starts, machines, ...whole } = wholeOptionsOf(seed)
  const isSmall = seed % 2 === 0 && whole.crowdMs === 0
  return {
    ...whole,
    patience: seed % 4 === 0 ? 1 : 3,
    starts: isSmall ? Math.min(starts, SMALL_STARTS) : starts,
    machines: WITH_MACHINES.has(seed % 10) ? machines : 0,
  }
}

export function wholeOptionsOf(seed: number): Options {
  const rng = new Rng(seed ^ 0x5eed)
  const sometimes = (p: number, value: () => number): number => (rng.chance(p) ? value() : 0)
  const rate = (p: number, most: number): number => sometimes(p, () => rng.fraction() * most)
  const count = (p: number, most: number): number => sometimes(p, () => rng.between(1, most))
  const calm = rng.chance(0.1)
  const p = calm ? 0 : 0.4
  const options: Options = {
    seed,
    workers: rng.between(1, 4),
    concurrency: rng.pick([1, 2, 3, 8]),
    framesMax: rng.pick([0, 1, 50, 50]),
    leaseMs: 3_000,
    pollMs: rng.pick([200, 500, 500]),
    patience: 1,
    chaosMs: rng.pick([1_500, 4_000, 8_000]),
    split: rng.chance(0.15),
    drift: rng.chance(0.3) ? 0.03 : 0,
    starts: rng.between(1, 8),
    signals: rng.between(0, 12),
    cancels: count(0.4, 3),
    retries: count(0.4, 4),
    closes: count(0.3, 2),
    ...operatedOf(seed),
    depth: rng.between(1, 3),
    scopes: new Rng(seed ^ 0x5c0e).chance(0.5),
    others: othersOf(seed),
    ...racesOf(seed),
    waits: 0,
    machines: machinesOf(seed),
    limits: limitsOf(seed),
    mailboxMax: rng.chance(0.1) ? 3 : 10_000,
    crowdMs: 0,
    faults: {
      notApplied: rate(p, 0.1),
      replyLost: rate(p, 0.15),
      late: rate(p * 0.5, 0.1),
      slow: rate(p, 0.1),
      busy: rate(p, 0.3),
      hintsLost: rng.chance(p) ? rng.pick([0.3, 1]) : 0,
      hintsDoubled: rate(p, 0.5),
      poison: rate(p * 0.6, 0.2),
      bombs: calm || !rng.chance(0.08) ? 0 : 1,
      faultPoints: rate(p * 0.5, 0.004),
      crashes: calm ? 0 : count(0.4, 4),
      pauses: calm ? 0 : count(0.35, 3),
      clockJumps: calm ? 0 : count(0.2, 2),
      outages: calm ? 0 : count(0.15, 1),
    },
  }
  return { ...options, ...crowdOf(seed) }
}

/** From chance of its own, as below. */
function othersOf(seed: number): number {
  const rng = new Rng(seed ^ 0x07e4)
  return rng.chance(0.35) ? rng.between(1, 10) : 0
}

/** From chance of its own, as below. */
function limitsOf(seed: number): number {
  const rng = new Rng(seed ^ 0x117a)
  return rng.chance(0.2) ? rng.between(1, 3) : 0
}

/** From chance of its own, as below. */
function machinesOf(seed: number): number {
  const rng = new Rng(seed ^ 0x3ac4)
  return rng.chance(1 / 3) ? rng.between(2, 12) : 0
}

/** From chance of its own, as below. */
function racesOf(seed: number): Pick<Options, 'reaches' | 'races'> {
  const rng = new Rng(seed ^ 0x4ace)
  return { reaches: rng.chance(0.25), races: rng.chance(0.4) ? rng.between(4, 40) : 0 }
}

/** From chance of its own, as below. */
function operatedOf(seed: number): Pick<Options, 'rests' | 'messages'> {
  const rng = new Rng(seed ^ 0x0be7)
  return {
    rests: rng.chance(0.4) ? rng.between(1, 6) : 0,
    messages: rng.chance(0.3) ? rng.fraction() : 0,
  }
}

/** From chance of its own: every other world stays what it was. */
function crowdOf(seed: number): Partial<Options> {
  const rng = new Rng(seed ^ 0xc211)
  if (!rng.chance(0.06)) return {}
  return {
    workers: rng.between(1, 3),
    concurrency: rng.pick([8, 16]),
    starts: rng.between(6, 14),
    signals: rng.between(10, 40),
    cancels: rng.between(0, 6),
    depth: 3,
    crowdMs: rng.pick([10, 40, 150]),
  }
}

// Many seeds, one after the other, and what they came to in all.

import { runSeed, type Verdict } from './seed.js'
import type { Switches } from './world.js'

/** Every so many worlds one is run twice: the same seed is the same world. */
const TWICE_EVERY = 100

export interface Total {
  seeds: number
  events: number
  /** How often each rare state was met. */
  readonly rare: Record<string, number>
}

export const newTotal = (): Total => ({ seeds: 0, events: 0, rare: {} })

export function add(total: Total, other: Total): void {
  total.seeds += other.seeds
  total.events += other.events
  for (const [name, count] of Object.entries(other.rare)) {
    total.rare[name] = (total.rare[name] ?? 0) + count
  }
}

/** The first world that breaks a promise, or null. */
export async function runSeeds(
  seeds: Iterable<number>,
  total: Total,
  switches: Switches = {},
): Promise<Verdict | null> {
  for (const seed of seeds) {
    const verdict = await runSeed(seed, switches)
    if (verdict.failure !== null) return verdict
    add(total, { seeds: 1, events: verdict.events, rare: verdict.rare })
    if (seed % TWICE_EVERY !== 0) continue
    const { hash } = await runSeed(seed, switches)
    if (hash !== verdict.hash) return { ...verdict, failure: `not the same twice: hash ${hash}` }
  }
  return null
}

export function* from(first: number, count: number): Iterable<number> {
  for (let seed = first; seed < first + count; seed += 1) yield seed
}

/** For people: what happened, what was broken, and how to see it again. */
export function report({ seed, options, failure, last, hash, events }: Verdict): string {
  return [
    `seed ${seed}, step ${events}, trace hash ${hash.toString(16)}`,
    JSON.stringify(options),
    ...last.slice(-40).map((line) => `  ${line}`),
    failure,
    `again: npm run simulate -- --seed ${seed}`,
    `smaller: npm run simulate -- --shrink ${seed}`,
  ].join('\n')
}

// Makes a world that breaks a promise smaller: first its faults are taken out, then its workers, then what callers do,
// as long as the same promise is broken.

import { runSeed, type Verdict } from './seed.js'
import type { Switches } from './world.js'

export interface Shrunk {
  readonly verdict: Verdict
  /** What is left; with these and the seed the world is the same again. */
  readonly workers: number
  readonly faults: readonly number[]
  readonly plans: readonly number[]
  readonly tries: number
}

interface Left {
  readonly workers: number
  readonly faults: readonly number[]
  readonly plans: readonly number[]
}

const TRIES_MAX = 600

export const promiseOf = ({ failure }: Verdict): string | null => failure?.split(':', 1)[0] ?? null

/** null: the world of this seed keeps every promise. */
export async function shrink(
  seed: number,
  switches: Switches = {},
  triesMax = TRIES_MAX,
): Promise<Shrunk | null> {
  const whole = await runSeed(seed, switches)
  const broken = promiseOf(whole)
  if (broken === null) return null
  let tries = 0
  const breaks = async (left: Left): Promise<boolean> => {
    tries += 1
    return tries <= triesMax && promiseOf(await runSeed(seed, cut(switches, left))) === broken
  }
  let left: Left = {
    workers: whole.options.workers,
    faults: whole.struck.map((_, i) => i),
    plans: Array.from({ length: whole.plans }, (_, i) => i),
  }
  for (let before = ''; before !== JSON.stringify(left); ) {
    before = JSON.stringify(left)
    left = { ...left, faults: await least(left.faults, (faults) => breaks({ ...left, faults })) }
    for (let workers = 1; workers < left.workers; workers += 1) {
      if (await breaks({ ...left, workers })) left = { ...left, workers }
    }
    left = { ...left, plans: await least(left.plans, (plans) => breaks({ ...left, plans })) }
  }
  return { ...left, tries, verdict: await runSeed(seed, cut(switches, left)) }
}

export function cut(switches: Switches, { workers, faults, plans }: Left): Switches {
  const cuts = { faults: new Set(faults), plans: new Set(plans) }
  return { ...switches, aim: { ...switches.aim, workers }, cuts }
}

/** ddmin: halves, then quarters, … are taken out while `holds` says that it still breaks. */
async function least(
  all: readonly number[],
  holds: (some: readonly number[]) => Promise<boolean>,
): Promise<readonly number[]> {
  if (all.length === 0 || (await holds([]))) return []
  let kept = all
  let parts = 2
  while (kept.length > 1) {
    const size = Math.ceil(kept.length / parts)
    let smaller: readonly number[] | null = null
    for (let at = 0; at < kept.length && !smaller; at += size) {
      const rest = [...kept.slice(0, at), ...kept.slice(at + size)]
      if (await holds(rest)) smaller = rest
    }
    if (smaller) {
      kept = smaller
      parts = Math.max(2, parts - 1)
    } else if (size === 1) break
    else parts = Math.min(kept.length, parts * 2)
  }
  return kept
}

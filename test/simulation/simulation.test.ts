import { afterAll, expect, test } from 'vitest'
import { type Counter, newCounters } from '../../src/kernel/counters.js'
import { newBatches } from './batches.js'
import regressions from './regressions.json' with { type: 'json' }
import { runSeed, type Verdict } from './seed.js'
import type { Switches } from './world.js'

const isFast = process.env.PERDURE_TEST_FAST === '1'
/** `SEEDS=20000 npx vitest run test/simulation`: a long run. `SEED=7 SEEDS=1`: one world again. */
const SEEDS = Number(process.env.SEEDS ?? (isFast ? 200 : 1_000))
const FIRST = Number(process.env.SEED ?? 1)
const isWhole = SEEDS >= 200

const RARE: readonly Counter[] = [
  'answer.stale',
  'answer.stopping',
  'answer.early',
  'answer.exists',
  'answer.busy',
  'answer.refused',
  'answer.repeated',
  'commit.resent',
  'commit.halved',
  'worker.adopted',
  'worker.doubtful',
  'worker.reborn',
  'worker.reaped',
  'run.suspect',
  'run.crashLimit',
  'frame.reused',
  'frame.outdated',
  'frame.evicted',
  'frame.replayed',
  'event.inherited',
  'transaction.resolved',
]

const total = newCounters()
const batches = newBatches()
let events = 0

test(`${SEEDS} random worlds keep every promise`, { timeout: 3_600_000 }, async () => {
  for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
    const verdict = await check(seed)
    if (seed % 100 === 0) expect((await runSeed(seed)).hash).toBe(verdict.hash)
  }
})

test('worlds that broke a promise once keep it', { timeout: 600_000 }, async () => {
  for (const seed of regressions) {
    await check(seed)
    await check(seed, { scopes: false })
  }
})

test.runIf(isWhole)('everything rare has happened, and no code was taken for changed', () => {
  const missing = RARE.filter((counter) => total[counter] === 0)
  expect(missing).toEqual([])
  expect(total['run.diverged']).toBe(0)
})

test.runIf(isWhole)('deltas that concern each other have met in one batch', () => {
  expect(batches.several).toBeGreaterThan(0)
  expect(batches.ofOneRun).toBeGreaterThan(0)
  // A few times in a thousand worlds.
  if (SEEDS >= 1_000) expect(batches.family).toBeGreaterThan(0)
})

afterAll(() => {
  console.info(`${SEEDS} seeds, ${events} events, ${JSON.stringify({ ...total, batches })}`)
})

async function check(seed: number, switches: Switches = {}): Promise<Verdict> {
  const verdict = await runSeed(seed, switches)
  if (verdict.failure) expect.fail(report(verdict))
  events += verdict.events
  for (const counter of Object.keys(total) as Counter[]) {
    total[counter] += verdict.counters[counter]
  }
  batches.several += verdict.batches.several
  batches.ofOneRun += verdict.batches.ofOneRun
  batches.family += verdict.batches.family
  return verdict
}

function report({ seed, options, failure, last }: Verdict): string {
  const happened = last.slice(-40).join('\n  ')
  const again = `SEED=${seed} SEEDS=1 npx vitest run test/simulation/simulation.test.ts`
  return `seed ${seed}\n${JSON.stringify(options)}\n  ${happened}\n${failure}\nagain: ${again}`
}

// The worlds of npm test are shared out over several files, so that every core has some.

import { afterAll, expect, test } from 'vitest'
import { from, newTotal, report, runSeeds } from './many.js'
import { missing } from './rare.js'

const isFast = process.env.PERDURE_TEST_FAST === '1'
/** `npm run simulate` runs as many as one likes. */
const SEEDS = isFast ? 60 : 1_250

export function simulateShare(share: number): void {
  const total = newTotal()
  const first = 1 + share * SEEDS

  test(`${SEEDS} random worlds keep every promise`, { timeout: 3_600_000 }, async () => {
    const broken = await runSeeds(from(first, SEEDS), total)
    if (broken) expect.fail(report(broken))
  })

  test.runIf(!isFast)('everything rare has happened, and no code was taken for changed', () => {
    expect(missing(total.rare)).toEqual([])
    expect(total.rare['run.diverged']).toBe(0)
  })

  afterAll(() => console.info(`${total.seeds} seeds, ${total.events} events`))
}

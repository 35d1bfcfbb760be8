// Moments at which two things happen to one run at once, so often that each order has been met: 5,000 or 2,000 times by
// `npm run simulate -- --races`, a tenth of it here.

import { expect, test } from 'vitest'
import { newTotal, report, runSeeds } from './many.js'
import type { Aim } from './options.js'

const SHARE =
  process.env.PERDURE_RACES === 'all' ? 1 : process.env.PERDURE_TEST_FAST === '1' ? 0.02 : 0.1
const FIRST = 1_000_000
const WORLDS_MAX = 1_200
const SLOW = { timeout: 600_000 }
const CROWD: Aim = {
  starts: 14,
  chaosMs: 2_500,
  concurrency: 16,
  workers: 2,
  rests: 0,
  machines: 0,
}

async function until(race: string, count: number, aim: Aim): Promise<Record<string, number>> {
  const total = newTotal()
  const most = count * SHARE
  for (let seed = FIRST; (total.rare[race] ?? 0) < most; seed += 1) {
    expect(seed).toBeLessThan(FIRST + WORLDS_MAX)
    const broken = await runSeeds([seed], total, { aim: { ...CROWD, ...aim } })
    if (broken) expect.fail(`${JSON.stringify(aim)}\n${report(broken)}`)
  }
  console.info(`${total.rare[race]} of "${race}" in ${total.seeds} worlds, ${total.events} events`)
  return total.rare
}

test('a run that is cancelled while it commits has one end', SLOW, async () => {
  const rare = await until('race: a cancel while the run commits', 5_000, {
    races: 200,
    crowdMs: 10,
    depth: 2,
    scopes: false,
  })
  expect(rare['answer.stopping']).toBeGreaterThan(0)
})

test('a wait has one winner when a signal comes at its deadline', SLOW, async () => {
  const quiet: Aim = { cancels: 0, signals: 0, scopes: false, others: 0, depth: 1 }
  const rare = await until('race: a signal within 5 ms of the deadline of its wait', 5_000, {
    ...quiet,
    waits: 0.8,
    races: 400,
    starts: 12,
  })
  expect(rare['race: a signal and a deadline at the same millisecond']).toBeGreaterThan(0)
  expect(rare['race: a signal wins against a deadline that is close']).toBeGreaterThan(0)
  expect(rare['race: a deadline wins against a signal that is close']).toBeGreaterThan(0)
})

test('a child that ends while its parent runs is heard of once', SLOW, async () => {
  const race = 'race: a child ends while its parent runs'
  const rare = await until(race, 2_000, { depth: 3, scopes: false, waits: 0, cancels: 6 })
  expect(rare['race: a child ends while its parent is told to stop']).toBeGreaterThan(0)
})

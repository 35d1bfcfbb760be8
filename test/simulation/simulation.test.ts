import { expect, test } from 'vitest'
import { newTotal, report, runSeeds } from './many.js'
import regressions from './regressions.json' with { type: 'json' }
import { runSeed } from './seed.js'
import { promiseOf, shrink } from './shrink.js'
import type { Switches } from './world.js'

test('worlds that broke a promise once keep it', { timeout: 600_000 }, async () => {
  for (const scopes of [true, false]) {
    // What was added to the generator since is left out: each is still the world that it was.
    const aim = { reaches: false, races: 0, machines: 0 }
    const broken = await runSeeds(regressions, newTotal(), { scopes, aim })
    if (broken) expect.fail(report(broken))
  }
})

test('a world that breaks a promise is made smaller, and still breaks it', async () => {
  const switches: Switches = { defects: new Set(['end-ignores-stop']), aim: { cancels: 8 } }
  let seed = 1
  while ((await runSeed(seed, switches)).failure === null) seed += 1
  const whole = await runSeed(seed, switches)
  const shrunk = await shrink(seed, switches, 250)
  expect(promiseOf(shrunk?.verdict ?? whole)).toBe(promiseOf(whole))
  expect(shrunk?.verdict.events).toBeLessThan(whole.events)
  expect(shrunk?.plans.length).toBeLessThan(whole.plans / 2)
})

// How long a transition may run: five minutes, what the environment says, or what it says itself.

import { expect, onTestFinished, test } from 'vitest'
import { composeEngine } from '../../src/create-engine.js'
import { readEngineOptions } from '../../src/engine/options.js'
import { machine, type TransitionContext } from '../../src/index.js'
import { openMemory } from '../../src/open-store.js'
import { eventually, refusalOf } from '../support/world.js'

const quiet = { debug() {}, info() {}, warn() {}, error() {} }

test('[E25] a transition may run for five minutes, unless the environment or it says otherwise', async () => {
  const limit = (text?: string) =>
    readEngineOptions({ workflows: [] }, { DEFAULT_TRANSITION_TIMEOUT: text }).transitionTimeoutMs
  expect([limit(), limit('1234'), limit('0')]).toEqual([300_000, 1_234, null])
  const refused = await refusalOf((async () => limit('5s'))())
  expect(refused.message).toContain('DEFAULT_TRANSITION_TIMEOUT')

  const untilAborted = (_: object, ctx: TransitionContext) =>
    new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
  const longer = async () => {
    await new Promise((resolve) => setTimeout(resolve, 100))
    return 'in time'
  }
  const usual = machine('usual', { transitions: { go: { to: 'end', run: untilAborted } } })
  const shorter = machine('shorter', {
    transitions: { go: { to: 'end', timeout: 20, run: untilAborted } },
  })
  const endless = machine('endless', {
    transitions: { go: { to: 'end', timeout: 0, run: longer } },
  })
  const workflows = [usual, shorter, endless]
  const given = { database: 'memory:', workflows, log: quiet }
  const settings = readEngineOptions(given, { DEFAULT_TRANSITION_TIMEOUT: '40' })
  const engine = await composeEngine(settings, { opened: await openMemory() })
  onTestFinished(() => engine.close())
  const [a, b, c] = await Promise.all(workflows.map((one) => engine.start(one)))
  for (const run of [a, b]) await eventually(async () => run?.status()).toBe('failed')
  expect((await a?.get())?.error?.message).toBe("Transition 'go' timed out after 40ms")
  expect((await b?.get())?.error?.message).toBe("Transition 'go' timed out after 20ms")
  expect(await c?.result()).toBe('in time')
})

// Faults of the embedded database: its process is killed in use and while the directory is made; it is opened twice.

import { setTimeout as sleep } from 'node:timers/promises'
import { storm } from '../storm.mjs'
import { embeddedWorld } from '../world.mjs'
import { inside, Outcome } from './ground.mjs'

const KILLS_PER_WORLD = 20
const OPENS_PER_WORLD = 2
const BIRTHS_PER_WORLD = 4

export const embeddedKills = {
  id: 'f35',
  title:
    'The process of an embedded database is killed, in use or while it is made; another process opens it too',
  ...{ unit: 'kills', count: 200, short: 0, seconds: 900 },
  checked:
    'as F1 with the next process; the second one that opens it is refused with the pid of the first',
  tests: [
    [
      'test/crash/embedded.test.ts',
      '[X01] leaves every run to the next process, which ends it as an undisturbed one',
    ],
    ['test/embedded/lock.test.ts', 'of several at once over a dead lock is won by exactly one'],
    ['test/embedded/durability.test.ts', 'leaves nothing that the next open stumbles over'],
  ],
  async run(ground, count) {
    const outcome = new Outcome(ground.onProgress)
    const normal = await ground.embeddedNormal()
    const side = async () => {
      while (ground.goesOn(outcome, count)) {
        await inside(embeddedWorld(), (world) => inUse(ground, world, { outcome, normal, count }))
        if (!ground.goesOn(outcome, count)) break
        const empty = embeddedWorld({ empty: true })
        await inside(empty, (world) => beingMade(ground, world, { outcome, normal, count }))
      }
    }
    await Promise.all([side(), side()])
    return outcome
  },
}

async function inUse(ground, world, { outcome, normal, count }) {
  for (let i = 0; i < OPENS_PER_WORLD; i += 1) {
    const first = world.spawn({ runs: world.newRuns('chain', 'writer') })
    await first.hear(({ open }) => open, 60_000)
    const second = world.spawn({})
    const refusal = await second.hear(({ open, refused }) => open || refused, 60_000)
    const isRefused = refusal?.refused === 'DATABASE_LOCKED'
    if (!isRefused || !refusal.message.includes(String(first.pid)))
      outcome.broken.push(`a directory was opened twice: ${JSON.stringify(refusal)}`)
    outcome.note({ 'double opens': 1 })
    first.signal('SIGKILL')
    second.signal('SIGKILL')
    await Promise.all([first.ended, second.ended])
    outcome.did()
  }
  const plan = Array.from({ length: KILLS_PER_WORLD - OPENS_PER_WORLD }, () => ({
    ...{ point: 'random', afterMs: ground.between(20, 900) },
  }))
  const left = plan.slice(0, Math.max(0, count - outcome.done))
  const options = { slots: 1, calm: false, newRuns: 1, until: ground.until }
  await storm(world, left, { ...options, onKill: () => outcome.did() })
  await ground.conclude(outcome, world, { normal, victims: 1, withinMs: 180_000 })
}

async function beingMade(ground, world, { outcome, normal, count }) {
  const runs = world.newRuns('chain', 'sleeper', 'writer')
  for (let i = 0; i < BIRTHS_PER_WORLD && ground.goesOn(outcome, count); i += 1) {
    const victim = world.spawn({ makesEffects: true })
    await sleep(ground.between(50, 2_500))
    victim.signal('SIGKILL')
    await victim.ended
    outcome.note({ 'killed while it was made': 1 })
    outcome.did()
  }
  // The table of effects is made by the first that gets so far.
  const maker = world.spawn({ makesEffects: true, runs, closeWhenDriven: true })
  const { code } = await maker.ended
  if (code !== 0)
    outcome.broken.push(`a directory could not be made: ${JSON.stringify(maker.said)}`)
  await ground.conclude(outcome, world, { normal, victims: 1, withinMs: 180_000 })
}

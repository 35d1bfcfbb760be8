// Faults of processes: killed, asked to leave, stopped, blocked, out of memory, with a clock of their own.

import { setTimeout as sleep } from 'node:timers/promises'
import { faultPoints } from '../points.mjs'
import { makePlan, storm } from '../storm.mjs'
import { crew, dismissed, opened, STEADY, unended, until } from './load.mjs'
import { handOvers, nobodyReaped, nothingEarly } from './looks.mjs'

export const kills = {
  id: 'f1',
  title: 'A worker is killed (SIGKILL) at a point of the kernel or at a random instant',
  ...{ unit: 'kills', count: 2_000, short: 0, seconds: 1_500 },
  checked:
    'every run ends as an undisturbed one; each step has one result; no step runs after its result; transactional effects once; one key per step',
  tests: [
    [
      'test/crash/kills.test.ts',
      '[X01] leave every run in the state of an undisturbed one, each step with one result, each transactional effect once',
    ],
  ],
  async run(ground, count) {
    const outcome = await ground.worlds(count, { perWorld: 100 }, async (world, share, outcome) => {
      const { random, until: end } = ground
      const all = makePlan({ points: faultPoints(), perPoint: 2, total: share, random })
      const onKill = ({ point }) => {
        outcome.note({ [`kills at ${point}`]: 1 })
        outcome.did()
      }
      await storm(world, all.slice(0, share), { until: end, onKill })
    })
    return outcome
  },
}

export const stops = {
  id: 'f2',
  title: 'A worker is asked to leave (SIGTERM), as in a rolling deploy',
  ...{ unit: 'stops', count: 300, short: 0, seconds: 420 },
  tests: [
    [
      'test/conformance/deploys.test.ts',
      '[X16] a rolling deploy with both versions running loses and duplicates nothing',
    ],
  ],
  checked: 'as F1, and its runs go on elsewhere at once, with a lease of 30 s',
  async run(ground, count) {
    const more = (snapshot, _world, outcome) => {
      outcome.sample('hand-over', handOvers(snapshot, 'stroll'))
      return []
    }
    const options = { perWorld: 50, leaseMs: 30_000, more }
    const outcome = await ground.worlds(count, options, async (world, share, outcome) => {
      // Places enough: what is measured is not how long a run waits for one.
      const victims = await crew(world, ground.isShort ? 2 : 3, { concurrency: 40 })
      for (let i = 0; i < share && ground.goesOn(outcome, count); i += 1) {
        const [oldest] = victims
        const next = world.spawn({ concurrency: 40 })
        for (const victim of victims)
          victim.tell({ runs: world.newRuns('stroll', 'stroll', ground.pick(STEADY)) })
        await opened([next])
        await sleep(ground.between(20, 300))
        oldest.signal('SIGTERM')
        victims.push(next)
        victims.shift()
        const { code } = await oldest.ended
        if (code !== 0) outcome.broken.push(`one that was asked to leave ended with ${code}`)
        outcome.did()
      }
      await dismissed(victims, outcome)
    })
    outcome.percentiles('hand-over', 2_000)
    return outcome
  },
}

export const zombies = {
  id: 'f7',
  title: 'A worker is stopped (SIGSTOP) for longer than its lease and wakes up later',
  ...{ unit: 'stopped workers', count: 100, short: 0, seconds: 170 },
  checked: 'as F1; what the stopped one writes afterwards is stale and changes nothing',
  tests: [
    [
      'test/crash/stopped.test.ts',
      '[X02] at any moment loses its runs to the others and changes none of them',
    ],
  ],
  async run(ground, count) {
    const options = { perWorld: 20, leaseMs: 1_000, isReborn: true }
    return ground.worlds(count, options, async (world, share, outcome) => {
      const victims = await crew(world, 4)
      for (let i = 0; i < share && ground.goesOn(outcome, count); i += 2) {
        for (const victim of victims) victim.tell({ runs: world.newRuns(...STEADY) })
        await sleep(ground.between(20, 200))
        const pair = [victims[i % 4], victims[(i + 1) % 4]]
        for (const victim of pair) victim.signal('SIGSTOP')
        await sleep(2_400)
        for (const victim of pair) victim.signal('SIGCONT')
        outcome.did(2)
      }
      await dismissed(victims, outcome)
    })
  },
}

export const blocked = {
  id: 'f8',
  title: 'A step blocks the event loop of its worker for longer than its lease',
  ...{ unit: 'blocked workers', count: 30, short: 1, seconds: 90 },
  checked:
    'as F1; another worker takes over; the blocked one says which step it was and goes on with nothing of its own',
  async run(ground, count) {
    const options = { perWorld: 6, leaseMs: 1_000, isReborn: true }
    return ground.worlds(count, options, async (world, share, outcome) => {
      const victims = await crew(world, ground.isShort ? 2 : 3)
      for (let i = 0; i < share && ground.goesOn(outcome, count); i += 1) {
        const victim = victims[i % victims.length]
        const [run] = world.newRuns('blocker')
        const others = world.newRuns('chain', 'sleeper', 'writer')
        victim.tell({ runs: [run, ...others] })
        outcome.broken.push(...(await unended(victims, [run, ...others])))
        const step = `"block" of run ${run.id}`
        const isWarning = ({ warn, steps }) =>
          warn?.includes('taken for dead') && steps?.includes(step)
        if (!(await until(() => victims.some(({ said }) => said.some(isWarning)))))
          outcome.broken.push(`${run.id}: its worker never said that ${step} may have blocked it`)
        outcome.did()
      }
      await dismissed(victims, outcome)
    })
  },
}

const skew = (query) => new URL(`../skew.mjs?${query}`, import.meta.url).href
const HOUR = 3_600_000

export const clocks = {
  id: 'f9',
  title: 'The clock of a worker is an hour off, or jumps by an hour while it works',
  ...{ unit: 'workers with a wrong clock', count: 50, short: 0, seconds: 110 },
  checked: 'as F1; nothing fires early; no living worker is taken for dead',
  tests: [
    ['test/crash/promises.test.ts', '[X15] change nothing about timers, retries and leases'],
    [
      'test/conformance/clock.test.ts',
      '[X15] beside one whose clock is right loses no run to it, and takes none from it',
    ],
  ],
  async run(ground, count) {
    const more = (snapshot, world) => [...nothingEarly(snapshot), ...nobodyReaped(world.counters())]
    const options = { perWorld: 4, leaseMs: 10_000, more }
    return ground.worlds(count, options, async (world, share, outcome) => {
      const queries = [`ms=${HOUR}`, `ms=${-HOUR}`, `ms=${HOUR}&wall&afterMs=900`]
      queries.push(`ms=${-HOUR}&wall&afterMs=900`)
      const wrong = queries.slice(0, share).map((query) => world.spawn({ preload: skew(query) }))
      const victims = [...wrong, world.spawn()]
      await opened(victims)
      for (let round = 0; round < 3; round += 1) {
        const runs = victims.map(() => world.newRuns(...STEADY))
        for (const [i, victim] of victims.entries()) victim.tell({ runs: runs[i] })
        outcome.broken.push(...(await unended(victims, runs.flat())))
        await sleep(200)
      }
      outcome.did(wrong.length)
      await dismissed(victims, outcome)
    })
  },
}

export const outOfMemory = {
  id: 'f36',
  title: 'A step takes all the memory of its worker',
  ...{ unit: 'processes out of memory', count: 10, short: 1, seconds: 60 },
  checked: 'as F1; the transactional step before it took effect once',
  async run(ground, count) {
    return ground.worlds(count, { perWorld: 5 }, async (world, share, outcome) => {
      for (let i = 0; i < share && ground.goesOn(outcome, count); i += 1) {
        const victim = world.spawn({
          heapMb: ground.isShort ? 64 : 128,
          runs: world.newRuns('hog', 'chain', 'writer'),
        })
        const hard = setTimeout(() => victim.signal('SIGKILL'), 60_000)
        const { code, signal } = await victim.ended
        clearTimeout(hard)
        if (signal === 'SIGKILL' || code === 0)
          outcome.broken.push(`the process did not run out of memory: ${code ?? signal}`)
        outcome.did()
      }
    })
  },
}

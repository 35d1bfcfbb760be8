// Faults of hints, and of workers that do not have all the code.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { openProxy } from '../proxy.mjs'
import { crew, dismissed, opened, STEADY, unended } from './load.mjs'
import { executedOnce, startDelays } from './looks.mjs'

export const repeatedHints = {
  id: 'f11',
  title: 'Every hint is delivered three times',
  ...{ unit: 'hints', count: 10_000, short: 0, seconds: 150 },
  tests: [
    ['test/contract/interleavings.test.ts', 'many claimers at once give each run to one'],
    ['test/simulation/worlds.test.ts', 'random worlds keep every promise'],
    [
      'test/bullmq/bullmq.test.ts',
      '[F11] delivered three times, and again by BullMQ, execute nothing twice',
    ],
  ],
  checked: 'as F1; the second claimer gets nothing: no attempt of a step is executed twice',
  async run(ground, count) {
    const options = { perWorld: 1_500, leaseMs: 30_000, more: executedOnce }
    return ground.worlds(count, options, async (world, share, outcome) => {
      const echo = await openEcho(ground.url, `perdure_${world.name}`)
      const victims = await crew(world, 2, { pollMs: 1_000, concurrency: 20 })
      const [caller] = await crew(world, 1, { worker: false })
      let before = 0
      while (before < share && ground.goesOn(outcome, count)) {
        const runs = world.newRuns(...STEADY, ...STEADY)
        caller.tell({ runs })
        outcome.broken.push(...(await unended([caller], runs)))
        const heard = Math.min(echo.heard, share)
        outcome.did(heard - before)
        before = heard
      }
      await dismissed([...victims, caller], outcome)
      await echo.close()
    })
  },
}

/** Says everything twice more that is said on the channel by others. */
async function openEcho(connectionString, channel) {
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  await client.connect()
  const { rows } = await client.query('select pg_backend_pid() as pid')
  let saying = Promise.resolve()
  const echo = { heard: 0, close: () => saying.then(() => client.end()) }
  client.on('notification', ({ processId, payload }) => {
    if (processId === rows[0].pid) return
    echo.heard += payload.split(' ').length
    const again = () => client.query('select pg_notify($1, $2)', [channel, payload])
    saying = saying
      .then(again)
      .then(again)
      .catch(() => {})
  })
  await client.query(`listen "${channel}"`)
  return echo
}

/** In npm test it is shorter. */
const MUFFLED_MS = 60_000

export const lostHints = {
  id: 'f12',
  title: 'All hints to a worker are lost for a while',
  ...{ unit: 'workers without hints', count: 20, short: 2, seconds: 280 },
  tests: [
    [
      'test/bullmq/bullmq.test.ts',
      '[F12] that are all lost cost the time until the next poll, and no run',
    ],
  ],
  checked: 'as F1; for a minute runs begin by the poll alone, which is every second',
  async run(ground, count) {
    const muffledMs = ground.isShort ? 2_000 : MUFFLED_MS
    const more = (snapshot, _world, outcome) => {
      outcome.sample('start without hints', startDelays(snapshot))
      return executedOnce(snapshot)
    }
    const options = { perWorld: 5, leaseMs: 30_000, more }
    const outcome = await ground.worlds(count, options, async (world, share, outcome) => {
      const proxies = await Promise.all(Array.from({ length: share }, () => openProxy(ground.url)))
      try {
        const victims = proxies.map(({ url }) => world.spawn({ database: url, pollMs: 1_000 }))
        const [caller] = await crew(world, 1, { worker: false })
        await opened(victims)
        for (const proxy of proxies) proxy.muffle(true)
        const from = performance.now()
        const swallowed = () => proxies.reduce((sum, proxy) => sum + proxy.swallowed, 0)
        while (performance.now() < from + muffledMs || swallowed() === 0) {
          if (performance.now() > from + 2 * MUFFLED_MS || (ground.isOver && outcome.done > 0))
            break
          caller.tell({ runs: world.newRuns('chain', ground.pick(STEADY)) })
          await sleep(ground.between(50, 350))
        }
        outcome.did(share)
        const runs = [...world.runs].map(([id, kind]) => ({ id, kind }))
        outcome.broken.push(...(await unended([caller], runs)))
        if (swallowed() === 0) outcome.broken.push('no hint was on its way')
        outcome.note({ 'hints swallowed': swallowed() })
        await dismissed([...victims, caller], outcome)
      } finally {
        for (const proxy of proxies) await proxy.close()
      }
    })
    outcome.percentiles('start without hints', 1_500)
    return outcome
  },
}

/** Those of STEADY and what they call. */
const NAMES = [...STEADY, 'inner', 'square']

export const partialCode = {
  id: 'f16',
  title: 'Workers have only a part of the code',
  ...{ unit: 'workers with a part of the code', count: 50, short: 0, seconds: 90 },
  tests: [
    [
      'test/conformance/deploys.test.ts',
      '[P26] a run keeps its version: without a worker that has it, it shows as missing code and no other code runs',
    ],
  ],
  checked: 'as F1; runs of other code are left alone, pending or waiting, until somebody has it',
  async run(ground, count) {
    const options = { perWorld: 4, leaseMs: 30_000, more: executedOnce }
    return ground.worlds(count, options, async (world, share, outcome) => {
      // Some code nobody has, and each lacks some more.
      const nobody = NAMES.filter(() => ground.random() < 0.3)
      const without = Array.from({ length: share }, () =>
        NAMES.filter((name) => nobody.includes(name) || ground.random() < 0.4),
      )
      const partial = without.map((names) => world.spawn({ without: names }))
      await opened(partial)
      const [caller] = await crew(world, 1, { worker: false })
      caller.tell({ runs: world.newRuns(...STEADY, ...STEADY) })
      await sleep(ground.between(300, 900))
      const wrong = await world.query(
        "select id, def, status from @schema@.runs where status in ('failed', 'cancelled') or (owner is not null and def = any($1))",
        [nobody],
      )
      for (const { id, status } of wrong)
        outcome.broken.push(`${id}: ${status}, and nobody has its code`)
      const victims = await crew(world, 1)
      const runs = [...world.runs].map(([id, kind]) => ({ id, kind }))
      outcome.broken.push(...(await unended([caller], runs)))
      outcome.did(share)
      await dismissed([...partial, ...victims, caller], outcome)
    })
  },
}

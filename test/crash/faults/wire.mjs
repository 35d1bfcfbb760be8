// Faults of the way to the database, by a proxy that knows its protocol: lost calls, lost answers, silence, slowness.

import { setTimeout as sleep } from 'node:timers/promises'
import { openProxy } from '../proxy.mjs'
import { onServer } from './database.mjs'
import { crew, dismissed, opened, STEADY, unended, until } from './load.mjs'
import { nobodyReaped } from './looks.mjs'

const CUT_WITHIN_MS = 20_000

/** Cut after cut on one busy connection. */
async function cutting(ground, count, when) {
  const options = { perWorld: 100, leaseMs: 5_000, isReborn: true }
  return ground.worlds(count, options, async (world, share, outcome) => {
    const proxy = await openProxy(ground.url)
    try {
      const victims = await crew(world, 1, { database: proxy.url, concurrency: 40 })
      for (let i = 0; i < share && ground.goesOn(outcome, count); i += 1) {
        // Two of three in the group commit, one in the COMMIT of a transactional step.
        const what = i % 3 === 2 ? 'commit' : 'batch'
        const most = what === 'commit' ? 2 : 8
        proxy.cut(`${when} ${what}`, { skip: Math.floor(ground.random() * most) })
        victims[0].tell({ runs: world.newRuns('writer', ground.pick(STEADY)) })
        if (!(await until(() => proxy.cuts > 0, CUT_WITHIN_MS, 2)))
          outcome.broken.push(`no ${what} came within ${CUT_WITHIN_MS} ms`)
        outcome.note({ [`${when} ${what}`]: 1 })
        outcome.did()
      }
      const runs = [...world.runs].map(([id, kind]) => ({ id, kind }))
      outcome.broken.push(...(await unended(victims, runs)))
      await dismissed(victims, outcome)
    } finally {
      await proxy.close()
    }
  })
}

const cutTests = [
  [
    'test/crash/outage.test.ts',
    '[X04] [X05] before or after a commit leaves every start, signal, step and transaction applied once',
  ],
]

export const lostCommits = {
  id: 'f4',
  title: 'The connection is cut before a commit arrives',
  ...{ unit: 'cuts', count: 500, short: 0, seconds: 100 },
  checked: 'as F1; what was sent is sent again and applied once',
  tests: cutTests,
  run: (ground, count) => cutting(ground, count, 'before'),
}

export const lostAnswers = {
  id: 'f5',
  title: 'The connection is cut after a commit was applied: its answer is lost',
  ...{ unit: 'lost answers', count: 500, short: 0, seconds: 100 },
  checked: 'as F1; what was sent again finds what happened: nothing takes effect twice',
  tests: cutTests,
  run: (ground, count) => cutting(ground, count, 'after'),
}

/** Longer than an answer is waited for. */
const SILENT_MS = 17_000

export const holes = {
  id: 'f6',
  title: 'Half-open connections: everything stays connected and nothing arrives any more',
  ...{ unit: 'silent workers', count: 50, short: 0, seconds: 400 },
  checked:
    'as F1; connections are given up, also the one that listens; work goes on without a restart',
  tests: [
    [
      'test/crash/outage.test.ts',
      '[X04] by silence, for longer than an answer is waited for, costs a worker its lease and no run its end',
    ],
  ],
  async run(ground, count) {
    const options = { perWorld: 5, leaseMs: 1_500, isReborn: true }
    return ground.worlds(count, options, async (world, share, outcome) => {
      const proxies = []
      try {
        for (let i = 0; i < share; i += 1) proxies.push(await openProxy(ground.url))
        const silent = proxies.map(({ url }) => world.spawn({ database: url }))
        const victims = [...silent, world.spawn()]
        await opened(victims)
        for (const victim of victims) victim.tell({ runs: world.newRuns(...STEADY) })
        await sleep(ground.between(30, 200))
        const [{ at }] = await onServer(ground.url, 'select clock_timestamp() as at')
        // Some are heard again, of others only the new connections.
        for (const [i, proxy] of proxies.entries()) i % 2 === 0 ? proxy.hole(true) : proxy.bury()
        await sleep(SILENT_MS)
        for (const proxy of proxies) proxy.hole(false)
        const runs = [...world.runs].map(([id, kind]) => ({ id, kind }))
        outcome.broken.push(...(await unended(victims, runs, 90_000)))
        const buried = Math.floor(share / 2)
        if (!(await until(async () => (await listening(ground, world, at)) >= buried, 30_000, 200)))
          outcome.broken.push(`fewer than ${buried} listen again`)
        outcome.did(share)
        await dismissed(victims, outcome)
      } finally {
        for (const proxy of proxies) await proxy.close()
      }
    })
  },
}

/** Connections younger than that which listen for this world. */
async function listening(ground, world, at) {
  const [{ count }] = await onServer(
    ground.url,
    `select count(*)::int as count from pg_stat_activity
      where backend_start > $1 and (query like 'listen "perdure_' || $2 || '"%' or query = 'select 1')`,
    [at, world.name],
  )
  return count
}

export const slowness = {
  id: 'f20',
  title: 'The database is slow: every answer comes late',
  ...{ unit: 'seconds', count: 600, short: 4, seconds: 620 },
  checked:
    'as F1, with answers after 200 ms to 5 s; no lease of 30 s is lost; nobody owns more runs than it can execute',
  async run(ground, count) {
    const more = (_snapshot, world) => nobodyReaped(world.counters())
    const options = { perWorld: 60, leaseMs: 30_000, isSlow: true, more }
    return ground.worlds(count, options, async (world, share, outcome) => {
      const proxies = [await openProxy(ground.url), await openProxy(ground.url)]
      try {
        const orders = proxies.map(({ url }) => ({ database: url, concurrency: CONCURRENCY }))
        const victims = orders.map((order) => world.spawn(order))
        await opened(victims)
        const caller = world.spawn({ worker: false })
        await opened([caller])
        const most = ground.isShort ? 400 : ground.pick([400, 1_000, 2_500, 5_000])
        for (const proxy of proxies) proxy.late(() => ground.between(200, most))
        const from = performance.now()
        const past = () => Math.min(share, Math.floor((performance.now() - from) / 1_000))
        for (let told = 0; past() < share && (told === 0 || !ground.isOver); ) {
          caller.tell({ runs: world.newRuns('chain', 'writer', 'sleeper', 'queued') })
          await sleep(500)
          outcome.broken.push(...(await ownedTooMany(world)))
          outcome.did(past() - told)
          told = past()
        }
        for (const proxy of proxies) proxy.late(null)
        const runs = [...world.runs].map(([id, kind]) => ({ id, kind }))
        outcome.broken.push(...(await unended([caller], runs, 120_000)))
        await dismissed([...victims, caller], outcome)
      } finally {
        for (const proxy of proxies) await proxy.close()
      }
    })
  },
}

const CONCURRENCY = 8

async function ownedTooMany(world) {
  const rows = await world.query(
    'select owner, count(*)::int as count from @schema@.runs where owner is not null group by owner having count(*) > $1',
    [CONCURRENCY],
  )
  return rows.map(({ count }) => `a worker owns ${count} runs, and may execute ${CONCURRENCY}`)
}

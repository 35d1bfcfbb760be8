import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { databases, urlOf } from '../support/databases.js'
import type { Normal } from './checker.mjs'
import { type Kill, storm, undisturbed, verdict } from './storm.mjs'
import { type Snapshot, serverWorld, type Victim } from './world.mjs'

const skewed = (hours: number) =>
  new URL(`./skew.mjs?ms=${hours * 3_600_000}`, import.meta.url).href
const [server] = databases('postgres15', 'postgres18').filter(({ skip }) => skip === null)

const around = (name: string, hits: readonly number[]): readonly Kill[] =>
  hits.flatMap((hit) => [
    { point: `${name}.before`, hit },
    { point: `${name}.after`, hit },
  ])

const STEADY = ['sleeper', 'waiter', 'retried', 'all', 'queued', 'chain', 'writer'] as const
const KINDS = [...STEADY, 'stopped', 'family']
const url = server && server.skip === null ? urlOf(server) : ''
let normal: Normal = {}
beforeAll(async () => {
  if (!server) return
  await using world = await serverWorld({ url })
  normal = (await undisturbed(world, KINDS)).normal
})

describe.skipIf(!server).concurrent('a crash', () => {
  test('[X06] around the commit that starts a child leaves the child if and only if the parent has it, and its end is told once', async () => {
    await using world = await serverWorld({ url, leaseMs: 1_200 })
    const plan = around('commit', [2, 3, 4])
    const { kills } = await storm(world, plan, { slots: 2, kinds: ['queued', 'all'] })
    expect(Object.fromEntries(kills)).toEqual({ 'commit.before': 3, 'commit.after': 3 })
    expect(await verdict(world, normal)).toEqual([])
  })

  test('[X08] around a cancel of a run in an active step ends it as cancelled, and its parent is told once', async () => {
    await using world = await serverWorld({ url, leaseMs: 1_200 })
    const plan = [...around('message', [1, 2]), ...around('commit', [3, 5])]
    await storm(world, plan, { slots: 2, kinds: ['stopped', 'family'] })
    expect(await verdict(world, normal)).toEqual([])
    const { runs, messages } = await world.snapshot()
    const stopped = runs.filter(({ def }) => def === 'stopped')
    expect(new Set(stopped.map(({ status }) => status))).toEqual(new Set(['cancelled']))
    const children = stopped.filter(({ parent }) => parent !== null)
    const told = children.map(
      ({ uid }) => messages.filter((m) => m.kind === 'child' && m.meta?.uid === uid).length,
    )
    expect(new Set(told)).toEqual(new Set([1]))
  })

  test('[X12] before a commit makes no event of it heard; after a commit whoever finds the dead one tells its events', async () => {
    await using world = await serverWorld({ url, leaseMs: 1_200 })
    const plan = [
      ...around('commit', [2, 3, 4]),
      ...['transaction.close', 'transaction.closed', 'delivered.before', 'delivered.after'].map(
        (point) => ({ point, hit: 1 }),
      ),
    ]
    await storm(world, plan, { slots: 2, kinds: ['writer', 'chain'] })
    // The checker compares what was heard with the journal, both ways.
    expect(await verdict(world, normal)).toEqual([])
    expect(world.counters()['event.inherited']).toBeGreaterThan(0)
    const { ledger, events } = await world.snapshot()
    expect(toldByOthers(ledger, events)).toBeGreaterThan(0)
  })

  test('by its own step fails a run as WORKER_CRASHED after five in a row, and the runs beside it complete', async () => {
    await using world = await serverWorld({ url, leaseMs: 1_000 })
    const [poison] = world.newRuns('poison')
    if (!poison) throw new Error('no run')
    const isOver = async () => {
      const rows = await world
        .query('select status from @schema@.runs where id = $1', [poison.id])
        .catch(() => [])
      return rows[0]?.status === 'failed'
    }
    let lives = 0
    const slot = async (first: boolean): Promise<void> => {
      let mine = first ? [poison, ...world.newRuns('slow')] : world.newRuns('slow', 'slow')
      for (; lives < 30 && !(await isOver()); lives += 1) {
        const victim: Victim = world.spawn({ runs: mine })
        mine = mine.slice(0, 2)
        for (const end = Date.now() + 20_000; !victim.end && Date.now() < end; await sleep(50)) {
          if (await isOver()) victim.tell({ close: true })
        }
        victim.signal('SIGKILL')
        await victim.ended
      }
    }
    await Promise.all([slot(true), slot(false)])
    const innocent = world.spawn({
      closeWhenDriven: true,
      runs: [...world.runs].map(([id, kind]) => ({ id, kind })),
    })
    expect((await innocent.ended).code).toBe(0)
    const { runs, journal, ledger } = await world.snapshot()
    const dead = runs.find(({ id }) => id === poison.id)
    expect(dead).toMatchObject({ status: 'failed', crashes: 5 })
    const end = journal.findLast(({ uid }) => uid === dead?.uid)
    expect(JSON.parse(end?.payload ?? '{}')).toMatchObject({ code: 'WORKER_CRASHED' })
    const deadly = ledger.filter(({ run, step }) => run === poison.id && step === 'deadly')
    // Not by each of the five, if one was so slow that it was taken for dead before.
    expect(deadly.length).toBeLessThanOrEqual(5)
    expect(deadly.length).toBeGreaterThan(0)
    const others = runs.filter(({ id }) => id !== poison.id)
    expect(others.map(({ status }) => status)).toEqual(others.map(() => 'completed'))
    expect(world.counters()['run.crashLimit']).toBeGreaterThan(0)
  })
})

/** Ends heard from a life that has not executed the run's last step. */
function toldByOthers(ledger: Snapshot['ledger'], events: Snapshot['events']): number {
  return events.filter(({ name, runId, step, life }) => {
    const lives = ledger
      .filter((row) => row.run === runId && row.step === step)
      .map((row) => row.life)
    return name === 'step.completed' && lives.length > 0 && !lives.includes(life)
  }).length
}

describe.skipIf(!server).concurrent('clocks of workers an hour ahead and an hour behind', () => {
  test('[X15] change nothing about timers, retries and leases', async () => {
    await using world = await serverWorld({ url, leaseMs: 2_500 })
    const from = Date.now()
    const victims = [skewed(1), skewed(-1), null].map((preload) =>
      world.spawn(preload === null ? {} : { preload }),
    )
    for (const victim of victims) await victim.hear(({ open }) => open)
    for (const victim of victims) victim.tell({ runs: world.newRuns(...STEADY) })
    for (const [id] of world.runs) {
      const ends = victims.map((victim) => victim.hear(({ ended }) => ended === id, 30_000))
      await Promise.any(ends.map((end) => end.then((said) => said ?? Promise.reject())))
    }
    // None was taken for dead while all of them lived.
    const counters = world.counters()
    expect([counters['worker.reaped'], counters['worker.reborn']]).toEqual([0, 0])

    // One dies: the others find it by the database's clock, whatever theirs say.
    victims[0]?.tell({ runs: world.newRuns(...STEADY) })
    await sleep(100)
    victims[0]?.signal('SIGKILL')
    expect(await verdict(world, normal)).toEqual([])
    const { journal } = await world.snapshot()
    const to = Date.now()
    for (const { at, kind, meta } of journal) {
      expect(at).toBeGreaterThan(from - 1_000)
      expect(at).toBeLessThan(to + 1_000)
      if (kind !== 'timer.fired' && kind !== 'wait.withdrawn') continue
      expect(at - Number(meta?.dueAt)).toBeGreaterThanOrEqual(0)
    }
    for (const victim of victims.slice(1)) victim.tell({ close: true })
    for (const victim of victims.slice(1)) expect((await victim.ended).code).toBe(0)
  })
})

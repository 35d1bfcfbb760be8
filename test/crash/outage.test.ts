import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { databases, urlOf } from '../support/databases.js'
import { hasBinaries, startPostgres } from '../support/servers.mjs'
import type { Normal } from './checker.mjs'
import { type Cut, openProxy } from './proxy.mjs'
import { undisturbed, verdict } from './storm.mjs'
import { type Said, serverWorld, type Victim } from './world.mjs'

const KINDS = ['chain', 'sleeper', 'queued', 'all', 'writer', 'waiter', 'retried', 'race'] as const
const [server] = databases('postgres18', 'postgres15').filter(({ skip }) => skip === null)
// What a run becomes does not depend on the server.
let normal: Normal = {}
beforeAll(async () => {
  if (!server) return
  await using calm = await serverWorld({ url: urlOf(server) })
  normal = (await undisturbed(calm, KINDS)).normal
})

const versions = ([18, 15] as const).filter((version) => hasBinaries(version))

describe
  .skipIf(!server || versions.length === 0)
  .concurrent('a database that goes away and comes back', () => {
    const version = versions[0] ?? 18

    test('[X04] fails no run and loses none: work goes on by itself after fast and immediate restarts and after kill -9', async () => {
      const postgres = await startPostgres({ version })
      try {
        await using world = await serverWorld({ url: postgres.url, leaseMs: 3_000 })
        const victims = [world.spawn(), world.spawn()]
        for (const victim of victims) await victim.hear(({ open }) => open)
        const drivers = new Map(victims.map((victim) => [victim, new Set<string>()]))
        const fall = {
          fast: () => postgres.restart('fast'),
          immediate: () => postgres.restart('immediate'),
          kill: () => postgres.kill9().then(() => postgres.start()),
        }
        for (const how of ['fast', 'immediate', 'kill', 'fast', 'immediate', 'kill'] as const) {
          for (const victim of victims) {
            const runs = world.newRuns(...KINDS)
            for (const { id } of runs) drivers.get(victim)?.add(id)
            victim.tell({ runs })
          }
          await sleep(150)
          await fall[how]()
          await sleep(400)
        }
        for (const id of world.runs.keys()) {
          const by = [...drivers].filter(([, ids]) => ids.has(id)).map(([victim]) => victim)
          expect(`${id} ${await statusOf(by, id)}`).toBe(`${id} completed`)
        }
        expect(victims.map(({ end }) => end)).toEqual([undefined, undefined])
        for (const victim of victims) victim.tell({ close: true })
        for (const victim of victims) await victim.ended
        expect(await verdict(world, normal, { isReborn: true })).toEqual([])
        const counters = world.counters()
        expect(counters['commit.resent']).toBeGreaterThan(0)
      } finally {
        await postgres.stop()
      }
    })
  })

/** How a run has ended according to whichever victim drove it. */
async function statusOf(victims: readonly Victim[], id: string): Promise<string> {
  const ends = await Promise.all(victims.map((victim) => victim.hear(isAbout(id), 60_000)))
  const said = ends.find((end) => end !== null)
  return said?.status ?? JSON.stringify(said ?? 'nothing was heard of it')
}

const isAbout =
  (id: string) =>
  ({ ended, failed }: Said) =>
    ended === id || failed === id

describe.skipIf(!server).concurrent('a connection that is cut', () => {
  const url = server && server.skip === null ? urlOf(server) : ''
  const cuts: readonly (readonly [Cut, number])[] = [
    ...[0, 1, 2, 3, 5, 8].map((skip) => ['before batch', skip] as const),
    ...[0, 1, 2, 3, 5, 8].map((skip) => ['after batch', skip] as const),
    ...[0, 1, 2].map((skip) => ['before commit', skip] as const),
    ...[0, 1, 2].map((skip) => ['after commit', skip] as const),
    ...[0, 1].map((skip) => ['after claim', skip] as const),
  ]

  test('[X04] [X05] before or after a commit leaves every start, signal, step and transaction applied once', async () => {
    await using world = await serverWorld({ url, leaseMs: 5_000 })
    const proxy = await openProxy(url)
    try {
      const victim = world.spawn({ database: proxy.url, concurrency: 30 })
      await victim.hear(({ open }) => open)
      for (const [cut, skip] of cuts) {
        const runs = world.newRuns('writer', 'waiter', 'chain', 'queued')
        proxy.cut(cut, { skip })
        victim.tell({ runs })
        for (const { id } of runs) {
          const end = await victim.hear(({ ended }) => ended === id, 20_000)
          expect(`${cut} ${skip}: ${id} ${end?.status}`).toBe(`${cut} ${skip}: ${id} completed`)
        }
        // Claims come once in a while also when nothing is due.
        for (let i = 0; proxy.cuts === 0 && i < 40; i += 1) await sleep(50)
        expect(`${cut} ${skip}: ${proxy.cuts}`).toBe(`${cut} ${skip}: 1`)
      }
      victim.tell({ close: true })
      expect((await victim.ended).code).toBe(0)
    } finally {
      await proxy.close()
    }
    // A transaction whose commit did not arrive is executed again, by the same life.
    expect(await verdict(world, normal, { isReborn: true })).toEqual([])
    const counters = world.counters()
    expect(counters['commit.resent']).toBeGreaterThanOrEqual(5)
    expect(counters['answer.repeated']).toBeGreaterThanOrEqual(1)
    expect(counters['transaction.resolved']).toBeGreaterThanOrEqual(1)
  })

  test('[X05] whose answers to a start and to a claim are lost gives the runs to the worker all the same, once', async () => {
    await using world = await serverWorld({ url, leaseMs: 5_000 })
    const proxy = await openProxy(url)
    try {
      const victim = world.spawn({ database: proxy.url })
      const caller = world.spawn({ worker: false })
      for (const one of [victim, caller]) await one.hear(({ open }) => open)
      // Started here, and the answer is waited for in vain: adopted, executed, and only then sent again.
      const [silent] = world.newRuns('chain')
      if (!silent) throw new Error('no run')
      proxy.cut('mute batch')
      victim.tell({ runs: [silent] })
      for (let i = 0; i < 6; i += 1) {
        const runs = world.newRuns('chain', 'queued')
        await sleep(500)
        proxy.cut('after claim')
        caller.tell({ runs })
        for (const { id } of runs) expect(await statusOf([caller], id)).toBe('completed')
      }
      expect(await statusOf([victim], silent.id)).toBe('completed')
      await sleep(1_000)
      for (const one of [victim, caller]) one.tell({ close: true })
      for (const one of [victim, caller]) expect((await one.ended).code).toBe(0)
    } finally {
      await proxy.close()
    }
    expect(await verdict(world, normal)).toEqual([])
    const counters = world.counters()
    expect(counters['worker.adopted']).toBeGreaterThanOrEqual(2)
  })

  test('[X04] by silence, for longer than an answer is waited for, costs a worker its lease and no run its end', async () => {
    await using world = await serverWorld({ url, leaseMs: 1_500 })
    const proxy = await openProxy(url)
    try {
      const victim = world.spawn({ database: proxy.url })
      const other = world.spawn()
      await victim.hear(({ open }) => open)
      await other.hear(({ open }) => open)
      victim.tell({ runs: world.newRuns(...KINDS) })
      await sleep(60)
      proxy.hole(true)
      await sleep(17_000)
      proxy.hole(false)
      for (const id of world.runs.keys()) {
        const end = await victim.hear(({ ended }) => ended === id, 60_000)
        expect(`${id} ${end?.status}`).toBe(`${id} completed`)
      }
      for (const one of [victim, other]) one.tell({ close: true })
      for (const one of [victim, other]) expect((await one.ended).code).toBe(0)
    } finally {
      await proxy.close()
    }
    expect(await verdict(world, normal, { isReborn: true })).toEqual([])
    const counters = world.counters()
    expect(counters['worker.doubtful']).toBeGreaterThanOrEqual(1)
    expect(counters['worker.reborn']).toBeGreaterThanOrEqual(1)
  })
})

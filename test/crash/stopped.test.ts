import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { databases, urlOf } from '../support/databases.js'
import { undisturbed, verdict } from './storm.mjs'
import { serverWorld, type World } from './world.mjs'

const [server] = databases('postgres18', 'postgres15').filter(({ skip }) => skip === null)

async function until(world: World, id: string, fits: string): Promise<void> {
  for (const end = Date.now() + 30_000; Date.now() < end; await sleep(30)) {
    const found = await world.query(`select 1 from @schema@.runs where id = $1 and ${fits}`, [id])
    if (found.length > 0) return
  }
  throw new Error(`${id} did not become ${fits}`)
}

describe.skipIf(!server).concurrent('a worker stopped for longer than its lease', () => {
  const url = server && server.skip === null ? urlOf(server) : ''

  for (const [workers, when, fits] of [
    [2, 'is executing the run', 'epoch > 1 and owner is not null'],
    [3, 'is executing the run', 'epoch > 1 and owner is not null'],
    [2, 'has ended the run', 'finished_at is not null'],
    [3, 'has ended the run', 'finished_at is not null'],
  ] as const) {
    test(`[X02] cannot change a run of its own when it wakes up while another ${when} (${workers} workers): its write is stale, its step hears LEASE_LOST`, async () => {
      await using world = await serverWorld({ url, leaseMs: 1_000 })
      const [run] = world.newRuns('held')
      if (!run) throw new Error('no run')
      // The first commit is the start, the second the first result: it stops just before sending that.
      const zombie = world.spawn({ fault: 'commit.before:2:stop', runs: [run] })
      expect(await zombie.stopped()).toBe(true)
      const others = Array.from({ length: workers - 1 }, () => world.spawn())
      await until(world, run.id, fits)
      const before = await world.snapshot()

      zombie.signal('SIGCONT')
      expect(await zombie.hear(({ aborted }) => aborted)).toMatchObject({ code: 'LEASE_LOST' })
      expect(await zombie.hear(({ ended }) => ended)).toMatchObject({ status: 'completed' })
      expect(await zombie.hear(({ warn }) => warn?.includes('taken for dead'))).not.toBeNull()
      for (const victim of [zombie, ...others]) victim.tell({ close: true })
      for (const victim of [zombie, ...others]) expect((await victim.ended).code).toBe(0)

      const counters = world.counters()
      expect(counters['answer.stale']).toBeGreaterThanOrEqual(1)
      expect(counters['worker.reborn']).toBe(1)
      expect(counters['worker.reaped']).toBe(1)
      const after = await world.snapshot()
      expect(after.journal.slice(0, before.journal.length)).toEqual(before.journal)
      expect(after.journal.map(({ epoch }) => epoch).slice(1)).not.toContain(1)
      expect(await verdict(world, {}, { isReborn: true })).toEqual([])
    })
  }

  test('[X02] at any moment loses its runs to the others and changes none of them', async () => {
    const kinds = [
      'chain',
      'sleeper',
      'queued',
      'all',
      'writer',
      'waiter',
      'retried',
      'assembly',
    ] as const
    await using calm = await serverWorld({ url })
    const { normal } = await undisturbed(calm, kinds)
    await using world = await serverWorld({ url, leaseMs: 1_000 })
    const victims = Array.from({ length: 3 }, () => world.spawn())
    for (const victim of victims) await victim.hear(({ open }) => open)
    for (let round = 0; round < 6; round += 1) {
      for (const victim of victims) victim.tell({ runs: world.newRuns(...kinds) })
      await sleep(40 + round * 25)
      const stopped = victims[round % 3]
      stopped?.signal('SIGSTOP')
      await sleep(2_200)
      stopped?.signal('SIGCONT')
    }
    for (const victim of victims) victim.tell({ close: true })
    for (const victim of victims) expect((await victim.ended).code).toBe(0)
    expect(await verdict(world, normal, { isReborn: true })).toEqual([])
    const counters = world.counters()
    expect(counters['worker.reborn']).toBeGreaterThanOrEqual(3)
    expect(counters['worker.reaped']).toBeGreaterThanOrEqual(3)
  })
})

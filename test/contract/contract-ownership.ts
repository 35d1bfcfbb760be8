import { expect } from 'vitest'
import type { Store } from '../../src/kernel/store.js'
import { CRASHES_MAX, CRASHES_SUSPECT } from '../../src/model/limits.js'
import type { EntryKind } from '../../src/model/run.js'
import {
  cancel,
  claimAll,
  commit,
  ended,
  entry,
  fenceOf,
  kinds,
  mailOf,
  newRun,
  ownedRun,
  park,
  parked,
  parkedRun,
  signal,
  start,
  step,
  turn,
  viewOf,
  worker,
} from './builders.js'
import type { Case } from './store-contract.js'

export function ownershipContract(on: Case): void {
  on('claim gives a due run to one claimer, under the next epoch', async ({ store }) => {
    const [a, b] = [worker(), worker()]
    const delta = start({ tags: { k: 'v' }, timeoutMs: 1_000 })
    await commit(store, a, delta)
    const { now, claimed } = await store.claim(a, 10, 0)
    const { uid, id, workspace } = delta.run
    const view = await viewOf(store, delta.run)
    expect(claimed).toEqual([
      {
        uid,
        id,
        workspace,
        epoch: 1,
        seq: 1,
        inbox: 0,
        stop: null,
        crashes: 0,
        attempt: 1,
        definition: 'order',
        version: '1',
        tags: { k: 'v' },
        parentUid: null,
        parentId: null,
        createdAt: view.createdAt,
        startedAt: now,
        deadlineAt: view.createdAt + 1_000,
      },
    ])
    expect(view).toMatchObject({ status: 'running', owner: a.id, dueAt: null })
    expect(await claimAll(store, b)).toEqual([])
  })

  on('claim keeps the first start of a run', async ({ store, advance }) => {
    const by = worker()
    const run = await parkedRun(store, by)
    const { startedAt } = await viewOf(store, run)
    await advance(5_000)
    await commit(store, by, signal(run))
    expect(await claimAll(store, by)).toMatchObject([{ startedAt }])
  })

  on('claim takes higher priority first, then the longer due', async ({ store, advance }) => {
    const by = worker({
      definitions: ['a', 'b', 'c'].map((name) => ({ name, version: '1' })),
    })
    const priorities = [5, 0, 9, 5, 2, 9, 5]
    const deltas = priorities.map((priority, i) =>
      start({ priority, definition: ['a', 'b', 'c'][i % 3] ?? 'a' }),
    )
    for (const delta of deltas) {
      await commit(store, by, delta)
      await advance(10)
    }
    const order: number[] = []
    for (let i = 0; i < 4; i += 1) {
      for (const { uid } of await claimAll(store, by, 2)) {
        order.push(deltas.findIndex(({ run }) => run.uid === uid))
      }
    }
    expect(order).toEqual([2, 5, 0, 3, 6, 4, 1])
  })

  on('claim takes only what it has the code for', async ({ store }) => {
    const by = worker({ definitions: [{ name: 'order', version: '2' }] })
    const fits = start({ version: '2' })
    const unpinned = start({ version: null })
    await commit(store, by, start({ version: '1' }), fits, unpinned, start({ definition: 'other' }))
    const uids = (await claimAll(store, by)).map(({ uid }) => uid)
    expect(uids.sort()).toEqual([fits.run.uid, unpinned.run.uid].sort())
    expect(await claimAll(store, worker({ definitions: [] }))).toEqual([])
  })

  on('claim takes no more than its places', async ({ store }) => {
    const by = worker()
    await commit(store, by, ...Array.from({ length: 5 }, () => start()))
    expect(await claimAll(store, by, 0)).toEqual([])
    expect(await claimAll(store, by, 3)).toHaveLength(3)
    expect(await claimAll(store, by, 3)).toHaveLength(2)
  })

  on('claim tells when the next run becomes due', async ({ store, advance }) => {
    const by = worker()
    expect((await store.claim(by, 1, 0)).nextDueAt).toBeNull()
    const [soon, later] = [start({ delayMs: 5_000 }), start({ delayMs: 9_000, priority: 9 })]
    await commit(store, by, later, soon, start({ delayMs: 1_000, definition: 'other' }))
    const dueAt = (await viewOf(store, soon.run)).dueAt
    expect((await store.claim(by, 1, 0)).nextDueAt).toBe(dueAt)
    await advance(5_000)
    const claim = await store.claim(by, 1, 0)
    expect(claim.claimed).toHaveLength(1)
    expect(claim.nextDueAt).toBe((await viewOf(store, later.run)).dueAt)
  })

  on('claim takes cancelled runs and those past their deadline without any code', async (s) => {
    const { store, advance } = s
    const [by, nobody] = [worker(), worker({ definitions: [] })]
    const [cancelled, waits, late] = [
      await parkedRun(store, by),
      await parkedRun(store, by, { timeoutMs: 1_000 }),
      start({ timeoutMs: 500, delayMs: 500, version: null, definition: 'unknown' }),
    ]
    await commit(store, by, cancel(cancelled), late)
    expect(await claimAll(store, nobody)).toMatchObject([{ uid: cancelled.uid, stop: 'cancel' }])
    await advance(1_001)
    const claimed = await claimAll(store, nobody)
    expect(claimed.map(({ uid }) => uid).sort()).toEqual([waits.uid, late.run.uid].sort())
    expect(claimed.find(({ uid }) => uid === late.run.uid)?.version).toBeNull()
  })

  on('claim leaves out what its own build found diverged', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const diverged = (divergedBuild: string) => park({ reason: 'diverged', divergedBuild })
    await commit(store, by, turn(fenceOf(run, by), { next: diverged('b1') }))
    expect(await viewOf(store, run)).toMatchObject({ status: 'waiting', reason: 'diverged' })
    expect(await claimAll(store, by)).toEqual([])
    for (const [i, build] of ['a0', 'b2', 'c3'].entries()) {
      const newer = worker({ build })
      expect(await claimAll(store, newer)).toMatchObject([{ uid: run.uid, epoch: i + 2 }])
      await commit(store, newer, turn(fenceOf(run, newer, i + 2), { next: diverged(build) }))
    }
    for (const build of ['a0', 'b1', 'b2', 'c3']) {
      expect(await claimAll(store, worker({ build }))).toEqual([])
    }
    expect(await claimAll(store, worker({ build: 'b' }))).toHaveLength(1)
  })

  on(
    'load gives entries after `fromSeq` and untaken messages after `fromNo`',
    async ({ store }) => {
      const by = worker()
      const [run, silent] = [await ownedRun(store, by), await ownedRun(store, by)]
      await commit(store, by, step(fenceOf(run, by)), signal(run), signal(run), signal(run))
      const taken = turn(fenceOf(run, by, 1, 2), { entries: [entry({ name: 'b' })], taken: [2] })
      await commit(store, by, taken)
      const [first, second] = [fenceOf(run, by, 1, 77), fenceOf(silent, by)]
      const loaded = await store.load([
        { fence: first, fromSeq: 1, fromNo: 0 },
        { fence: second, fromSeq: 1, fromNo: 0 },
      ])
      expect(loaded.map(({ uid }) => uid)).toEqual([run.uid, silent.uid])
      expect(loaded[0]?.entries.map(({ seq, name }) => [seq, name])).toEqual([
        [2, 'charge'],
        [3, 'b'],
      ])
      expect(loaded[0]?.messages.map(({ no }) => no)).toEqual([1, 3])
      expect(loaded[1]).toMatchObject({ entries: [], messages: [] })
      const [rest] = await store.load([{ fence: first, fromSeq: 2, fromNo: 1 }])
      expect(rest?.entries.map(({ seq }) => seq)).toEqual([3])
      expect(rest?.messages.map(({ no }) => no)).toEqual([3])
      expect(await store.load([])).toEqual([])
    },
  )

  on('load gives a long journal in order', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const entries = Array.from({ length: 1_000 }, (_, i) => entry({ occurrence: i }))
    await commit(store, by, turn(fenceOf(run, by), { entries }))
    const [loaded] = await store.load([{ fence: fenceOf(run, by), fromSeq: 0, fromNo: 0 }])
    expect(loaded?.entries.map(({ seq }) => seq)).toEqual(
      entries.map((_, i) => i + 1).concat(1_001),
    )
  })

  on('load leaves out a run that is not owned under the fence any more', async ({ store }) => {
    const by = worker()
    const [kept, lost] = [await ownedRun(store, by), await parkedRun(store, by)]
    const what = [fenceOf(lost, by), fenceOf(kept, by), fenceOf(kept, by, 2), fenceOf(newRun(), by)]
    what.push(fenceOf(kept, worker()))
    const loaded = await store.load(what.map((fence) => ({ fence, fromSeq: 0, fromNo: 0 })))
    expect(loaded.map(({ uid }) => uid)).toEqual([kept.uid])
  })

  on('beat tells everything that the worker owns, known or not', async ({ store }) => {
    const by = worker()
    await store.join(by)
    const run = await ownedRun(store, by)
    const lost = await parkedRun(store, by)
    await commit(store, by, signal(lost), cancel(run))
    const [claimed] = await claimAll(store, by)
    const beat = await store.beat(by)
    expect(beat.alive).toBe(true)
    expect(beat.now).toBeTypeOf('number')
    const adopted = beat.owned.find(({ uid }) => uid === lost.uid)
    expect(adopted).toMatchObject({ epoch: 2, inbox: 1, stop: null })
    expect(adopted?.row).toEqual(claimed)
    expect(beat.owned.find(({ uid }) => uid === run.uid)).toMatchObject({
      epoch: 1,
      inbox: 1,
      stop: 'cancel',
    })
    expect(beat.owned).toHaveLength(2)
  })

  on('beat of a worker without a row is not alive', async ({ store }) => {
    const by = worker()
    expect(await store.beat(by)).toMatchObject({ alive: false, owned: [] })
    await store.join(by)
    expect((await store.beat(by)).alive).toBe(true)
  })

  on('leave gives its runs back at once, without a crash', async ({ store }) => {
    const [by, other] = [worker(), worker()]
    await store.join(by)
    const [fresh, begun] = [await ownedRun(store, by), await ownedRun(store, by)]
    await commit(store, by, step(fenceOf(begun, by)))
    await store.leave(by)
    expect((await store.beat(by)).alive).toBe(false)
    expect(await viewOf(store, fresh)).toMatchObject({ status: 'pending', owner: null, crashes: 0 })
    expect(await viewOf(store, begun)).toMatchObject({ status: 'waiting', owner: null, crashes: 0 })
    expect(await claimAll(store, other)).toHaveLength(2)
    expect(await kinds(store, by, step(fenceOf(begun, by, 1, 2)))).toEqual(['stale'])
    await store.leave(by)
  })

  on(
    'reap deletes only unmoved workers whose lease is over, by the database clock',
    async ({ store, advance }) => {
      const [dead, alive] = [worker({ leaseMs: 1_000 }), worker({ leaseMs: 60_000 })]
      await store.join(dead)
      await store.join(alive)
      const run = await ownedRun(store, dead)
      const first = await store.reap([], true)
      expect(first.workers.map(({ id }) => id).sort()).toEqual([dead.id, alive.id].sort())
      const seen = first.workers
      expect(await store.reap(seen, true)).toMatchObject({ dead: [], freed: 0 })
      await store.beat(dead)
      await advance(1_001)
      expect(await store.reap(seen, true)).toMatchObject({ dead: [], freed: 0 })
      const { workers } = await store.reap([], true)
      expect(await store.reap(workers, true)).toMatchObject({ dead: [dead.id], freed: 1 })
      expect(await viewOf(store, run)).toMatchObject({ owner: null, crashes: 1, status: 'pending' })
      expect(await store.reap(workers, true)).toMatchObject({ dead: [], freed: 0 })
      expect((await store.beat(dead)).alive).toBe(false)
      expect((await store.beat(alive)).alive).toBe(true)
      expect(await claimAll(store, alive)).toMatchObject([{ uid: run.uid, epoch: 2, crashes: 1 }])
    },
  )

  on('[X15] reap lets nobody die by a jump of the clock who still beats', async (s) => {
    const { store, advance } = s
    const by = worker({ leaseMs: 30_000 })
    await store.join(by)
    const { workers } = await store.reap([], true)
    await advance(3_600_000)
    await store.beat(by)
    expect(await store.reap(workers, true)).toMatchObject({ dead: [], freed: 0 })
    expect((await store.beat(by)).alive).toBe(true)
  })

  on('reap frees the runs of every owner without a row, also late ones', async ({ store }) => {
    const [zombie, alive] = [worker(), worker()]
    await store.join(alive)
    const kept = await ownedRun(store, alive)
    const late = await ownedRun(store, zombie)
    expect((await store.reap([], true)).freed).toBe(1)
    expect((await viewOf(store, kept)).owner).toBe(alive.id)
    expect(await viewOf(store, late)).toMatchObject({ owner: null, crashes: 1 })
    expect(await kinds(store, zombie, step(fenceOf(late, zombie)))).toEqual(['stale'])
  })

  on('crashes are counted by reap only, and an outcome sets them to 0', async ({ store }) => {
    const outcomes: EntryKind[] = ['step.completed', 'step.failed', 'timer.fired', 'message.taken']
    for (const kind of [...outcomes, 'child.ended'] as EntryKind[]) {
      const run = await crashed(store, 1)
      const by = worker()
      const [claimed] = await claimAll(store, by)
      expect(claimed).toMatchObject({ uid: run.uid, crashes: 1 })
      const asked = turn(fenceOf(run, by, 2), { entries: [entry({ kind: 'step.asked' })] })
      await commit(store, by, asked)
      expect((await viewOf(store, run)).crashes).toBe(1)
      await commit(store, by, turn(fenceOf(run, by, 2, 2), { entries: [entry({ kind })] }))
      expect((await viewOf(store, run)).crashes).toBe(0)
      await commit(store, by, ended(fenceOf(run, by, 2, 3)))
    }
  })

  on('claim takes no more suspects than allowed, and none hides another run', async ({ store }) => {
    const by = worker()
    await crashed(store, CRASHES_SUSPECT)
    await crashed(store, CRASHES_SUSPECT + 1)
    await commit(store, by, start())
    const none = await store.claim(by, 10, 0)
    expect(none.claimed).toMatchObject([{ crashes: 0 }])
    expect((await store.claim(by, 10, 1)).claimed).toHaveLength(1)
    expect((await store.claim(by, 10, 2)).claimed).toHaveLength(1)
  })

  on('claim takes runs over the crash limit without their code', async ({ store }) => {
    const run = await crashed(store, CRASHES_MAX)
    const nobody = worker({ definitions: [] })
    expect((await store.claim(nobody, 10, 0)).claimed).toMatchObject([
      { uid: run.uid, crashes: CRASHES_MAX },
    ])
  })

  on('reap hands the undelivered events of the dead on, once', async ({ store, advance }) => {
    const [dead, heir] = [worker({ leaseMs: 100 }), worker()]
    await store.join(dead)
    const delta = start()
    const fed = { resent: false, feed: true }
    const heard = await store.commit(dead, [start()], fed)
    await store.delivered([heard.feedId ?? 0])
    const first = await store.commit(dead, [delta], fed)
    await store.join(heir)
    const { workers } = await store.reap([], true)
    await advance(101)
    const reaped = await store.reap(
      workers.filter(({ id }) => id === dead.id),
      true,
    )
    expect(reaped.inheritedIds).toEqual([first.feedId])
    const { uid, id, workspace, definition } = delta.run
    expect(reaped.inherited).toMatchObject([
      {
        uid,
        id,
        workspace,
        definition,
        entry: { seq: 1, kind: 'run.created', payload: '{"a":1}' },
      },
    ])
    expect((await store.reap([], true)).inheritedIds).toEqual([])
    await store.delivered(reaped.inheritedIds)
  })

  on('a message that came between claim and load is loaded', async ({ store }) => {
    const by = worker()
    const run = await parkedRun(store, by)
    await commit(store, by, signal(run))
    const [claimed] = await claimAll(store, by)
    expect(claimed?.inbox).toBe(1)
    await commit(store, worker(), signal(run))
    expect(await mailOf(store, fenceOf(run, by, 2))).toHaveLength(2)
  })

  on('a message that came between load and park makes the run due', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    expect(await mailOf(store, fenceOf(run, by))).toEqual([])
    await commit(store, worker(), signal(run))
    const [answer] = await commit(store, by, parked(fenceOf(run, by), { seen: 0 }))
    expect(answer).toMatchObject({ kind: 'done', inbox: 1 })
    expect(await claimAll(store, by)).toHaveLength(1)
  })
}

/** A due run whose owners have died so many times. */
async function crashed(store: Store, times: number) {
  const run = await ownedRun(store, worker())
  for (let crashes = 1; ; crashes += 1) {
    await store.reap([], true)
    expect((await viewOf(store, run)).crashes).toBe(crashes)
    if (crashes === times) return run
    expect((await store.claim(worker(), 100, 100)).claimed.map(({ uid }) => uid)).toContain(run.uid)
  }
}

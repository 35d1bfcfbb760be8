// Turns that only add entries, of a worker with a row: an SQL store does not touch the rows of their runs (0002, C7),
// and nobody may be able to tell.

import { expect } from 'vitest'
import type { Fence, Store, Worker } from '../../src/kernel/store.js'
import {
  claimAll,
  commit,
  ended,
  entry,
  fenceOf,
  historyOf,
  kinds,
  ownedRun,
  parked,
  RESENT,
  signal,
  step,
  turn,
  viewOf,
  worker,
} from './builders.js'
import type { Case } from './store-contract.js'

export function plainContract(on: Case): void {
  on('one after the other is stored, and seen by whoever looks', async ({ store }) => {
    const by = await joined(store)
    const run = await ownedRun(store, by)
    const before = await viewOf(store, run)
    for (const seq of [1, 2, 3]) await commit(store, by, step(fenceOf(run, by, 1, seq)))
    const after = await viewOf(store, run)
    expect(after).toMatchObject({ seq: 4, status: 'running', owner: by.id })
    expect(after.updatedAt).toBeGreaterThanOrEqual(before.updatedAt)
    expect((await historyOf(store, run)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4])
    const { owned } = await store.beat(by)
    expect(owned.map(({ row }) => row.seq)).toEqual([4])
  })

  on('is stale under another epoch or seq, and writes nothing', async ({ store }) => {
    const by = await joined(store)
    const run = await ownedRun(store, by)
    for (const seq of [1, 2]) await commit(store, by, step(fenceOf(run, by, 1, seq)))
    const good = fenceOf(run, by, 1, 3)
    const wrong: Fence[] = [
      { ...good, epoch: 2 },
      ...[0, 1, 2, 4].map((seq) => ({ ...good, seq })),
      { ...good, owner: worker().id },
    ]
    for (const fence of wrong) expect(await kinds(store, by, step(fence))).toEqual(['stale'])
    for (const fence of wrong) expect(await kinds(store, by, parked(fence))).toEqual(['stale'])
    expect(await historyOf(store, run)).toHaveLength(3)
    expect(await kinds(store, by, step(good))).toEqual(['done'])
  })

  on('[X05] sent again it is repeated, wherever the run is by then', async ({ store }) => {
    const by = await joined(store)
    const [goes, parks] = [await ownedRun(store, by), await ownedRun(store, by)]
    const both = [goes, parks].map((run) => step(fenceOf(run, by)))
    await commit(store, by, ...both)
    const again = async () => (await store.commit(by, both, RESENT)).answers
    const done = { kind: 'done', repeated: true }
    expect(await again()).toMatchObject([done, done])
    await commit(store, by, step(fenceOf(goes, by, 1, 2)), parked(fenceOf(parks, by, 1, 2)))
    expect(await again()).toMatchObject([done, done])
    expect(await historyOf(store, goes)).toHaveLength(3)
    expect(await historyOf(store, parks)).toHaveLength(3)
  })

  on('sent again beside one that is new, only the new one is written', async ({ store }) => {
    const by = await joined(store)
    const [old, fresh] = [await ownedRun(store, by), await ownedRun(store, by)]
    const [first, second] = [step(fenceOf(old, by)), step(fenceOf(fresh, by))]
    await commit(store, by, first)
    const { answers } = await store.commit(by, [first, second], RESENT)
    expect(answers).toMatchObject([
      { kind: 'done', repeated: true },
      { kind: 'done', repeated: false },
    ])
    expect(await historyOf(store, old)).toHaveLength(2)
    expect(await historyOf(store, fresh)).toHaveLength(2)
  })

  on('the next turn that parks or ends goes on from it', async ({ store }) => {
    const by = await joined(store)
    const [parks, ends] = [await ownedRun(store, by), await ownedRun(store, by)]
    for (const run of [parks, ends]) {
      const entries = [entry(), entry({ name: 'second' })]
      await commit(store, by, turn(fenceOf(run, by), { entries }))
    }
    expect(
      await kinds(store, by, parked(fenceOf(parks, by, 1, 3)), ended(fenceOf(ends, by, 1, 3))),
    ).toEqual(['done', 'done'])
    expect(await viewOf(store, parks)).toMatchObject({ seq: 4, status: 'waiting' })
    expect(await viewOf(store, ends)).toMatchObject({ seq: 4, status: 'completed' })
  })

  on('answers with the mailbox and the stop', async ({ store }) => {
    const by = await joined(store)
    const run = await ownedRun(store, by)
    await commit(store, worker(), signal(run))
    const [answer] = await commit(store, by, step(fenceOf(run, by)))
    expect(answer).toMatchObject({ kind: 'done', inbox: 1, stop: null })
  })

  on('a worker that leaves or dies gives back what it has stored', async (s) => {
    const { store, advance } = s
    const [leaves, dies, heir] = [worker(), worker({ leaseMs: 1_000 }), worker()]
    await store.join(heir)
    for (const by of [leaves, dies]) {
      await store.join(by)
      const run = await ownedRun(store, by)
      for (const seq of [1, 2]) await commit(store, by, step(fenceOf(run, by, 1, seq)))
      if (by === leaves) await store.leave(by)
      else {
        const { workers } = await store.reap([], true)
        await advance(1_001)
        expect(await store.reap(workers, true)).toMatchObject({ dead: [by.id], freed: 1 })
      }
      expect(await viewOf(store, run)).toMatchObject({ seq: 3, status: 'waiting', owner: null })
      const [claimed] = await claimAll(store, heir)
      expect(claimed).toMatchObject({ uid: run.uid, seq: 3, epoch: 2 })
      expect(await kinds(store, by, step(fenceOf(run, by, 1, 3)))).toEqual(['stale'])
      expect(await kinds(store, heir, step(fenceOf(run, heir, 2, 3)))).toEqual(['done'])
    }
  })

  on('an outcome sets the crashes to 0', async ({ store }) => {
    const [zombie, by] = [worker(), await joined(store)]
    const run = await ownedRun(store, zombie)
    await store.reap([], true)
    await claimAll(store, by)
    const asked = turn(fenceOf(run, by, 2), { entries: [entry({ kind: 'step.asked' })] })
    await commit(store, by, asked)
    expect((await viewOf(store, run)).crashes).toBe(1)
    await commit(store, by, step(fenceOf(run, by, 2, 2)))
    expect((await viewOf(store, run)).crashes).toBe(0)
  })
}

async function joined(store: Store): Promise<Worker> {
  const by = worker()
  await store.join(by)
  return by
}

// Fork and retention.

import { expect } from 'vitest'
import type { ForkPlan, NewRun, Store, Worker } from '../../src/kernel/store.js'
import type { Uid } from '../../src/model/ids.js'
import {
  child,
  claimAll,
  claimedStart,
  commit,
  ended,
  entry,
  fenceOf,
  historyOf,
  newId,
  newMessage,
  newUid,
  ownedRun,
  parked,
  parkedRun,
  signal,
  turn,
  viewOf,
  worker,
} from './builders.js'
import type { Case } from './store-contract.js'

const plan = (of: NewRun, changes: Partial<ForkPlan> = {}): ForkPlan => {
  const [uid, upTo] = [newUid(), changes.upTo ?? 1]
  const meta = { bornWith: upTo, forkOf: of.uid, seed: of.uid }
  const names = { of: of.uid, uid, id: newId('fork') }
  return { ...names, upTo, meta, input: null, outputs: [], forgetsChild: [], ...changes }
}

/** created, charge, child.started, message.taken, child.ended, ship, then it is over. */
async function longRun(store: Store, by: Worker): Promise<NewRun> {
  const run = await ownedRun(store, by, { tags: { a: 'b' }, priority: 7, timeoutMs: 60_000 })
  await commit(store, by, signal(run))
  const kid = 'kid' as string as Uid
  const entries = [
    entry({ payload: '"charged"', meta: { undoable: true } }),
    entry({ kind: 'child.started', name: 'kid', meta: { uid: kid, target: 'mail' } }),
    entry({ kind: 'message.taken', name: 'go', meta: { no: 1, id: 'm', message: 'go' } }),
    entry({ kind: 'child.ended', name: 'kid', meta: { no: 2, uid: kid, status: 'completed' } }),
    entry({ name: 'ship', payload: '"shipped"' }),
  ]
  await commit(store, by, turn(fenceOf(run, by), { entries, taken: [1] }))
  await commit(store, by, ended(fenceOf(run, by, 1, 6)))
  return run
}

export function forkContract(on: Case): void {
  on(
    'a fork is a pending run with a copy of the first entries, and the other is as it was',
    async ({ store }) => {
      const by = worker()
      const run = await longRun(store, by)
      const [was, history] = [await viewOf(store, run), await historyOf(store, run)]
      const fork = plan(run, { upTo: 5, input: '{"a":2}', outputs: [{ seq: 2, payload: '"new"' }] })
      expect(await store.fork(fork)).toEqual({ kind: 'done' })
      expect(await store.fork(fork)).toEqual({ kind: 'done' })
      expect(await viewOf(store, run)).toEqual(was)
      expect(await historyOf(store, run)).toEqual(history)

      const forked = { ...run, uid: fork.uid, id: fork.id }
      const view = await viewOf(store, forked)
      expect(view).toMatchObject({
        status: 'pending',
        seq: 5,
        attempt: 1,
        tags: { a: 'b' },
        definition: 'order',
        version: '1',
        input: '{"a":2}',
        parentUid: null,
        startedAt: was.startedAt,
      })
      expect(view.deadlineAt).toBe(view.createdAt + 60_000)
      const copy = await historyOf(store, forked)
      expect(copy.map(({ kind }) => kind)).toEqual(history.slice(0, 5).map(({ kind }) => kind))
      expect(copy[0]).toMatchObject({ meta: fork.meta, payload: '{"a":2}', at: history[0]?.at })
      expect(copy[1]).toMatchObject({ payload: '"new"', meta: { inherited: true } })
      expect(copy[2]?.meta).toEqual({ uid: 'kid', target: 'mail' })
      // The messages were taken from the mailbox of the other: this one begins at 1.
      expect(copy[3]?.meta).toEqual({ id: 'm', message: 'go' })
      expect(copy[4]?.meta).toEqual({ uid: 'kid', status: 'completed', inherited: true })
      expect(await commit(store, by, signal(forked))).toMatchObject([
        { kind: 'done', messageNo: 1 },
      ])
      expect(await claimAll(store, by)).toMatchObject([
        { uid: fork.uid, epoch: 1, seq: 5, inbox: 1 },
      ])
    },
  )

  on('a fork forgets the children that were open at its point', async ({ store }) => {
    const run = await longRun(store, worker())
    const fork = plan(run, { upTo: 3, forgetsChild: [3] })
    await store.fork(fork)
    const copy = await historyOf(store, { ...run, uid: fork.uid })
    expect(copy.map(({ meta }) => meta)).toEqual([
      fork.meta,
      { inherited: true },
      { target: 'mail' },
    ])
  })

  on(
    'a fork under an id that is taken says by whom, and whether it is the same fork',
    async ({ store }) => {
      const by = worker()
      const run = await longRun(store, by)
      const fork = plan(run, { upTo: 3 })
      await store.fork(fork)
      const exists = { kind: 'exists', uid: fork.uid, definition: 'order' }
      const { id } = fork
      expect(await store.fork(plan(run, { upTo: 3, id }))).toEqual({ ...exists, same: true })
      expect(await store.fork(plan(run, { upTo: 2, id }))).toEqual({ ...exists, same: false })
      const input = '{"a":3}'
      expect(await store.fork(plan(run, { upTo: 3, id, input }))).toEqual({
        ...exists,
        same: false,
      })
      expect(await store.fork(plan(run, { id: run.id }))).toMatchObject({
        uid: run.uid,
        same: false,
      })
      expect(await store.fork(plan({ ...run, uid: newUid() }))).toEqual({ kind: 'gone' })
    },
  )

  on(
    'prune deletes what ended long ago, with its journal and its mail, and nothing else',
    async (s) => {
      const { store } = s
      const by = worker()
      const old = await longRun(store, by)
      const open = await parkedRun(store, by)
      await commit(store, by, signal(open, newMessage()))
      await s.advance(10_000)
      const young = await longRun(store, by)
      expect(await sweep(store, 20_000)).toBe(0)
      expect(await sweep(store, 5_000)).toBe(1)
      expect(await store.read.get(old.workspace, old.id)).toBeNull()
      expect(await historyOf(store, old)).toEqual([])
      expect(await viewOf(store, young)).toMatchObject({ status: 'completed' })
      expect(await claimAll(store, by)).toMatchObject([{ uid: open.uid, inbox: 1 }])
      // Its id is free, and what belonged to the other does not come back.
      const again = claimedStart({ id: old.id })
      expect(await commit(store, by, again)).toMatchObject([{ kind: 'done', uid: again.run.uid }])
      expect(await commit(store, by, signal(again.run, { id: 'm' as never }))).toMatchObject([
        { kind: 'done', messageNo: 1, repeated: false },
      ])
    },
  )

  on('prune keeps the children of a run that is to stay', async (s) => {
    const { store } = s
    const by = worker()
    const run = await ownedRun(store, by)
    const kid = child(run)
    const started = turn(fenceOf(run, by), {
      entries: [entry()],
      starts: [{ ...kid, claim: true }],
    })
    await commit(store, by, started)
    await commit(store, by, ended(fenceOf(kid.run, by)))
    await s.advance(10_000)
    expect(await sweep(store, 5_000)).toBe(0)
    await commit(store, by, ended(fenceOf(run, by, 1, 2)))
    expect(await sweep(store, 5_000)).toBe(0)
    await s.advance(10_000)
    expect(await sweep(store, 5_000)).toBe(2)
  })

  on('prune goes on where it stopped until all is looked at', async (s) => {
    const { store } = s
    const by = worker()
    const runs = Array.from({ length: 250 }, () => claimedStart())
    await commit(store, by, ...runs)
    await commit(store, by, ...runs.map(({ run }) => ended(fenceOf(run, by))))
    await commit(store, by, ...Array.from({ length: 20 }, () => claimedStart({ id: newId() })))
    await s.advance(10_000)
    expect(await sweep(store, 5_000)).toBe(250)
    expect((await store.beat(by)).owned).toHaveLength(20)
  })

  on('a run that was deleted has no ghost: what its owner still writes is stale', async (s) => {
    const by = worker()
    const run = await ownedRun(s.store, by)
    await commit(s.store, by, ended(fenceOf(run, by)))
    await s.advance(10_000)
    await sweep(s.store, 5_000)
    const late = parked(fenceOf(run, by, 1, 1))
    expect(await commit(s.store, by, late)).toEqual([{ kind: 'stale' }])
    const [mail] = await commit(s.store, by, signal(run))
    expect(mail).toMatchObject({ kind: 'refused', code: 'RUN_NOT_FOUND' })
  })
}

/** One whole sweep; how many runs it has deleted. */
async function sweep(store: Store, keepMs: number): Promise<number> {
  let pruned = 0
  let after: Uid | null = null
  do {
    const part = await store.prune(keepMs, after)
    pruned += part?.pruned ?? 0
    after = part?.next ?? null
  } while (after !== null)
  return pruned
}

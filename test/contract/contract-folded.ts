// Entries that a store may keep as one row: whoever reads them reads each.

import { expect } from 'vitest'
import type { NewRun, Store, Worker } from '../../src/kernel/store.js'
import type { Entry, NewMessage } from '../../src/model/run.js'
import {
  claimAll,
  commit,
  end,
  ended,
  fenceOf,
  historyOf,
  kinds,
  newId,
  newMessage,
  newUid,
  parkedRun,
  RESENT,
  reacted,
  signal,
  stateBehind,
  turn,
  viewOf,
  worker,
} from './builders.js'
import { beginning, changesFrom } from './contract-streams.js'
import type { Case } from './store-contract.js'

interface Reacting {
  readonly by: Worker
  readonly run: NewRun
  readonly messages: readonly NewMessage[]
  /** What each entry has to be. */
  readonly entries: readonly Pick<Entry, 'seq' | 'kind' | 'name' | 'payload' | 'meta'>[]
}

const AT = 1_700_000_000_000

/** created, parked, then three reactions in two commits: entries 3 to 14. */
async function reacting(store: Store, areNew: boolean): Promise<Reacting> {
  const by = worker()
  await store.join(by)
  const run = await parkedRun(store, by)
  const first = await historyOf(store, run)
  const messages = ['A', 'B', 'x'].map((name) => newMessage({ kind: 'trigger', name }))
  const [a, ...others] = messages
  const deltas = [
    reacted(fenceOf(run, by, 1, 2), {
      brings: { inbox: 0, messages: a ? [a] : [], areNew },
      round: 1,
      at: AT,
    }),
    reacted(fenceOf(run, by, 1, 6), {
      brings: { inbox: 1, messages: others, areNew },
      round: 2,
      at: AT + 5,
    }),
  ]
  for (const delta of deltas) expect(await kinds(store, by, delta)).toEqual(['done'])
  const entries = deltas.flatMap((delta) => delta.entries)
  const numbered = entries.map((one, i) => ({ ...one, seq: i + 3 }))
  return { by, run, messages, entries: [...first, ...numbered] }
}

export function foldedContract(on: Case): void {
  on('each of them is in the history, from either end and in pages of any size', async (s) => {
    const { store } = s
    const { run, entries } = await reacting(store, true)
    expect(await historyOf(store, run)).toEqual(entries)
    expect(await viewOf(store, run)).toMatchObject({
      ...{ seq: 14, status: 'waiting', owner: null, place: 'open' },
      state: stateBehind(2),
    })
    for (let limit = 1; limit <= 6; limit += 1) {
      for (let after = 0; after <= 15; after += 1) {
        const page = { after: after || null, limit }
        const older = await store.read.history(run.uid, { ...page, newestFirst: false })
        expect(older).toEqual(entries.filter(({ seq }) => seq > after).slice(0, limit))
        const newer = await store.read.history(run.uid, { ...page, newestFirst: true })
        const before = entries.filter(({ seq }) => after === 0 || seq < after)
        expect(newer).toEqual(before.toReversed().slice(0, limit))
      }
    }
  })

  on('each checkpoint among them is one', async ({ store }) => {
    const { run, entries } = await reacting(store, true)
    const points = entries.filter(({ meta }) => meta?.checkpoint !== undefined)
    expect(points.map(({ seq }) => seq)).toEqual([4, 8])
    for (const limit of [1, 2, 5]) {
      for (let after = 0; after <= 15; after += 1) {
        const page = { after: after || null, limit }
        const older = await store.read.checkpoints(run.uid, { ...page, newestFirst: false })
        expect(older).toEqual(points.filter(({ seq }) => seq > after).slice(0, limit))
        const newer = await store.read.checkpoints(run.uid, { ...page, newestFirst: true })
        const before = points.filter(({ seq }) => after === 0 || seq < after)
        expect(newer).toEqual(before.toReversed().slice(0, limit))
      }
    }
  })

  on('events that have changed nothing are no checkpoints, however many there are', async (s) => {
    const { store } = s
    const { by, run } = await reacting(store, true)
    const names = ['x', 'x', 'x', 'x', 'x', 'D', 'x', 'x', 'x', 'x', 'x', 'x']
    const messages = names.map((name) => newMessage({ kind: 'trigger', name }))
    const brings = { inbox: 3, messages, areNew: true }
    const delta = reacted(fenceOf(run, by, 1, 14), { brings, round: 4, at: AT })
    expect(await kinds(store, by, delta)).toEqual(['done'])
    const seqs = [4, 8, 14 + 5 * 4 + 2]
    for (const limit of [1, 2, 3, 4]) {
      const from = { after: null, limit }
      const seqsOf = async (newestFirst: boolean) =>
        (await store.read.checkpoints(run.uid, { ...from, newestFirst })).map(({ seq }) => seq)
      expect(await seqsOf(false)).toEqual(seqs.slice(0, limit))
      expect(await seqsOf(true)).toEqual(seqs.toReversed().slice(0, limit))
    }
  })

  on(
    'a load from the beginning has what the last of them left, one behind an entry all after it',
    async (s) => {
      const { store } = s
      const { by, run, entries } = await reacting(store, true)
      await commit(store, by, signal(run), signal(run))
      expect(await claimAll(store, by)).toMatchObject([
        { uid: run.uid, epoch: 2, seq: 14, inbox: 5 },
      ])
      const fence = fenceOf(run, by, 2, 14)
      const [whole] = await store.load([{ fence, fromSeq: 0, fromNo: 0 }])
      expect(whole?.entries).toEqual(entries.filter(({ seq }) => seq < 2 || seq > 12))
      // What has no row any more was taken.
      expect(whole).toMatchObject({ messages: [{ no: 4 }, { no: 5 }], taken: 3 })
      for (let fromSeq = 1; fromSeq <= 14; fromSeq += 1) {
        const [loaded] = await store.load([{ fence, fromSeq, fromNo: 4 }])
        expect(loaded?.entries ?? []).toEqual(entries.filter(({ seq }) => seq > fromSeq))
      }
      const takes = turn(fence, { entries: [], refused: [5], next: { kind: 'go' } })
      expect(await kinds(store, by, takes)).toEqual(['done'])
      const [later] = await store.load([{ fence, fromSeq: 0, fromNo: 0 }])
      expect(later).toMatchObject({ messages: [{ no: 4 }], taken: 5 })
    },
  )

  on('sent again they are repeated, and one that comes too late is stale', async ({ store }) => {
    const by = worker()
    await store.join(by)
    const run = await parkedRun(store, by)
    const brings = { inbox: 0, messages: [newMessage(), newMessage()], areNew: true }
    const delta = reacted(fenceOf(run, by, 1, 2), { brings, round: 1 })
    expect(await kinds(store, by, delta)).toEqual(['done'])
    expect((await store.commit(by, [delta], RESENT)).answers).toMatchObject([
      { kind: 'done', repeated: true },
    ])
    const late = reacted(fenceOf(run, by, 1, 6), { brings, round: 1 })
    expect((await store.commit(by, [late], RESENT)).answers).toEqual([{ kind: 'stale' }])
    expect(await historyOf(store, run)).toHaveLength(10)
  })

  on('what was told to be stale when it was sent again is never stored', async ({ store }) => {
    const [by, reborn] = [worker(), worker()]
    await store.join(by)
    await store.join(reborn)
    const run = await parkedRun(store, by)
    const brings = { inbox: 0, messages: [newMessage()], areNew: true }
    const delta = reacted(fenceOf(run, by, 1, 2), { brings, round: 1 })
    // It is not theirs: so it is for ever, whenever the first sending arrives.
    expect((await store.commit(reborn, [delta], RESENT)).answers).toEqual([{ kind: 'stale' }])
    expect(await kinds(store, by, delta)).toEqual(['stale'])
    expect(await historyOf(store, run)).toHaveLength(2)
    await commit(store, by, signal(run))
    expect(await claimAll(store, by)).toMatchObject([{ uid: run.uid, epoch: 3, seq: 2, inbox: 1 }])
  })

  on('an id that others know is refused a second time, and told what came of it', async (s) => {
    const { store } = s
    const { by, run, messages } = await reacting(store, false)
    const again = messages.map((message) => ({ ...signal(run), message }))
    expect(await commit(store, by, ...again)).toMatchObject(
      messages.map((_, i) => ({ kind: 'done', messageNo: i + 1, repeated: true })),
    )
    const called = await store.called(messages.map((_, i) => ({ uid: run.uid, no: i + 1 })))
    expect(called.toSorted((a, b) => a.no - b.no)).toMatchObject(
      [1, 2, 3].map((n) => ({
        ...{ no: n, fate: 'taken' },
        reply: { kind: 'step.completed', payload: `[${stateBehind(n)},1]` },
      })),
    )
  })

  on('a fork at any of them has what is before it', async ({ store }) => {
    const { run, entries } = await reacting(store, true)
    for (const upTo of [3, 4, 5, 6, 8, 14]) {
      const uid = newUid()
      const meta = { bornWith: upTo, forkOf: run.uid, seed: run.uid }
      const names = { of: run.uid, uid, id: newId('fork') }
      const outputs = upTo === 8 ? [{ seq: 8, payload: '"edited"' }] : []
      await store.fork({ ...names, upTo, meta, input: null, outputs, forgetsChild: [] })
      const copy = await historyOf(store, { ...run, uid })
      expect(copy.map(({ seq, kind, name }) => [seq, kind, name])).toEqual(
        entries.slice(0, upTo).map(({ seq, kind, name }) => [seq, kind, name]),
      )
      expect(copy[3]?.payload ?? null).toBe(upTo > 3 ? (entries[3]?.payload ?? null) : null)
      if (upTo === 8)
        expect(copy[7]).toMatchObject({ payload: '"edited"', meta: { inherited: true } })
      if (upTo > 2) expect(copy[2]?.meta).not.toHaveProperty('no')
    }
  })

  on('a run that is read whole and put elsewhere has them all, and goes on there', async (s) => {
    const { store } = s
    const { by, run, entries } = await reacting(store, true)
    await commit(store, by, signal(run, { payload: '"next"' }))
    const [record] = await store.runRecords([run.uid])
    if (!record) throw new Error('not read')
    expect(record).toMatchObject({ seq: 14, inbox: 4, taken: 3, messages: [{ no: 4 }] })
    const moved = { ...record, uid: newUid(), id: newId('moved') }
    async function* pages() {
      yield [moved]
    }
    expect(await store.putRuns(pages(), false)).toEqual({ put: 1, taken: [] })
    expect(await store.runRecords([moved.uid])).toEqual([moved])
    expect(await historyOf(store, { ...run, uid: moved.uid })).toEqual(entries)
    const claimed = await claimAll(store, by)
    expect(claimed.map(({ uid }) => uid)).toContain(moved.uid)
    const fence = { uid: moved.uid, owner: by.id, epoch: 2, seq: 14 }
    expect(await store.load([{ fence, fromSeq: 0, fromNo: 0 }])).toMatchObject([
      { messages: [{ no: 4, payload: '"next"' }], taken: 3 },
    ])
    const takes = turn(fence, { entries: [], refused: [4], next: { kind: 'go' } })
    expect(await kinds(store, by, takes)).toEqual(['done'])
    expect(await store.called([{ uid: moved.uid, no: 4 }])).toMatchObject([{ fate: 'refused' }])
  })

  on('who follows and who inherits hears of each', async ({ store, advance }) => {
    const heir = worker()
    const dead = worker({ leaseMs: 100 })
    await store.join(heir)
    await store.join(dead)
    const run = await parkedRun(store, dead)
    const from = await beginning(store)
    const brings = { inbox: 0, messages: [newMessage(), newMessage()], areNew: true }
    const delta = reacted(fenceOf(run, dead, 1, 2), { brings, round: 1 })
    await store.commit(dead, [delta], { resent: false, feed: true })
    const expected = delta.entries.map(({ kind, name }, i) => [i + 3, kind, name])
    const { found } = await changesFrom(store, from, 8)
    expect(found.map(({ entry: of }) => [of?.seq, of?.kind, of?.name])).toEqual(expected)
    const { workers } = await store.reap([], true)
    await advance(101)
    const reaped = await store.reap(
      workers.filter(({ id }) => id === dead.id),
      true,
    )
    expect(reaped.inherited.map(({ entry: of }) => [of.seq, of.kind, of.name, of.payload])).toEqual(
      delta.entries.map(({ kind, name, payload }, i) => [i + 3, kind, name, payload]),
    )
  })

  on('they are among the newest, and their steps are counted', async ({ store }) => {
    const { by, run, entries } = await reacting(store, true)
    for (const limit of [1, 2, 3, 5, 9]) {
      const recent = (await store.read.recent([run.uid], limit)).get(run.uid)
      expect(recent?.map(({ seq, kind }) => [seq, kind])).toEqual(
        entries
          .toReversed()
          .slice(0, limit)
          .map(({ seq, kind }) => [seq, kind]),
      )
    }
    await commit(store, by, signal(run))
    await claimAll(store, by)
    await commit(store, by, ended(fenceOf(run, by, 2, 14), { ...end() } as never))
    const of = { workspace: 'default', definition: 'order', from: null }
    const most = { runsMax: 10, entriesMax: 10, entriesOfAll: 100 }
    const { runs, isWhole, steps } = await store.read.stepCounts({ ...of, ...most })
    expect([runs, isWhole]).toEqual([1, true])
    expect(steps.map(({ name, executions }) => [name, executions])).toEqual([
      ['charge', 1],
      ['m/A', 1],
      ['m/B', 1],
      ['m/x', 1],
    ])
    const cut = await store.read.stepCounts({ ...of, ...most, entriesMax: 2 })
    expect([cut.isWhole, cut.steps.length]).toEqual([false, 2])
  })
}

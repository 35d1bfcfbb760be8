// Batches of nothing but what messages have done without the bodies of their runs: a store may have a way of its own for them.

import { expect } from 'vitest'
import type { NewRun, Next, Store, TurnDelta, Worker } from '../../src/kernel/store.js'
import type { Instant } from '../../src/model/run.js'
import {
  cancel,
  claimAll,
  commit,
  entry,
  fenceOf,
  historyOf,
  newMessage,
  park,
  parked,
  parkedRun,
  RESENT,
  reacted,
  signal,
  start,
  stateBehind,
  turn,
  viewOf,
  worker,
} from './builders.js'
import { beginning, changesFrom } from './contract-streams.js'
import type { Case } from './store-contract.js'

interface Events {
  readonly by: Worker
  readonly seq?: number
  readonly inbox?: number
  readonly round?: number
  readonly at?: Instant
  readonly epoch?: number
  readonly next?: Next
}

/** One event for each name; those with the name x change nothing. */
function events(run: NewRun, names: readonly string[], facts: Events): TurnDelta {
  const { by, seq = 2, inbox = 0, round = 1, at = 1_000, epoch = 1, next } = facts
  const messages = names.map((name) => newMessage({ kind: 'trigger', name }))
  const brings = { inbox, messages, areNew: true }
  return reacted(fenceOf(run, by, epoch, seq), { brings, round, at, ...(next && { next }) })
}

/** Runs that wait: epoch 1, seq 2. */
async function waiting(store: Store, by: Worker, count: number): Promise<NewRun[]> {
  const runs: NewRun[] = []
  for (let i = 0; i < count; i += 1) runs.push(await parkedRun(store, by))
  return runs
}

export function reactedContract(on: Case): void {
  on('each of them has its own answer, in any order', async ({ store }) => {
    const by = worker()
    await store.join(by)
    const [a, b, c, d, e] = await waiting(store, by, 5)
    if (!a || !b || !c || !d || !e) throw new Error('too few')
    await commit(store, by, cancel(d))
    const deltas = [
      events(a, ['A'], { by, at: 5_000 }),
      events(b, ['A', 'B', 'x'], { by, at: -7, round: 3 }),
      events(c, ['A'], { by, seq: 6 }),
      events(d, ['A'], { by }),
      events(e, ['x'], { by, at: 9_000_000_000_000 }),
    ]
    const order = [3, 1, 4, 2, 0]
    const answers = await commit(store, by, ...order.flatMap((i) => deltas[i] ?? []))
    const done = (inbox: number) => ({ kind: 'done', inbox, stop: null, repeated: false })
    const stale = { kind: 'stale' }
    expect(answers).toMatchObject([stale, done(3), done(1), stale, done(1)])
    for (const [run, delta, state] of [
      [a, deltas[0], stateBehind(1)],
      [b, deltas[1], stateBehind(4)],
      [e, deltas[4], null],
    ] as const) {
      const made = (delta?.entries ?? []).map((one, i) => ({ ...one, seq: i + 3 }))
      expect((await historyOf(store, run)).slice(2)).toEqual(made)
      const place = state && 'open'
      expect(await viewOf(store, run)).toMatchObject({
        ...{ status: 'waiting', reason: 'signal', seq: made.length + 2, state, place },
      })
    }
    for (const run of [c, d]) expect(await historyOf(store, run)).toHaveLength(2)
  })

  on('what a run shows is told anew each time', async ({ store }) => {
    const by = worker()
    await store.join(by)
    const [a, b] = await waiting(store, by, 2)
    if (!a || !b) throw new Error('too few')
    // One of them has shown something before.
    await commit(store, by, signal(b))
    await claimAll(store, by)
    const shown = { state: '"old"', at: { place: 'shut', error: '"e"' } }
    const first = turn(fenceOf(b, by, 2, 2), { entries: [entry()], taken: [1], shown })
    await commit(store, by, { ...first, next: park({ seen: 1 }) })
    const two = events(b, ['A'], { by, epoch: 2, seq: 3, inbox: 1, round: 7 })
    expect(await commit(store, by, events(a, ['A'], { by }), two)).toMatchObject([
      { kind: 'done', inbox: 1 },
      { kind: 'done', inbox: 2 },
    ])
    const open = { place: 'open', error: null }
    expect(await viewOf(store, a)).toMatchObject({ ...open, state: stateBehind(1) })
    expect(await viewOf(store, b)).toMatchObject({ ...open, state: stateBehind(7) })
    const later = events(a, ['x', 'x', 'B', 'x'], { by, seq: 6, inbox: 1, round: 2 })
    expect(await commit(store, by, later)).toMatchObject([{ kind: 'done', inbox: 5 }])
    expect(await viewOf(store, a)).toMatchObject({ ...open, state: stateBehind(4), seq: 22 })
  })

  on('they leave what they leave among others', async ({ store }) => {
    const by = worker()
    await store.join(by)
    const names = ['A', 'x', 'B']
    const facts = { by, at: 77, round: 5 }
    const [alone, among] = await waiting(store, by, 2)
    if (!alone || !among) throw new Error('too few')
    const other = await commit(store, by, events(among, names, facts), start())
    const own = await commit(store, by, events(alone, names, facts))
    expect(own).toMatchObject([{ ...other[0], uid: alone.uid }])
    const without = async (run: NewRun) => {
      const [, , ...entries] = await historyOf(store, run)
      return JSON.stringify(entries).replace(/"id":"[^"]*"/g, '')
    }
    expect(await without(alone)).toBe(await without(among))
    const { uid: _a, id: _b, createdAt: _c, updatedAt: _d, ...view } = await viewOf(store, alone)
    expect(await viewOf(store, among)).toMatchObject({ ...view, startedAt: expect.anything() })
  })

  on('one that waits for a time, or for children, is due then', async ({ store, advance }) => {
    const by = worker()
    await store.join(by)
    const [a, b] = await waiting(store, by, 2)
    if (!a || !b) throw new Error('too few')
    const { now } = await store.claim(by, 0, 0)
    const timed = events(a, ['A'], { by, next: park({ seen: 1, dueAt: now + 60_000 }) })
    const child = events(b, ['A'], { by, next: park({ seen: 1, reason: 'child' }) })
    await commit(store, by, timed, child)
    expect(await viewOf(store, b)).toMatchObject({ reason: 'child', dueAt: null })
    expect(await claimAll(store, by)).toEqual([])
    const again = events(a, ['B'], { by, seq: 6, inbox: 1, round: 2 })
    await advance(60_001)
    // What is due comes first.
    expect(await commit(store, by, again)).toEqual([{ kind: 'stale' }])
    expect(await claimAll(store, by)).toMatchObject([{ uid: a.uid, epoch: 2, seq: 6, inbox: 1 }])
  })

  on('sent again each is what it was, and is never stored behind stale', async ({ store }) => {
    const [by, reborn] = [worker(), worker()]
    await store.join(by)
    const [a, b, c] = await waiting(store, by, 3)
    if (!a || !b || !c) throw new Error('too few')
    const deltas = [a, b].map((run) => events(run, ['A', 'B'], { by }))
    await commit(store, by, ...deltas)
    const third = events(c, ['A'], { by })
    const all = [...deltas, third]
    const repeated = { kind: 'done', inbox: 2, repeated: true }
    expect((await store.commit(reborn, all, RESENT)).answers).toMatchObject([
      ...[repeated, repeated],
      { kind: 'stale' },
    ])
    expect(await commit(store, by, third)).toEqual([{ kind: 'stale' }])
    expect((await store.commit(by, all, RESENT)).answers.map(({ kind }) => kind)).toEqual([
      ...['done', 'done', 'stale'],
    ])
    expect(await historyOf(store, c)).toHaveLength(2)
    expect(await historyOf(store, a)).toHaveLength(10)
  })

  on('listeners and followers hear of those that were stored', async ({ store }) => {
    const by = worker()
    await store.join(by)
    const [a, b] = await waiting(store, by, 2)
    if (!a || !b) throw new Error('too few')
    const from = await beginning(store)
    const deltas = [events(a, ['A', 'B'], { by }), events(b, ['A'], { by, seq: 1 })]
    const { feedId, answers } = await store.commit(by, deltas, { resent: false, feed: true })
    expect(feedId).not.toBeNull()
    expect(answers.map(({ kind }) => kind)).toEqual(['done', 'stale'])
    const { found } = await changesFrom(store, from, 8)
    expect(found.map(({ runId, entry: of }) => [runId, of?.seq])).toEqual(
      [3, 4, 5, 6, 7, 8, 9, 10].map((seq) => [a.id, seq]),
    )
    const none = await store.commit(by, deltas.slice(1), { resent: false, feed: true })
    expect(none).toMatchObject({ feedId: null, claimed: [], isAsking: false })
  })

  on('a load finds the last of them, whatever the body has done behind it', async ({ store }) => {
    const by = worker()
    await store.join(by)
    const [run] = await waiting(store, by, 1)
    if (!run) throw new Error('too few')
    await commit(store, by, events(run, ['A', 'B'], { by }))
    const seqs = async (epoch: number, seq: number) => {
      const fence = fenceOf(run, by, epoch, seq)
      const [loaded] = await store.load([{ fence, fromSeq: 0, fromNo: 0 }])
      return loaded?.entries.map((one) => one.seq)
    }
    await commit(store, by, signal(run))
    await claimAll(store, by)
    expect(await seqs(2, 10)).toEqual([1, 9, 10])
    // A round of the body that has not ended, in several turns.
    const begun = turn(fenceOf(run, by, 2, 10), { entries: [entry(), entry()], taken: [3] })
    await commit(store, by, { ...begun, next: { kind: 'go' } })
    expect(await seqs(2, 12)).toEqual([1, 9, 10, 11, 12])
    // And one that has.
    const round = entry({ kind: 'round.ended', name: 'm@3', meta: { behind: [2, 12] } })
    await commit(store, by, turn(fenceOf(run, by, 2, 12), { entries: [round] }))
    expect(await seqs(2, 13)).toEqual([1, 13])
    await commit(store, by, parked(fenceOf(run, by, 2, 13), { seen: 3 }))
    await commit(store, by, events(run, ['A'], { by, epoch: 2, seq: 14, inbox: 3, round: 4 }))
    await commit(store, by, signal(run))
    await claimAll(store, by)
    expect(await seqs(3, 18)).toEqual([1, 17, 18])
  })
}

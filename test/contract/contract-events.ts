// Triggers that are refused, events, and waits for them and for the ends of runs.

import { expect } from 'vitest'
import type { EventWait, NewEvent, NewRun, Store, Worker } from '../../src/kernel/store.js'
import type { RunId, Uid } from '../../src/model/ids.js'
import type { Heard } from '../../src/model/program.js'
import {
  commit,
  ended,
  fenceOf,
  mailOf,
  newId,
  ownedRun,
  PLAIN,
  park,
  parkedRun,
  RESENT,
  signal,
  step,
  turn,
  viewOf,
  worker,
} from './builders.js'
import { type Case, TRANSACTIONAL } from './store-contract.js'

const event = (changes: Partial<NewEvent> = {}): NewEvent => ({
  id: newId('event'),
  name: 'paid',
  keys: ['id=a', 'sum=1'],
  payload: '"paid"',
  ...changes,
})
const wait = (heard: Heard, changes: Partial<EventWait> = {}): EventWait => ({
  name: 'event:paid',
  occurrence: 1,
  since: 0,
  heard,
  ...changes,
})
const PAID: Heard = { event: 'paid', match: [] }

/** A run that says what it waits for. */
async function listening(store: Store, by: Worker, waits: readonly EventWait[], of = {}) {
  const run = await ownedRun(store, by, of)
  await commit(store, by, step(fenceOf(run, by), { waits }))
  return run
}
const uidsOf = (found: readonly { readonly uid: Uid }[]): readonly Uid[] =>
  found.map(({ uid }) => uid).sort()
const sorted = (...runs: readonly NewRun[]): readonly Uid[] => uidsOf(runs)

export function eventContract(on: Case): void {
  on(
    'a trigger is taken, refused or left, and its caller hears which; a refused one is not loaded again',
    async ({ store }) => {
      const by = worker()
      const run = await ownedRun(store, by)
      const calls = [1, 2, 3].map(() => signal(run, { kind: 'trigger', meta: { within: 5 } }))
      await commit(store, by, ...calls)
      const all = [1, 2, 3].map((no) => ({ uid: run.uid, no }))
      expect(await store.called(all)).toEqual([])
      const delta = step(fenceOf(run, by), { taken: [1], refused: [3] })
      await store.commit(by, [delta], PLAIN)
      await store.commit(by, [delta], RESENT)
      const decided = [
        { uid: run.uid, no: 1, fate: 'taken', reply: null },
        { uid: run.uid, no: 3, fate: 'refused', reply: null },
      ]
      expect(await store.called(all)).toEqual(decided)
      expect((await mailOf(store, fenceOf(run, by))).map(({ no }) => no)).toEqual([2])
      // Without an entry, too, when the run rests.
      const rest = turn(fenceOf(run, by, 1, 2), { refused: [2], next: park({ seen: 3 }) })
      await store.commit(by, [rest], PLAIN)
      await store.commit(by, [rest], RESENT)
      expect(await store.called([{ uid: run.uid, no: 2 }])).toMatchObject([{ fate: 'refused' }])
    },
  )

  on('a trigger that nobody took is over with its run', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    await commit(store, by, signal(run, { kind: 'trigger' }))
    await commit(store, by, ended(fenceOf(run, by)))
    expect(await store.called([{ uid: run.uid, no: 1 }])).toEqual([
      { uid: run.uid, no: 1, fate: 'finished', reply: null },
    ])
  })

  on(
    'an event finds the waits of its workspace that match all of its keys, until they have heard',
    async ({ store }) => {
      const by = worker()
      const every = await listening(store, by, [wait(PAID)])
      const exact = await listening(store, by, [
        wait({ event: 'paid', match: ['id=a', 'sum=1'] }),
        wait({ event: 'refunded', match: [] }, { name: 'event:refunded' }),
      ])
      await listening(store, by, [wait({ event: 'paid', match: ['id=b'] })])
      await listening(store, by, [wait({ event: 'paid', match: ['id=a', 'sum=2'] })])
      await listening(store, by, [wait(PAID)], { workspace: 'other' })
      expect(await store.fanOut(100)).toEqual([])

      await store.emit('default', event(), null)
      const found = await store.fanOut(100)
      expect(uidsOf(found)).toEqual(sorted(every, exact))
      expect(found.find(({ uid }) => uid === every.uid)).toEqual({
        uid: every.uid,
        to: { workspace: every.workspace, id: every.id },
        name: 'event:paid',
        occurrence: 1,
        message: 'paid',
        payload: '"paid"',
      })
      expect(uidsOf(await store.fanOut(100))).toEqual(sorted(every, exact))
      expect(await store.fanOut(1)).toHaveLength(1)
      await store.heard(found)
      expect(await store.fanOut(100)).toEqual([])
      await store.emit('default', event(), null)
      expect(await store.fanOut(100)).toEqual([])
    },
  )

  on(
    'an event is for who waited when it happened, also one that is not yet known to',
    async (s) => {
      const { store, advance } = s
      const by = worker()
      await store.emit('default', event({ id: 'early' }), null)
      expect(await store.fanOut(100)).toEqual([])
      await advance(1_000)
      const run = await ownedRun(store, by)
      const since = (await viewOf(store, run)).createdAt
      await advance(1_000)
      await store.emit('default', event({ id: 'now', payload: '"now"' }), null)
      expect(await store.fanOut(100)).toEqual([])
      // It was asked for before the event, and is stored after it.
      await commit(store, by, step(fenceOf(run, by), { waits: [wait(PAID, { since })] }))
      expect(await store.fanOut(100)).toMatchObject([{ uid: run.uid, payload: '"now"' }])
      await advance(1_000)
      const late = await ownedRun(store, by)
      const after = (await viewOf(store, late)).createdAt
      await commit(store, by, step(fenceOf(late, by), { waits: [wait(PAID, { since: after })] }))
      expect(uidsOf(await store.fanOut(100))).toEqual([run.uid])
    },
  )

  on('what a run waits for is replaced as a whole, by turns that count', async ({ store }) => {
    const by = worker()
    const run = await listening(store, by, [wait(PAID)])
    const other = { event: 'other', match: [] }
    const stale = turn(fenceOf(run, by, 1, 1), { waits: [wait(PAID, { occurrence: 7 })] })
    expect(await commit(store, by, stale)).toMatchObject([{ kind: 'stale' }])
    await commit(
      store,
      by,
      step(fenceOf(run, by, 1, 2), { waits: [wait(other, { name: 'event:other' })] }),
    )
    await store.emit('default', event(), null)
    expect(await store.fanOut(100)).toEqual([])
    await store.emit('default', event({ name: 'other' }), null)
    expect(await store.fanOut(100)).toMatchObject([{ name: 'event:other', message: 'other' }])
    await commit(store, by, step(fenceOf(run, by, 1, 3), { waits: [] }))
    expect(await store.fanOut(100)).toEqual([])
  })

  on('a turn emits once, however often it is sent; so does an id', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const quoted = event({ id: 'e-1', payload: '"it\'s \\"so\\" \u2028"', keys: ['a="b\\\\'] })
    const delta = step(fenceOf(run, by), { events: [quoted, event({ name: 'second' })] })
    await store.commit(by, [delta], PLAIN)
    await store.commit(by, [delta], RESENT)
    await store.emit('default', event({ id: 'e-1', payload: '"another"' }), null)
    const hearing = await listening(store, by, [
      wait({ event: 'paid', match: ['a="b\\\\'] }),
      wait({ event: 'second', match: [] }, { name: 'event:second' }),
    ])
    const found = await store.fanOut(100)
    // Event and wait may find each other from both sides.
    expect(new Set(found.map(({ payload }) => payload))).toEqual(
      new Set([quoted.payload, '"paid"']),
    )
    expect(new Set(uidsOf(found))).toEqual(new Set([hearing.uid]))
  })

  on('a stale turn emits nothing', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    await commit(store, by, turn(fenceOf(run, by, 9), { events: [event()] }))
    await listening(store, by, [wait(PAID)])
    expect(await store.fanOut(100)).toEqual([])
  })

  on(
    'an event inside a transaction happens with it',
    async ({ store }) => {
      const by = worker()
      const run = await listening(store, by, [wait(PAID)])
      for (const how of ['rollback', 'commit'] as const) {
        const transaction = await store.begin(5_000)
        await store.emit('default', event(), { client: transaction, isOurs: true })
        await transaction[how]()
        expect(uidsOf(await store.fanOut(100))).toEqual(how === 'commit' ? [run.uid] : [])
      }
    },
    TRANSACTIONAL,
  )

  on(
    'a wait for the end of a run knows how that has ended, or that there is none, page by page',
    async ({ store }) => {
      const by = worker()
      const target = await parkedRun(store, by)
      const of = (id: RunId) => wait({ run: id }, { name: `result of ${id}` })
      const first = await listening(store, by, [of(target.id)])
      const second = await listening(store, by, [of('nobody' as RunId)])
      const third = await listening(store, by, [of(target.id)], { workspace: 'other' })
      const all = await store.awaited(null, 100)
      expect(all.map(({ uid, message }) => [uid, message])).toEqual([
        [first.uid, null],
        [second.uid, 'unknown'],
        [third.uid, 'unknown'],
      ])
      expect(await store.awaited(first.uid, 1)).toMatchObject([{ uid: second.uid }])
      expect(await store.fanOut(100)).toEqual([])
      const other = worker()
      await commit(store, by, signal(target))
      await store.claim(other, 10, 10)
      await commit(store, other, ended(fenceOf(target, other, 2, 2)))
      expect(await store.awaited(null, 1)).toMatchObject([
        { uid: first.uid, message: 'completed', payload: '"ok"', name: `result of ${target.id}` },
      ])
    },
  )

  on('a pruned run waits for nothing', async ({ store, advance }) => {
    const by = worker()
    const run = await listening(store, by, [wait(PAID)])
    await commit(store, by, ended(fenceOf(run, by, 1, 2)))
    await advance(10_000)
    await store.prune(1_000, null)
    await store.emit('default', event(), null)
    expect(await store.fanOut(100)).toEqual([])
  })
}

// What a run shows: its documents, its place, error and state.

import { expect } from 'vitest'
import type { ForkPlan, NewRun, Store, TurnDelta, Worker } from '../../src/kernel/store.js'
import type { NewDocument } from '../../src/model/run.js'
import {
  commit,
  documentsOf,
  ended,
  entry,
  fenceOf,
  kinds,
  newDocument,
  newId,
  newUid,
  ownedRun,
  park,
  RESENT,
  step,
  turn,
  viewOf,
  worker,
} from './builders.js'
import { type Case, TRANSACTIONAL } from './store-contract.js'

/** One entry that writes these. */
function writing(run: NewRun, by: Worker, seq: number, documents: readonly NewDocument[]) {
  const written = documents.map((document) => ({ document, entry: 1 }))
  return step(fenceOf(run, by, 1, seq), { documents: written })
}

/** Ids, each with the entry that has replaced it. */
async function shownOf(store: Store, run: NewRun): Promise<[string, number | null][]> {
  return (await documentsOf(store, run)).map(({ id, untilSeq }) => [id, untilSeq])
}

export function documentContract(on: Case): void {
  on('are stored with their entry, and read in order with its step and time', async ({ store }) => {
    const by = worker()
    const [run, other] = [await ownedRun(store, by), await ownedRun(store, by)]
    const content = JSON.stringify('é "\\ \u2028 \ud83d\ude00 \u0001')
    const a = newDocument({ key: 'k "\\', tags: ['x, y', '"{}'], content })
    const b = newDocument({ type: 'Draft', isHidden: true })
    const c = newDocument({ content: '~["x"]' })
    const entries = [
      entry({ name: 'first', at: 1_700_000_000_001 }),
      entry({ kind: 'step.asked', name: 'other', payload: null }),
      entry({ name: 'second', occurrence: 2, attempt: 3, at: 1_700_000_000_002 }),
    ]
    const documents = [
      { document: a, entry: 1 },
      { document: b, entry: 3 },
      { document: c, entry: 3 },
    ]
    const batch = [
      turn(fenceOf(run, by), { entries, documents }),
      writing(other, by, 1, [newDocument({ key: a.key })]),
    ]
    expect(await kinds(store, by, ...batch)).toEqual(['done', 'done'])
    const first = { step: 'first', attempt: 1, at: 1_700_000_000_001, seq: 2, untilSeq: null }
    const second = { step: 'second#2', attempt: 3, at: 1_700_000_000_002, seq: 4, untilSeq: null }
    expect(await documentsOf(store, run)).toEqual([
      { ...a, ...first },
      { ...b, ...second },
      { ...c, ...second },
    ])
    expect(await documentsOf(store, other)).toHaveLength(1)
  })

  on('of a known type and key replace the one before and stand in its place', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const [a, b] = [newDocument({ key: 'a' }), newDocument()]
    const sameKeyOfOther = newDocument({ key: 'a', type: 'Draft' })
    await commit(store, by, writing(run, by, 1, [a, b, sameKeyOfOther]))
    const [a2, c] = [newDocument({ key: 'a' }), newDocument()]
    await commit(store, by, writing(run, by, 2, [c, a2]))
    const a3 = newDocument({ key: 'a' })
    await commit(store, by, writing(run, by, 3, [a3]))
    expect(await shownOf(store, run)).toEqual([
      [a.id, 3],
      [a2.id, 4],
      [a3.id, null],
      [b.id, null],
      [sameKeyOfOther.id, null],
      [c.id, null],
    ])
  })

  on('of one key twice in one delta: the last one counts', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const [one, two, three] = [1, 2, 3].map(() => newDocument({ key: 'k' }))
    if (!one || !two || !three) throw new Error('three')
    const documents = [
      { document: one, entry: 1 },
      { document: two, entry: 1 },
      { document: newDocument({ id: 'between' }), entry: 2 },
      { document: three, entry: 2 },
    ]
    await commit(store, by, turn(fenceOf(run, by), { entries: [entry(), entry()], documents }))
    expect(await shownOf(store, run)).toEqual([
      [one.id, 2],
      [two.id, 3],
      [three.id, null],
      ['between', null],
    ])
  })

  on('of a turn that is not applied are not there, and replace nothing', async (s) => {
    const { store } = s
    const by = worker()
    const run = await ownedRun(store, by)
    const first = newDocument({ key: 'k' })
    await commit(store, by, writing(run, by, 1, [first]))
    const documents = [{ document: newDocument({ key: 'k' }), entry: 1 }]
    const shown = { state: '"lost"', at: { place: 'lost', error: null } }
    const lost = { entries: [entry()], documents, shown }
    const late = (await store.join(by)).now + 60_000
    const refused: TurnDelta[] = [
      turn(fenceOf(run, by, 2, 2), lost),
      turn(fenceOf(run, by, 1, 1), lost),
      turn(fenceOf(run, by, 1, 2), { ...lost, notBefore: late }),
    ]
    for (const delta of refused) {
      const other = await ownedRun(store, by)
      const fine = writing(other, by, 1, [newDocument()])
      const answers = await kinds(store, by, delta, fine)
      expect(answers[0]).toMatch(/stale|early/)
      expect(answers[1]).toBe('done')
      expect(await documentsOf(store, other)).toHaveLength(1)
    }
    expect(await shownOf(store, run)).toEqual([[first.id, null]])
    expect(await viewOf(store, run)).toMatchObject({ place: null, state: null })
  })

  on('[X05] sent again are written once', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const delta = writing(run, by, 1, [newDocument({ key: 'k' }), newDocument()])
    await commit(store, by, delta)
    const before = await documentsOf(store, run)
    const { answers } = await store.commit(by, [delta], RESENT)
    expect(answers).toMatchObject([{ kind: 'done', repeated: true }])
    expect(await documentsOf(store, run)).toEqual(before)
  })

  on(
    'of a step with its own transaction are written with it, or not at all',
    async ({ store }) => {
      const by = worker()
      const run = await ownedRun(store, by)
      const close = async (delta: TurnDelta) =>
        (await store.open(by, 1_000)).close(delta, { feed: false })
      const lost = await close(writing(run, by, 9, [newDocument()]))
      expect(lost.answers).toEqual([{ kind: 'stale' }])
      expect(await documentsOf(store, run)).toEqual([])
      const kept = newDocument()
      const done = await close(writing(run, by, 1, [kept]))
      expect(done.answers).toMatchObject([{ kind: 'done' }])
      expect(await shownOf(store, run)).toEqual([[kept.id, null]])
    },
    TRANSACTIONAL,
  )

  on('the place, its error and the state are shown as they were said last', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    let seq = 1
    const show = async (shown: NonNullable<TurnDelta['shown']>) => {
      await commit(store, by, step(fenceOf(run, by, 1, seq), { shown }))
      seq += 1
      const { place, error, state } = await viewOf(store, run)
      return { place, error, state }
    }
    expect(await show({ state: '1' })).toEqual({ place: null, error: null, state: '1' })
    const failed = { place: 'a', error: '"bad"' }
    expect(await show({ at: failed })).toEqual({ ...failed, state: '1' })
    expect(await show({ state: '2' })).toEqual({ ...failed, state: '2' })
    expect(await show({ at: { place: 'b', error: null } })).toEqual({
      place: 'b',
      error: null,
      state: '2',
    })
    expect(await show({ at: { place: 'c é', error: '"x"' }, state: '~[3]' })).toEqual({
      place: 'c é',
      error: '"x"',
      state: '~[3]',
    })
    await commit(store, by, ended(fenceOf(run, by, 1, seq)))
    expect(await viewOf(store, run)).toMatchObject({ place: 'c é', state: '~[3]' })
  })

  on('[E03] checkpoints are read by themselves, from both ends', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const at = (checkpoint: number) => entry({ name: 'move', meta: { checkpoint, askedAgo: 3 } })
    const failed = entry({ kind: 'step.failed', meta: { kept: '{"checkpoint":1}' } })
    const entries = [at(1), entry(), failed, at(2), entry({ meta: { target: 'x' } }), at(3)]
    await commit(store, by, turn(fenceOf(run, by), { entries, next: park() }))
    const read = async (after: number | null, limit: number, newestFirst: boolean) =>
      (await store.read.checkpoints(run.uid, { after, limit, newestFirst })).map(
        ({ seq, meta }) => [seq, meta?.checkpoint],
      )
    expect(await read(null, 2, false)).toEqual([
      [2, 1],
      [5, 2],
    ])
    expect(await read(5, 2, false)).toEqual([[7, 3]])
    expect(await read(null, 2, true)).toEqual([
      [7, 3],
      [5, 2],
    ])
    expect(await read(5, 9, true)).toEqual([[2, 1]])
  })

  on('a fork has the documents of the entries it has, as they were then', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const [a, b, a2] = [newDocument({ key: 'a' }), newDocument(), newDocument({ key: 'a' })]
    await commit(store, by, writing(run, by, 1, [a, b]))
    await commit(store, by, writing(run, by, 2, [a2]))
    const a3 = newDocument({ key: 'a' })
    await commit(store, by, writing(run, by, 3, [a3, newDocument()]))
    const was = await documentsOf(store, run)
    const forked = async (upTo: number) => {
      const fork = plan(run, upTo)
      await store.fork(fork)
      await store.fork(fork)
      return shownOf(store, { ...run, uid: fork.uid })
    }
    expect(await forked(1)).toEqual([])
    expect(await forked(2)).toEqual([
      [a.id, null],
      [b.id, null],
    ])
    expect(await forked(3)).toEqual([
      [a.id, 3],
      [a2.id, null],
      [b.id, null],
    ])
    expect(await documentsOf(store, run)).toEqual(was)
    // What it writes itself stands where it would have stood.
    const fork = plan(run, 2)
    await store.fork(fork)
    const own = { ...run, uid: fork.uid, id: fork.id }
    const [claimed] = (await store.claim(by, 9, 9)).claimed.filter(({ uid }) => uid === fork.uid)
    expect(claimed).toMatchObject({ epoch: 1, seq: 2 })
    const mine = newDocument({ key: 'a' })
    await commit(store, by, writing(own, by, 2, [mine]))
    expect(await shownOf(store, own)).toEqual([
      [a.id, 3],
      [mine.id, null],
      [b.id, null],
    ])
    expect(await documentsOf(store, run)).toEqual(was)
  })

  on('prune deletes them with their run', async (s) => {
    const { store } = s
    const by = worker()
    const [old, open] = [await ownedRun(store, by), await ownedRun(store, by)]
    await commit(store, by, writing(old, by, 1, [newDocument()]))
    await commit(store, by, writing(open, by, 1, [newDocument()]))
    await commit(store, by, ended(fenceOf(old, by, 1, 2)))
    await s.advance(10_000)
    await store.prune(5_000, null)
    expect(await documentsOf(store, old)).toEqual([])
    expect(await documentsOf(store, open)).toHaveLength(1)
    // Nothing is left behind the run that could come back with its uid.
    const again = await ownedRun(store, by, { uid: old.uid })
    await commit(store, by, step(fenceOf(again, by)))
    expect(await documentsOf(store, again)).toEqual([])
  })
}

function plan(of: NewRun, upTo: number): ForkPlan {
  const meta = { bornWith: upTo, forkOf: of.uid, seed: of.uid }
  const names = { of: of.uid, uid: newUid(), id: newId('fork') }
  return { ...names, upTo, meta, input: null, outputs: [], forgetsChild: [] }
}

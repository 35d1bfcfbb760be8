// The contract of the store: what steps publish, and what has changed in all runs.

import { expect } from 'vitest'
import type { Change, Cursor, NewChunk, NewRun, Store, Worker } from '../../src/kernel/store.js'
import { FOLLOWED_MS } from '../../src/model/limits.js'
import {
  claimAll,
  claimedStart,
  commit,
  end,
  ended,
  entry,
  fenceOf,
  newId,
  newUid,
  ownedRun,
  parked,
  parkedRun,
  start,
  step,
  turn,
  worker,
} from './builders.js'
import type { Case } from './store-contract.js'

function chunk(run: NewRun, sent: number, changes: Partial<NewChunk> = {}): NewChunk {
  const own = { uid: run.uid, epoch: 1, sent, step: 'answer', attempt: 1 }
  return { ...own, isFirst: sent === 1, value: `"${sent}"`, ...changes }
}

const published = async (store: Store, { uid }: NewRun, after = 0, limit = 100) =>
  (await store.chunks(uid, after, limit)).map(({ no, value }) => [no, value])

/** Other tests have transactions under way on the same server: they delay, and change nothing. */
export async function beginning(store: Store): Promise<Cursor> {
  let cursor: Cursor | null = null
  await expect
    .poll(
      async () => {
        cursor = await store.follow()
        return cursor
      },
      { timeout: 20_000, interval: 5 },
    )
    .not.toBeNull()
  return cursor as unknown as Cursor
}

/** So many changes behind a cursor, and nothing more. */
export async function changesFrom(store: Store, from: Cursor, count: number, workspace?: string) {
  const found: Change[] = []
  let cursor = from
  await expect
    .poll(
      async () => {
        const page = await store.changes(workspace ?? null, cursor)
        if (page === null) throw new Error('told to begin again')
        found.push(...page.changes)
        cursor = page.next
        return found.length
      },
      { timeout: 20_000, interval: 5 },
    )
    .toBeGreaterThanOrEqual(count)
  expect(found).toHaveLength(count)
  return { found, cursor }
}

const said = (changes: readonly Change[]) =>
  changes.map(({ runId, entry: of }) => `${runId} ${of ? `${of.seq} ${of.kind}` : 'changed'}`)

async function takenOver(store: Store, by: Worker, run: NewRun, from: Worker): Promise<void> {
  await store.leave(from)
  expect(await claimAll(store, by)).toMatchObject([{ uid: run.uid, epoch: 2 }])
}

export function streamContract(on: Case): void {
  on('what is published is numbered from 1, in order, and read from any number on', async (s) => {
    const { store } = s
    const by = worker()
    const [run, other] = [await ownedRun(store, by), await ownedRun(store, by)]
    await store.publish(by.id, [chunk(run, 1), chunk(other, 2), chunk(run, 3)])
    await store.publish(by.id, [chunk(run, 4, { attempt: 2, isFirst: true, step: 'b' })])
    expect(await published(store, run)).toEqual([
      [1, '"1"'],
      [2, '"3"'],
      [3, '"4"'],
    ])
    expect(await published(store, run, 1, 1)).toEqual([[2, '"3"']])
    expect(await published(store, other)).toEqual([[1, '"2"']])
    expect((await store.chunks(run.uid, 2, 1))[0]).toMatchObject({
      no: 3,
      step: 'b',
      attempt: 2,
      isFirst: true,
    })
    await store.publish(by.id, [])
  })

  on('how far runs are is told of many at once, without those that are gone', async ({ store }) => {
    const by = worker()
    const [run, other] = [await ownedRun(store, by), await ownedRun(store, by)]
    await store.publish(by.id, [chunk(run, 1), chunk(run, 2)])
    await commit(store, by, ended(fenceOf(other, by, 1)))
    const gone = newUid()
    const standings = await store.standings([run.uid, gone, other.uid])
    expect(standings.get(run.uid)).toEqual({ seq: 1, published: 2, isFinal: false })
    expect(standings.get(other.uid)).toEqual({ seq: 2, published: 0, isFinal: true })
    expect(standings.size).toBe(2)
  })

  on('what is published again changes nothing', async (s) => {
    const { store } = s
    const by = worker()
    const run = await ownedRun(store, by)
    await store.publish(by.id, [chunk(run, 1), chunk(run, 2)])
    await store.publish(by.id, [chunk(run, 1), chunk(run, 2), chunk(run, 3)])
    expect(await published(store, run)).toEqual([
      [1, '"1"'],
      [2, '"2"'],
      [3, '"3"'],
    ])
  })

  on('only the owner publishes, and a later owner goes on with the numbers', async (s) => {
    const { store } = s
    const [by, next] = [worker(), worker()]
    const run = await ownedRun(store, by)
    await store.publish(next.id, [chunk(run, 1)])
    await store.publish(by.id, [chunk(run, 7)])
    await takenOver(store, next, run, by)
    await store.publish(by.id, [chunk(run, 8)])
    await store.publish(next.id, [chunk(run, 1, { epoch: 2 })])
    await store.publish(by.id, [chunk(run, 9)])
    expect(await published(store, run)).toEqual([
      [1, '"7"'],
      [2, '"1"'],
    ])
    await commit(store, next, ended(fenceOf(run, next, 2)))
    await store.publish(next.id, [chunk(run, 2, { epoch: 2 })])
    expect(await published(store, run)).toHaveLength(2)
  })

  on('what a run has published is deleted with it', async (s) => {
    const { store } = s
    const by = worker()
    const run = await ownedRun(store, by)
    await store.publish(by.id, [chunk(run, 1)])
    await commit(store, by, ended(fenceOf(run, by)))
    await s.advance(10_000)
    expect(await store.prune(5_000, null)).toMatchObject({ pruned: 1 })
    expect(await published(store, run)).toEqual([])
  })

  on('[X11] each change comes once, those of a run in order, from any cursor on', async (s) => {
    const { store } = s
    const by = worker()
    const from = await beginning(store)
    const [a, b] = [claimedStart({ id: newId('a') }), claimedStart({ id: newId('b') })]
    await commit(store, by, a)
    await commit(store, by, b, step(fenceOf(a.run, by)))
    const two = [entry({ name: 'x' }), entry({ kind: 'run.completed', name: '', occurrence: 0 })]
    await commit(store, by, turn(fenceOf(a.run, by, 1, 2), { entries: two, next: end() }))
    const { found } = await changesFrom(store, from, 5)
    const of = (run: NewRun) => said(found).filter((one) => one.startsWith(run.id))
    expect(of(a.run).map((one) => one.slice(a.run.id.length + 1))).toEqual([
      '1 run.created',
      '2 step.completed',
      '3 step.completed',
      '4 run.completed',
    ])
    expect(of(b.run)).toEqual([`${b.run.id} 1 run.created`])
    expect(found.at(-1)).toMatchObject({ status: 'completed', definition: 'order', reason: null })
    expect(found.at(-2)?.entry).toMatchObject({ name: 'x', occurrence: 1 })
    for (const [i, { cursor }] of found.entries()) {
      const { found: rest } = await changesFrom(store, cursor, found.length - i - 1)
      expect(rest).toEqual(found.slice(i + 1))
    }
  })

  on('changes of another workspace are not told', async (s) => {
    const { store } = s
    const by = worker()
    const from = await beginning(store)
    const own = { workspace: 'acme', id: newId() }
    await commit(store, by, start({ workspace: 'other' }), start(own), start())
    const { found, cursor } = await changesFrom(store, from, 1, 'acme')
    expect(found).toMatchObject([{ workspace: 'acme', runId: own.id, status: 'pending' }])
    await commit(store, by, start(own), start({ workspace: 'acme', id: newId('next') }))
    const { found: more } = await changesFrom(store, cursor, 1, 'acme')
    expect(more[0]?.runId).toMatch(/^next/)
  })

  on('what happens to a run past its owner is told', async (s) => {
    const { store } = s
    const by = worker()
    await store.join(by)
    const run = await parkedRun(store, by)
    const from = await beginning(store)
    await store.setPaused(run, true)
    await store.setPaused(run, true)
    const { found: paused, cursor } = await changesFrom(store, from, 1)
    expect(paused).toMatchObject([{ entry: null, status: 'waiting', reason: 'paused' }])
    await store.setPaused(run, false)
    expect(await claimAll(store, by)).toHaveLength(1)
    await store.leave(by)
    const { found: left, cursor: then } = await changesFrom(store, cursor, 2)
    expect(left).toMatchObject([{ entry: null }, { entry: null, status: 'waiting' }])
    await store.startAlone(
      { run: { ...run, uid: newUid(), id: newId() }, meta: null, message: null },
      null,
    )
    const failed = await ownedRun(store, by)
    await commit(
      store,
      by,
      turn(fenceOf(failed, by), { entries: [entry()], next: end({ status: 'failed' }) }),
    )
    const reopened = entry({ kind: 'run.reopened', name: '', occurrence: 0, attempt: 2 })
    await store.reopen([{ uid: failed.uid, attempt: 1, entry: reopened, due: true }])
    const { found: rest } = await changesFrom(store, then, 4)
    expect(rest.map((one) => one.entry?.kind)).toEqual([
      'run.created',
      'run.created',
      'step.completed',
      'run.reopened',
    ])
  })

  on('[X11] whoever comes back too late, or with a cursor of elsewhere, is told so', async (s) => {
    const { store } = s
    const by = worker()
    const nobody = { key: '1', id: '0', place: 0 }
    expect(await store.changes(null, nobody)).toBeNull()
    const first = await beginning(store)
    const run = await ownedRun(store, by)
    const { cursor } = await changesFrom(store, first, 1)
    // More than half of it: who follows says so again.
    await s.advance(FOLLOWED_MS / 2 + 1_000)
    await beginning(store)
    await commit(store, by, parked(fenceOf(run, by)))
    await s.advance(FOLLOWED_MS / 2 + 5_000)
    await beginning(store)
    // What was before it is cleared away, and it has seen that.
    const { cursor: later } = await changesFrom(store, cursor, 1)
    expect(await store.changes(null, first)).toBeNull()
    await s.advance(FOLLOWED_MS + 5_000)
    expect(await store.changes(null, later)).toBeNull()
    await commit(store, by, start())
    const again = await beginning(store)
    expect(await store.changes(null, later)).toBeNull()
    expect(await store.changes(null, { ...again, key: '999999999999' })).toBeNull()
    await commit(store, by, start())
    await changesFrom(store, again, 1)
  })

  on('a page ends somewhere, and the next one goes on there', async (s) => {
    const { store } = s
    const by = worker()
    const from = await beginning(store)
    for (let i = 0; i < 30; i += 1) {
      await commit(store, by, ...Array.from({ length: 20 }, () => start()))
    }
    const { found } = await changesFrom(store, from, 600)
    expect(new Set(found.map(({ runId }) => runId)).size).toBe(600)
  })
}

// What people look at of many runs at once.

import { expect } from 'vitest'
import type { Store, Worker } from '../../src/kernel/store.js'
import type { NewEntry } from '../../src/model/run.js'
import {
  commit,
  ENDED,
  end,
  entry,
  fenceOf,
  newDocument,
  ownedRun,
  park,
  start,
  turn,
  worker,
} from './builders.js'
import type { Case } from './store-contract.js'

const HOUR_MS = 3_600_000
const STATS = { from: null, runsMax: 10, entriesMax: 100, entriesOfAll: 1_000 }

async function endedRun(store: Store, by: Worker, entries: readonly NewEntry[], of: object = {}) {
  const run = await ownedRun(store, by, of)
  const next = end({ status: 'completed' })
  await commit(store, by, turn(fenceOf(run, by), { entries: [...entries, ENDED], next }))
  return run
}

export function insightContract(on: Case): void {
  on('activity counts starts and ends by time, of one workspace', async ({ store }) => {
    const by = worker()
    const from = Date.now() - HOUR_MS
    await endedRun(store, by, [])
    const failed = await ownedRun(store, by, { definition: 'other', version: null })
    const fence = fenceOf(failed, by)
    const failure = entry({ kind: 'run.failed', name: '', occurrence: 0, attempt: 0 })
    await commit(
      store,
      by,
      turn(fence, { entries: [failure], next: end({ status: 'failed' }) }),
      start(),
      start({ workspace: 'b' }),
      start({ definition: 'perdure.webhook' }),
    )
    // Uids of the builders may be some milliseconds ahead.
    const window = { workspace: 'default', from, to: from + 2 * HOUR_MS, bucketMs: 2 * HOUR_MS }
    const counts = await store.read.activity({ ...window, definition: null })
    expect(counts).toEqual([
      { bucket: 0, what: 'completed', runs: 1 },
      { bucket: 0, what: 'failed', runs: 1 },
      { bucket: 0, what: 'started', runs: 3 },
    ])
    expect(await store.read.activity({ ...window, definition: 'other' })).toEqual([
      { bucket: 0, what: 'failed', runs: 1 },
      { bucket: 0, what: 'started', runs: 1 },
    ])
    const thin = { ...window, definition: null, bucketMs: HOUR_MS / 2 }
    const buckets = (await store.read.activity(thin)).map(({ bucket }) => bucket)
    expect(buckets.every((bucket) => bucket === 1 || bucket === 2)).toBe(true)
    const before = { ...window, from: from - HOUR_MS, to: from, definition: null }
    expect(await store.read.activity(before)).toEqual([])
  })

  on('the inbox has runs that wait for a signal and for nothing else, oldest first', async (s) => {
    const { store } = s
    const by = worker()
    const parked = async (next: object, of: object = {}) => {
      const run = await ownedRun(store, by, of)
      await commit(store, by, turn(fenceOf(run, by), { entries: [entry()], next: park(next) }))
      return run.uid
    }
    const first = await parked({ reason: 'signal' })
    await parked({ reason: 'timer', dueAt: Date.now() + HOUR_MS })
    await parked({ reason: 'signal' }, { workspace: 'b' })
    const limited = await parked({ reason: 'signal', dueAt: Date.now() + HOUR_MS })
    const other = await parked({ reason: 'signal' }, { definition: 'other', version: null })
    const of = { workspace: 'default', definition: null, after: null, limit: 10 }
    const inbox = async (more: object = {}) =>
      (await store.read.inbox({ ...of, ...more })).map(({ uid }) => uid)
    expect(await inbox()).toEqual([first, limited, other])
    expect(await inbox({ limit: 1 })).toEqual([first])
    expect(await inbox({ after: first })).toEqual([limited, other])
    expect(await inbox({ definition: 'other' })).toEqual([other])
    await s.advance(2 * HOUR_MS)
    // Its time is over: it goes on by itself.
    expect(await inbox()).toEqual([first, other])
  })

  on('recent has the newest entries of each, and values only of failures', async ({ store }) => {
    const by = worker()
    const one = await endedRun(store, by, [
      entry({ name: 'a', kind: 'step.failed', payload: '{"name":"Error","message":"no"}' }),
      entry({ name: 'b' }),
    ])
    const two = await endedRun(store, by, [])
    const recent = await store.read.recent([one.uid, two.uid], 3)
    expect([...recent.keys()].sort()).toEqual([one.uid, two.uid].sort())
    expect(recent.get(one.uid)?.map(({ seq, payload }) => [seq, payload])).toEqual([
      [4, null],
      [3, null],
      [2, '{"name":"Error","message":"no"}'],
    ])
    expect(recent.get(two.uid)?.map(({ kind }) => kind)).toEqual(['run.completed', 'run.created'])
  })

  on('visible has what each run shows now, in order', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const plain = await ownedRun(store, by)
    const entries = [entry({ name: 'first' }), entry({ name: 'write' })]
    const documents = [
      { document: newDocument({ key: 'k', content: '"old"' }), entry: 1 },
      { document: newDocument({ key: 'k', content: '"new"' }), entry: 2 },
      { document: newDocument({ isHidden: true }), entry: 2 },
      { document: newDocument({ content: '"second"' }), entry: 2 },
    ]
    await commit(store, by, turn(fenceOf(run, by), { entries, documents }))
    const visible = await store.read.visible([run.uid, plain.uid], 10)
    const shown = visible.get(run.uid)?.map(({ content, step }) => [content, step])
    expect(shown).toEqual([
      ['"new"', 'write'],
      ['"second"', 'write'],
    ])
    expect(visible.has(plain.uid)).toBe(false)
    expect((await store.read.visible([run.uid], 1)).get(run.uid)?.length).toBe(1)
  })

  on('steps are counted by name, over the newest runs that have ended', async ({ store }) => {
    const by = worker()
    const took = (ms: number, changes: Partial<NewEntry> = {}) =>
      entry({ meta: { askedAgo: ms, startedAgo: ms }, ...changes })
    await endedRun(store, by, [
      took(10, { name: 'charge', kind: 'step.failed', meta: { startedAgo: 10, retryAt: 5 } }),
      took(30, { name: 'charge', attempt: 2 }),
      took(5, { name: '@1/approve' }),
      took(7, { name: 'months@3/charge' }),
    ])
    await endedRun(store, by, [
      took(20, { name: 'charge', kind: 'step.failed' }),
      entry({ name: 'ship', kind: 'child.started', at: 1_000, meta: null }),
      entry({ name: 'ship', kind: 'child.ended', at: 1_400, meta: { status: 'failed' } }),
    ])
    await endedRun(store, by, [took(1, { name: 'elsewhere' })], { workspace: 'b' })
    await ownedRun(store, by)
    const of = { workspace: 'default', definition: 'order', ...STATS }
    const { runs, isWhole, steps } = await store.read.stepCounts(of)
    expect([runs, isWhole]).toEqual([2, true])
    const none = { failures: 0, retries: 0 }
    expect(steps).toEqual([
      { name: 'approve', executions: 1, ...none, p50Ms: 5, p95Ms: 5 },
      { name: 'charge', executions: 2, failures: 1, retries: 1, p50Ms: 20, p95Ms: 29 },
      { name: 'months/charge', executions: 1, ...none, p50Ms: 7, p95Ms: 7 },
      { name: 'ship', executions: 1, failures: 1, retries: 0, p50Ms: 400, p95Ms: 400 },
    ])
    const few = await store.read.stepCounts({ ...of, runsMax: 1 })
    expect([few.runs, few.isWhole, few.steps.length]).toEqual([1, false, 2])
    const cut = await store.read.stepCounts({ ...of, entriesMax: 2 })
    expect([cut.runs, cut.isWhole]).toEqual([2, false])
    const later = await store.read.stepCounts({ ...of, from: Date.now() + HOUR_MS })
    expect(later).toEqual({ runs: 0, isWhole: true, steps: [] })
  })
}

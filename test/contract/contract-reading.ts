import { expect } from 'vitest'
import type { RunFilter } from '../../src/kernel/store.js'
import type { RunId } from '../../src/model/ids.js'
import {
  child,
  claimAll,
  commit,
  ENDED,
  end,
  ended,
  entry,
  fenceOf,
  newId,
  ORDER,
  ownedRun,
  parked,
  parkedRun,
  start,
  step,
  turn,
  viewOf,
  worker,
} from './builders.js'
import type { Case } from './store-contract.js'

const ANY: RunFilter = {
  workspace: null,
  definition: null,
  statuses: null,
  reason: null,
  tags: {},
  parentId: null,
  createdAfter: null,
  createdBefore: null,
  text: null,
  after: null,
  newestFirst: false,
  limit: 100,
}

export function readingContract(on: Case): void {
  on('settled tells the ends that are there, and leaves the others out', async ({ store }) => {
    const by = worker()
    const [done, open, cancelled] = [
      await ownedRun(store, by),
      await ownedRun(store, by),
      await ownedRun(store, by),
    ]
    const why = entry({ kind: 'run.cancelled', payload: null, meta: { reason: 'too late' } })
    await commit(
      store,
      by,
      ended(fenceOf(done, by)),
      turn(fenceOf(cancelled, by), { entries: [why], next: end({ status: 'cancelled' }) }),
    )
    const tickets = [done, open, cancelled, { workspace: 'default', id: newId() }]
    const settled = await store.settled(tickets.map(({ workspace, id }) => ({ workspace, id })))
    const workspace = 'default'
    expect([...settled].sort((a, b) => (a.uid < b.uid ? -1 : 1))).toEqual([
      { workspace, id: done.id, uid: done.uid, status: 'completed', payload: '"ok"', reason: null },

      {
        workspace,
        id: cancelled.id,
        uid: cancelled.uid,
        status: 'cancelled',
        payload: null,
        reason: 'too late',
      },
    ])
    expect(await store.settled([])).toEqual([])
  })

  on('get knows the workspace', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by, { workspace: 'a' })
    expect(await store.read.get('b', run.id)).toBeNull()
    expect((await viewOf(store, run)).uid).toBe(run.uid)
  })

  on(
    'list filters by the reason that is shown: due without live code is that and nothing else',
    async ({ store, advance }) => {
      const by = worker({ leaseMs: 60_000 })
      await store.join(by)
      const free = await ownedRun(store, by)
      await commit(store, by, step(fenceOf(free, by), { next: { kind: 'release' } }))
      const asleep = await ownedRun(store, by)
      const { createdAt } = await viewOf(store, asleep)
      await commit(
        store,
        by,
        parked(fenceOf(asleep, by), { reason: 'timer', dueAt: createdAt + 1_000 }),
      )
      await commit(store, by, start({ version: '2' }))
      const shown = async () => {
        const uids = async (reason: RunFilter['reason']) =>
          (await store.read.list({ ...ANY, reason })).map(({ uid }) => uid)
        return {
          slot: await uids('slot'),
          timer: await uids('timer'),
          missing: await uids('missing-code'),
        }
      }
      expect(await shown()).toEqual({ slot: [free.uid], timer: [asleep.uid], missing: [] })
      await advance(2_000)
      expect(await shown()).toEqual({ slot: [free.uid], timer: [asleep.uid], missing: [] })
      await advance(120_000)
      expect(await shown()).toEqual({ slot: [], timer: [], missing: [free.uid, asleep.uid] })
      await store.join(worker({ definitions: [{ ...ORDER, version: '3' }] }))
      expect(await shown()).toEqual({ slot: [], timer: [], missing: [free.uid, asleep.uid] })
      await store.join(worker())
      expect(await shown()).toEqual({ slot: [free.uid], timer: [asleep.uid], missing: [] })
    },
  )

  on('list filters by everything it names', async ({ store, advance }) => {
    const by = worker()
    const first = await ownedRun(store, by, { workspace: 'a', id: 'alpha-1' as RunId })
    await advance(1_000)
    const second = await parkedRun(store, by, { workspace: 'a', tags: { k: 'v', l: 'w' } })
    await advance(1_000)
    const kid = child(second, { workspace: 'b', definition: 'other', tags: { k: 'x' } })
    await commit(store, by, kid)
    const { createdAt } = await viewOf(store, second)
    const cases: [Partial<RunFilter>, readonly { uid: string }[]][] = [
      [{}, [first, second, kid.run]],
      [{ workspace: 'a' }, [first, second]],
      [{ definition: 'other' }, [kid.run]],
      [{ workspace: 'a', definition: 'other' }, []],
      [{ statuses: ['running', 'pending'] }, [first, kid.run]],
      [{ statuses: [] }, []],
      [{ reason: 'signal' }, [second]],
      [{ tags: { k: 'v' } }, [second]],
      [{ tags: { k: 'v', l: 'w' } }, [second]],
      [{ tags: { k: 'v', l: 'x' } }, []],
      [{ parentId: second.id }, [kid.run]],
      [{ createdAfter: createdAt }, [kid.run]],
      [{ createdBefore: createdAt }, [first]],
      [{ text: 'alpha' }, [first]],
      [{ text: '%' }, []],
    ]
    for (const [filter, expected] of cases) {
      const found = await store.read.list({ ...ANY, ...filter })
      expect([filter, found.map(({ uid }) => uid)]).toEqual([filter, expected.map((r) => r.uid)])
    }
  })

  on('list pages by uid in both directions', async ({ store }) => {
    const by = worker()
    const deltas = Array.from({ length: 7 }, () => start())
    await commit(store, by, ...deltas)
    const uids = deltas.map(({ run }) => run.uid).sort()
    for (const newestFirst of [false, true]) {
      const seen: string[] = []
      for (let after: RunFilter['after'] = null; ; ) {
        const page = await store.read.list({ ...ANY, limit: 3, after, newestFirst })
        seen.push(...page.map(({ uid }) => uid))
        if (page.length < 3) break
        after = page.at(-1)?.uid ?? null
      }
      expect(seen).toEqual(newestFirst ? uids.toReversed() : uids)
    }
  })

  on('history pages in both directions', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const entries = Array.from({ length: 6 }, (_, i) => entry({ occurrence: i + 1 }))
    await commit(store, by, turn(fenceOf(run, by), { entries }))
    const page = async (after: number | null, newestFirst: boolean) =>
      (await store.read.history(run.uid, { after, limit: 3, newestFirst })).map(({ seq }) => seq)
    expect(await page(null, false)).toEqual([1, 2, 3])
    expect(await page(3, false)).toEqual([4, 5, 6])
    expect(await page(6, false)).toEqual([7])
    expect(await page(null, true)).toEqual([7, 6, 5])
    expect(await page(2, true)).toEqual([1])
  })

  on('openChildren are those that have not ended', async ({ store }) => {
    const by = worker()
    const parent = await ownedRun(store, by)
    const [open, over] = [child(parent), { ...child(parent), claim: true }]
    await commit(store, by, step(fenceOf(parent, by), { starts: [open, over] }))
    await commit(store, by, turn(fenceOf(over.run, by), { entries: [ENDED], next: end() }))
    const children = await store.read.openChildren(parent.uid)
    expect(children.map(({ uid }) => uid)).toEqual([open.run.uid])
  })

  on('liveDefinitions are those of workers with a lease', async ({ store, advance }) => {
    const definitions = [
      { name: 'a', version: '1' },
      { name: 'b', version: '2' },
    ]
    const [short, long] = [worker({ leaseMs: 1_000, definitions }), worker({ leaseMs: 60_000 })]
    await store.join(short)
    await store.join(long)
    expect([...(await store.read.liveDefinitions())].sort()).toEqual(['a@1', 'b@2', 'order@1'])
    await advance(2_000)
    expect(await store.read.liveDefinitions()).toEqual(['order@1'])
    expect(await claimAll(store, long)).toEqual([])
  })

  on('workers are all that have joined, with what they hold', async ({ store, advance }) => {
    const definitions = [{ name: 'a', version: '1@x' }]
    const [short, long] = [worker({ leaseMs: 1_000, definitions }), worker({ leaseMs: 60_000 })]
    await store.join(short)
    await advance(10)
    await store.join(long)
    await ownedRun(store, long)
    const told = (await store.read.workers()).filter(({ id }) => id === short.id || id === long.id)
    expect(told).toMatchObject([
      { id: short.id, isAlive: true, definitions: ['a@1@x'], runs: 0 },
      { id: long.id, isAlive: true, definitions: ['order@1'], runs: 1, build: long.build },
    ])
    const [first, second] = told
    expect(second?.startedAt).toBeGreaterThan(first?.startedAt ?? Number.POSITIVE_INFINITY)
    expect((first?.leaseUntil ?? 0) - (first?.startedAt ?? 0)).toBe(1_000)
    await advance(2_000)
    const later = await store.read.workers()
    expect(later.filter(({ isAlive }) => isAlive).map(({ id }) => id)).toEqual([long.id])
  })

  on('the lag is that of the run that has been due for longest', async ({ store, advance }) => {
    const by = worker()
    const MINUTE_MS = 60_000
    const lag = async () => Math.floor((await store.read.dueLagMs()) / MINUTE_MS)
    expect(await lag()).toBe(0)
    const later = start({ delayMs: 60 * MINUTE_MS, definition: 'a' })
    await commit(store, by, later, start({ priority: 9 }))
    await advance(10 * MINUTE_MS)
    await commit(store, by, start({ definition: 'b' }), start({ delayMs: 90 * MINUTE_MS }))
    await advance(5 * MINUTE_MS)
    expect(await lag()).toBe(15)
    expect((await store.claim(by, 1, 1)).claimed).toHaveLength(1)
    expect(await lag()).toBe(5)
    await advance(60 * MINUTE_MS)
    expect(await lag()).toBe(65)
  })

  on('counts are by definition and status, of one workspace or all', async ({ store }) => {
    const by = worker()
    await ownedRun(store, by)
    await commit(store, by, start(), start({ workspace: 'acme' }), start({ definition: 'a' }))
    expect(await store.read.counts(null)).toEqual([
      { definition: 'a', status: 'pending', runs: 1 },
      { definition: 'order', status: 'pending', runs: 2 },
      { definition: 'order', status: 'running', runs: 1 },
    ])
    expect(await store.read.counts('acme')).toEqual([
      { definition: 'order', status: 'pending', runs: 1 },
    ])
  })
}

// Slots: who needs one, who gets one, and when it is given back.

import { expect } from 'vitest'
import type { Claimed, NewRun, Store, Worker } from '../../src/kernel/store.js'
import type { LimitRules } from '../../src/model/admission.js'
import {
  cancel,
  claimAll,
  commit,
  ended,
  entry,
  kinds,
  newId,
  newMessage,
  newRun,
  newUid,
  PLAIN,
  park,
  parked,
  signal,
  start,
  turn,
  viewOf,
  worker,
} from './builders.js'
import type { Case } from './store-contract.js'

const NONE: LimitRules = {
  concurrency: null,
  perWorkspace: null,
  perKey: null,
  keyPath: null,
  rate: null,
  keyRate: null,
}
const COUNTED = { workspace: '', key: '' }

/** A worker that has joined, with these limits of its definitions. */
async function joined(
  store: Store,
  rules: Partial<LimitRules>,
  names: readonly string[] = ['order'],
  changes: Partial<Worker> = {},
): Promise<Worker> {
  const limits = { ...NONE, ...rules }
  const by = worker({
    definitions: names.map((name) => ({ name, version: '1', limits })),
    ...changes,
  })
  await store.join(by)
  return by
}

async function started(
  store: Store,
  by: Worker,
  count: number,
  changes: Partial<NewRun> = {},
): Promise<NewRun[]> {
  const deltas = Array.from({ length: count }, () => start({ limits: COUNTED, ...changes }))
  await commit(store, by, ...deltas)
  return deltas.map(({ run }) => run)
}

async function admit(store: Store, isSweep = false): Promise<number> {
  return (await store.admit(isSweep)).admitted
}

/** Admits, and takes what is due. */
async function taken(store: Store, by: Worker): Promise<Claimed[]> {
  await store.admit(false)
  return claimAll(store, by)
}

const fence = ({ uid, epoch, seq }: Claimed, by: Worker) => ({ uid, owner: by.id, epoch, seq })
const ids = (runs: readonly { readonly id: string }[]) => runs.map(({ id }) => id).sort()

export function limitContract(on: Case): void {
  on('a run with limits is not due before it has a slot', async ({ store }) => {
    const by = await joined(store, { concurrency: 1 })
    const run = newRun({ limits: COUNTED })
    const { isAsking } = await store.commit(by, [{ kind: 'start', run, claim: false }], PLAIN)
    expect(isAsking).toBe(true)
    expect(await viewOf(store, run)).toMatchObject({
      status: 'pending',
      slot: false,
      limits: COUNTED,
      dueAt: expect.any(Number),
    })
    expect(await claimAll(store, by)).toEqual([])
    expect(await admit(store)).toBe(1)
    expect(await viewOf(store, run)).toMatchObject({ status: 'pending', slot: true })
    expect(ids(await claimAll(store, by))).toEqual([run.id])
  })

  on('who has a slot and who asks for one is told, with where they are counted', async (s) => {
    const { store } = s
    const by = await joined(store, { concurrency: 1, perWorkspace: 5, keyPath: 'k', perKey: 5 })
    const [one] = await started(store, by, 1, { limits: { workspace: 'a', key: 'x' } })
    await admit(store)
    const [two] = await started(store, by, 1, { limits: { workspace: 'a', key: 'y' } })
    await s.advance(1_000)
    const [three] = await started(store, by, 1, { limits: { workspace: 'b', key: 'y' } })
    const told = async (where: object, atMost = 20) => {
      const place = { definition: '', workspace: '', key: '', ...where }
      const [holders, askers] = [store.read.holders, store.read.askers].map((read) =>
        read.call(store.read, place, atMost),
      )
      return [await holders, await askers].map((runs) => runs?.map(({ id }) => id))
    }
    const all = [one, two, three].map((run) => run?.id)
    expect(await told({ definition: 'order' })).toEqual([[all[0]], [all[1], all[2]]])
    expect(await told({ definition: 'order' }, 1)).toEqual([[all[0]], [all[1]]])
    expect(await told({ workspace: 'a' })).toEqual([[all[0]], [all[1]]])
    expect(await told({ definition: 'order', key: 'y' })).toEqual([[], [all[1], all[2]]])
    expect(await told({ definition: 'other' })).toEqual([[], []])
    const [asker] = await store.read.askers({ definition: 'order', workspace: '', key: '' }, 1)
    expect(asker).toMatchObject({ workspace: 'default', definition: 'order' })
    expect(asker?.since).toEqual((await viewOf(store, two as NewRun)).dueAt)
  })

  on('a run that has given its slot back is not brought anything', async ({ store }) => {
    const by = await joined(store, { concurrency: 1 })
    const [run] = await started(store, by, 1)
    const [claimed] = await taken(store, by)
    if (!run || !claimed) throw new Error('not taken')
    await commit(store, by, parked(fence(claimed, by)))
    const brings = { inbox: 0, messages: [newMessage()], areNew: true, reactions: null }
    const told = turn({ ...fence(claimed, by), seq: 2 }, { brings, entries: [entry()], taken: [1] })
    expect(await kinds(store, by, told)).toEqual(['stale'])
    expect(await viewOf(store, run)).toMatchObject({ seq: 2, status: 'waiting', owner: null })
  })

  on('runs without limits ask nobody', async ({ store }) => {
    const by = await joined(store, {})
    const run = newRun()
    const { isAsking } = await store.commit(by, [{ kind: 'start', run, claim: true }], PLAIN)
    expect(isAsking).toBe(false)
    const over = await store.commit(
      by,
      [ended({ uid: run.uid, owner: by.id, epoch: 1, seq: 1 })],
      PLAIN,
    )
    expect(over.isAsking).toBe(false)
    expect(await viewOf(store, run)).toMatchObject({ slot: null, limits: null })
  })

  on(
    '[D22] never more than the limit have a slot, however often it is asked',
    async ({ store }) => {
      const by = await joined(store, { concurrency: 2 })
      const runs = await started(store, by, 5)
      expect(await Promise.all([admit(store), admit(store), admit(store)])).toContain(2)
      expect(await admit(store)).toBe(0)
      const first = await claimAll(store, by)
      expect(ids(first)).toEqual(ids(runs.slice(0, 2)))
      const { isAsking } = await store.commit(
        by,
        first.map((one) => ended(fence(one, by))),
        PLAIN,
      )
      expect(isAsking).toBe(true)
      expect(ids(await taken(store, by))).toEqual(ids(runs.slice(2, 4)))
    },
  )

  on('[D23] higher priority first, then the longer asking', async ({ store, advance }) => {
    const by = await joined(store, { concurrency: 1 })
    const [old] = await started(store, by, 1)
    await advance(1_000)
    const [young] = await started(store, by, 1)
    const [urgent] = await started(store, by, 1, { priority: 9 })
    const [later] = await started(store, by, 1, { delayMs: 60_000, priority: 9 })
    const order: string[] = []
    for (let i = 0; i < 3; i += 1) {
      const [one] = await taken(store, by)
      if (!one) break
      order.push(one.id)
      await commit(store, by, ended(fence(one, by)))
    }
    expect(order).toEqual([urgent?.id, old?.id, young?.id])
    const { nextAt, now } = await store.admit(false)
    expect((nextAt ?? 0) - now).toBeGreaterThan(50_000)
    await advance(61_000)
    expect(ids(await taken(store, by))).toEqual([later?.id])
  })

  on(
    '[D23] a definition at its limit does not hold back others of the workspace',
    async ({ store }) => {
      const by = await joined(store, { concurrency: 2, perWorkspace: 3 }, ['a', 'b'])
      const limits = { workspace: 'default', key: '' }
      await started(store, by, 4, { definition: 'a', limits })
      await started(store, by, 4, { definition: 'b', limits })
      const [one] = await started(store, by, 1, {
        definition: 'b',
        workspace: 'other',
        limits: { workspace: 'other', key: '' },
      })
      const claimed = await taken(store, by)
      const here = claimed.filter(({ workspace }) => workspace === 'default')
      expect(here.filter(({ definition }) => definition === 'a')).toHaveLength(2)
      expect(here.filter(({ definition }) => definition === 'b')).toHaveLength(1)
      expect(ids(claimed)).toContain(one?.id)
      expect(await admit(store)).toBe(0)
    },
  )

  on(
    'a key has its own limit, and each key gets its turn under a shared one',
    async ({ store }) => {
      const by = await joined(store, { concurrency: 3, perKey: 2 })
      const many = await started(store, by, 10, { limits: { workspace: '', key: 'many' } })
      const [few] = await started(store, by, 1, { limits: { workspace: '', key: 'few' } })
      const claimed = await taken(store, by)
      expect(ids(claimed)).toEqual(ids([...many.slice(0, 2), ...(few ? [few] : [])]))
      const [other] = await started(store, by, 1, { limits: { workspace: '', key: 'other' } })
      // The slot of `few` goes to who has none, though others ask longer.
      const last = claimed.find(({ id }) => id === few?.id)
      if (last) await commit(store, by, ended(fence(last, by)))
      expect(ids(await taken(store, by))).toEqual([other?.id])
    },
  )

  on('[D24] a run that waits gives its slot back, and asks for one to go on', async ({ store }) => {
    const by = await joined(store, { concurrency: 1 })
    const [waits, next] = await started(store, by, 2)
    if (!waits || !next) return
    const [one] = await taken(store, by)
    if (one) await commit(store, by, parked(fence(one, by)))
    expect(await viewOf(store, waits)).toMatchObject({ slot: false, dueAt: null })
    const [two] = await taken(store, by)
    expect(two?.id).toBe(next.id)
    const told = await store.commit(by, [signal(waits, {}, true)], PLAIN)
    expect(told.claimed).toEqual([])
    expect(told.isAsking).toBe(true)
    expect(await taken(store, by)).toEqual([])
    expect(await viewOf(store, waits)).toMatchObject({ slot: false, dueAt: expect.any(Number) })
    if (two) await commit(store, by, ended(fence(two, by)))
    expect(ids(await taken(store, by))).toEqual([waits.id])
  })

  on('a run that waits for its own work keeps its slot', async ({ store, advance }) => {
    const by = await joined(store, { concurrency: 1 })
    const [run] = await started(store, by, 2)
    const [one] = await taken(store, by)
    if (!one || !run) return
    const { now } = await store.join(by)
    const next = park({ reason: 'retry', dueAt: now + 10_000, keepsSlot: true })
    await commit(store, by, turn(fence(one, by), { entries: [entry()], next }))
    expect(await viewOf(store, run)).toMatchObject({ slot: true, dueAt: now + 10_000 })
    expect(await admit(store)).toBe(0)
    await advance(11_000)
    const [again] = await claimAll(store, by)
    expect(again?.id).toBe(run.id)
    if (again)
      await commit(
        store,
        by,
        turn(fence(again, by), { entries: [entry()], next: park({ keepsSlot: true }) }),
      )
    expect((await store.commit(by, [signal(run, {}, true)], PLAIN)).claimed).toHaveLength(1)
  })

  on('[D25] a run whose worker died keeps its slot and is due', async ({ store, advance }) => {
    const by = await joined(store, { concurrency: 1 }, ['order'], { leaseMs: 1_000 })
    const [run] = await started(store, by, 2)
    await taken(store, by)
    const other = await joined(store, { concurrency: 1 })
    await advance(5_000)
    await store.reap([{ id: by.id, beat: 0 }], false)
    expect(await admit(store)).toBe(0)
    expect(ids(await claimAll(store, other))).toEqual([run?.id])
  })

  on('a slot that nobody alive could use is taken back', async ({ store, advance }) => {
    const by = await joined(store, { concurrency: 1 })
    const [old, young] = await started(store, by, 2, { version: '0' })
    expect(await admit(store, true)).toBe(1)
    await advance(11_000)
    await store.beat(by)
    expect(await admit(store, true)).toBe(1)
    expect(await viewOf(store, old as NewRun)).toMatchObject({ slot: false })
    expect(await viewOf(store, young as NewRun)).toMatchObject({ slot: true })
  })

  on('a paused run gives its slot back and asks again when it goes on', async ({ store }) => {
    const by = await joined(store, { concurrency: 1 })
    const [run, next] = await started(store, by, 2)
    if (!run || !next) return
    await admit(store)
    await store.setPaused(run, true)
    expect(await viewOf(store, run)).toMatchObject({ slot: false, reason: 'paused' })
    const [two] = await taken(store, by)
    expect(two?.id).toBe(next.id)
    await store.setPaused(run, false)
    expect(await viewOf(store, run)).toMatchObject({ slot: false, status: 'pending' })
    expect(await taken(store, by)).toEqual([])
    if (two) await commit(store, by, ended(fence(two, by)))
    const [one] = await taken(store, by)
    expect(one?.id).toBe(run.id)
    await store.setPaused(run, true)
    if (one) await commit(store, by, turn(fence(one, by), { next: park({ keepsSlot: true }) }))
    expect(await viewOf(store, run)).toMatchObject({ slot: false, reason: 'paused', dueAt: null })
  })

  on('what is to be cancelled, or is too late, needs no slot', async ({ store, advance }) => {
    const by = await joined(store, { concurrency: 1 })
    const [, run] = await started(store, by, 2)
    const [late] = await started(store, by, 1, { timeoutMs: 1_000 })
    await taken(store, by)
    await commit(store, by, cancel(run as NewRun))
    expect(ids(await claimAll(store, by))).toEqual([run?.id])
    await advance(2_000)
    expect(ids(await claimAll(store, by))).toEqual([late?.id])
    expect(await admit(store)).toBe(0)
  })

  on('a run that is re-opened, forked or started alone asks for a slot', async ({ store }) => {
    const by = await joined(store, { concurrency: 1 })
    const [run] = await started(store, by, 1)
    const [one] = await taken(store, by)
    if (!run || !one) return
    await commit(store, by, ended(fence(one, by), { status: 'failed' }))
    expect(await viewOf(store, run)).toMatchObject({ slot: false })
    const reopened = entry({ kind: 'run.reopened', name: '', occurrence: 0, attempt: 0 })
    await store.reopen([{ uid: run.uid, attempt: 1, entry: reopened, due: true }])
    const [uid, id] = [newUid(), newId('fork')]
    const plan = {
      of: run.uid,
      uid,
      id,
      upTo: 1,
      meta: {},
      input: null,
      outputs: [],
      forgetsChild: [],
    }
    await store.fork(plan)
    const alone = newRun({ limits: COUNTED })
    await store.startAlone({ run: alone, meta: null, message: null }, null)
    expect(await claimAll(store, by)).toEqual([])
    for (const expected of [run.id, id, alone.id]) {
      const [next] = await taken(store, by)
      expect(next?.id).toBe(expected)
      if (next) await commit(store, by, ended(fence(next, by)))
    }
  })

  on(
    'one that was found diverged has no slot until somebody else could take it',
    async ({ store }) => {
      const by = await joined(store, { concurrency: 1 })
      const [run] = await started(store, by, 1)
      const [one] = await taken(store, by)
      if (!run || !one) return
      const next = park({ reason: 'diverged', divergedBuild: by.build })
      await commit(store, by, turn(fence(one, by), { entries: [entry()], next }))
      expect(await admit(store)).toBe(0)
      expect(await viewOf(store, run)).toMatchObject({ slot: false })
      const other = await joined(store, { concurrency: 1 }, ['order'], { build: 'b2' })
      expect(ids(await taken(store, other))).toEqual([run.id])
    },
  )

  on('who joins last says what holds; without limits all are let in', async ({ store }) => {
    const by = await joined(store, { concurrency: 1 })
    await started(store, by, 4)
    expect(await admit(store)).toBe(1)
    await joined(store, { concurrency: 3 })
    expect(await admit(store)).toBe(2)
    expect(await store.read.limitRules()).toEqual([
      { definition: 'order', ...NONE, concurrency: 3 },
    ])
    expect(await store.read.limitUse()).toEqual([
      { kind: 'definition', definition: 'order', name: '', used: 3, asking: 1 },
    ])
    await store.join(worker())
    expect(await store.read.limitRules()).toEqual([])
    expect(await admit(store)).toBe(1)
  })

  on('a rate lets so many begin in any such time', async ({ store, advance }) => {
    const by = await joined(store, { rate: { runs: 2, perMs: 60_000 } })
    await started(store, by, 5)
    expect(await taken(store, by)).toHaveLength(2)
    await advance(30_000)
    const { admitted, nextAt, now } = await store.admit(false)
    expect(admitted).toBe(0)
    expect((nextAt ?? 0) - now).toBeGreaterThan(20_000)
    expect((nextAt ?? 0) - now).toBeLessThanOrEqual(30_000)
    await advance(31_000)
    expect(await taken(store, by)).toHaveLength(2)
  })

  on(
    'a run that has never run is pushed back by the next start with its key',
    async ({ store, advance }) => {
      const by = await joined(store, {})
      const lone = (changes: Partial<NewRun>) => ({
        run: newRun({ delayMs: 10_000, ...changes }),
        meta: null,
        message: null,
      })
      const [one, two, three] = [lone({ input: '1' }), lone({ input: '2' }), lone({ input: '3' })]
      const { uid, id } = one.run
      expect(await store.debounce(one, 'k')).toEqual({ kind: 'done', uid, id })
      await advance(8_000)
      expect(await store.debounce(two, 'k')).toEqual({ kind: 'done', uid, id })
      expect(await store.debounce(lone({}), 'other')).toMatchObject({ kind: 'done' })
      await advance(8_000)
      expect(await claimAll(store, by)).toEqual([])
      await advance(3_000)
      const claimed = await claimAll(store, by)
      expect(ids(claimed)).toContain(id)
      expect(await viewOf(store, one.run)).toMatchObject({ input: '2' })
      const other = { uid: three.run.uid, id: three.run.id }
      expect(await store.debounce(three, 'k')).toEqual({ kind: 'done', ...other })
      const limited = lone({ input: '4', limits: COUNTED })
      expect(await store.debounce(limited, 'k')).toEqual({ kind: 'done', ...other })
      expect(await viewOf(store, three.run)).toMatchObject({ input: '4', slot: false })
      // An id of a caller that is taken is taken here too.
      const again = lone({ id: one.run.id, input: '5' })
      expect(await store.debounce(again, 'new')).toMatchObject({ kind: 'exists', uid, same: false })
    },
  )

  on('a rate of a key; what has begun is not held up by it', async ({ store, advance }) => {
    const by = await joined(store, { perKey: 5, keyRate: { runs: 1, perMs: 60_000 } })
    const [first] = await started(store, by, 2, { limits: { workspace: '', key: 'a' } })
    await started(store, by, 2, { limits: { workspace: '', key: 'b' } })
    const claimed = await taken(store, by)
    expect(claimed).toHaveLength(2)
    const one = claimed.find(({ id }) => id === first?.id)
    if (!one || !first) return
    await commit(store, by, parked(fence(one, by)), signal(first))
    expect(ids(await taken(store, by))).toEqual([first.id])
    await advance(61_000)
    expect(await taken(store, by)).toHaveLength(2)
  })
}

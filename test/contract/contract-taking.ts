// Slots that are given together with the run: who admits may take, and takes only what a claim of its would take.

import { expect } from 'vitest'
import type { Claimed, NewRun, Store, Worker } from '../../src/kernel/store.js'
import type { LimitRules } from '../../src/model/admission.js'
import {
  cancel,
  claimAll,
  commit,
  ended,
  entry,
  newRun,
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

async function joined(
  store: Store,
  rules: Partial<LimitRules>,
  changes: Partial<Worker> = {},
): Promise<Worker> {
  const limits = { ...NONE, ...rules }
  const by = worker({ definitions: [{ name: 'order', version: '1', limits }], ...changes })
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

const fence = ({ uid, epoch, seq }: Claimed, by: Worker) => ({ uid, owner: by.id, epoch, seq })
const ids = (runs: readonly { readonly id: string }[]) => runs.map(({ id }) => id)
const sorted = (runs: readonly { readonly id: string }[]) => ids(runs).sort()

export function takingContract(on: Case): void {
  on('who admits takes what it gives slots to, and nobody has to claim it', async ({ store }) => {
    const by = await joined(store, { concurrency: 2 })
    const runs = await started(store, by, 5, { version: null })
    const { admitted, claimed } = await store.admit(false, by, 10)
    expect(admitted).toBe(2)
    expect(sorted(claimed)).toEqual(sorted(runs.slice(0, 2)))
    expect(claimed[0]).toMatchObject({ epoch: 1, seq: 1, version: '1', stop: null, crashes: 0 })
    const [first] = runs
    if (first) {
      expect(await viewOf(store, first)).toMatchObject({
        status: 'running',
        owner: by.id,
        slot: true,
        dueAt: null,
        startedAt: expect.any(Number),
        version: '1',
      })
    }
    expect(await claimAll(store, by)).toEqual([])
    const answers = await commit(store, by, ...claimed.map((one) => ended(fence(one, by))))
    expect(answers.map(({ kind }) => kind)).toEqual(['done', 'done'])
  })

  on(
    '[D22] the limit holds for what is taken too, however often it is asked and by whom',
    async ({ store }) => {
      const by = await joined(store, { concurrency: 3 })
      const other = await joined(store, { concurrency: 3 })
      await started(store, by, 9)
      const all = await Promise.all([
        store.admit(false, by, 2),
        store.admit(false, other, 5),
        store.admit(true, by, 5),
        store.admit(false),
      ])
      expect(all.reduce((sum, { admitted }) => sum + admitted, 0)).toBe(3)
      const again = await store.admit(false, by, 5)
      expect(again).toMatchObject({ admitted: 0, claimed: [] })
      const taken = all.flatMap(({ claimed }) => claimed)
      const due = await claimAll(store, by)
      expect(new Set(ids([...taken, ...due])).size).toBe(3)
      const [one] = all[0].claimed
      if (one) {
        await commit(store, by, ended(fence(one, by)))
        expect(await store.admit(false, by, 5)).toMatchObject({ admitted: 1 })
      }
    },
  )

  on(
    '[D23] no more than there are places for, by priority and then the longer asking; the others are due',
    async ({ store, advance }) => {
      const by = await joined(store, { concurrency: 4 })
      const [old] = await started(store, by, 1)
      await advance(1_000)
      const [young, younger] = await started(store, by, 2)
      const [urgent] = await started(store, by, 1, { priority: 9 })
      const { admitted, claimed } = await store.admit(false, by, 2)
      expect(admitted).toBe(4)
      expect(ids(claimed)).toEqual([urgent?.id, old?.id])
      expect(sorted(await claimAll(store, by))).toEqual([young?.id, younger?.id].sort())
    },
  )

  on('each key gets its turn, and its taken runs are counted', async ({ store }) => {
    const by = await joined(store, { concurrency: 3, perKey: 2 })
    const many = await started(store, by, 10, { limits: { workspace: '', key: 'many' } })
    const [few] = await started(store, by, 1, { limits: { workspace: '', key: 'few' } })
    const { claimed } = await store.admit(false, by, 10)
    expect(sorted(claimed)).toEqual(sorted([...many.slice(0, 2), ...(few ? [few] : [])]))
    const use = await store.read.limitUse()
    expect(use.find(({ name }) => name === 'many')).toMatchObject({ used: 2, asking: 8 })
  })

  on('what the taker has no code for is due for others', async ({ store }) => {
    const by = await joined(store, { concurrency: 9 })
    const other = await joined(store, { concurrency: 9 }, { build: 'b2' })
    const [old] = await started(store, by, 1, { version: '0' })
    const [foreign] = await started(store, by, 1, { definition: 'foreign' })
    const [own] = await started(store, by, 1)
    const { admitted, claimed } = await store.admit(false, other, 9)
    expect(admitted).toBe(3)
    expect(ids(claimed)).toEqual([own?.id])
    for (const run of [old, foreign]) {
      if (run) expect(await viewOf(store, run)).toMatchObject({ status: 'pending', owner: null })
    }
  })

  on('what is paused or to be cancelled is not taken', async ({ store }) => {
    const by = await joined(store, { concurrency: 9 })
    const [paused, cancelled, own] = await started(store, by, 3)
    if (!paused || !cancelled) return
    await store.setPaused(paused, true)
    await commit(store, by, cancel(cancelled))
    const { admitted, claimed } = await store.admit(false, by, 9)
    expect(admitted).toBe(1)
    expect(ids(claimed)).toEqual([own?.id])
    await store.setPaused(paused, false)
    expect(ids((await store.admit(false, by, 9)).claimed)).toEqual([paused.id])
  })

  on('one that was found diverged gets its slot, and is claimed by itself', async ({ store }) => {
    const by = await joined(store, { concurrency: 1 })
    await started(store, by, 1)
    const [one] = (await store.admit(false, by, 1)).claimed
    if (!one) return expect.unreachable()
    const next = park({ reason: 'diverged', divergedBuild: by.build })
    await commit(store, by, turn(fence(one, by), { entries: [entry()], next }))
    expect(await store.admit(false, by, 1)).toMatchObject({ admitted: 0, claimed: [] })
    const other = await joined(store, { concurrency: 1 }, { build: 'b2' })
    expect(await store.admit(false, other, 1)).toMatchObject({ admitted: 1, claimed: [] })
    expect(ids(await claimAll(store, other))).toEqual([one.id])
  })

  on('one that has made workers crash is claimed by itself', async ({ store, advance }) => {
    let by = await joined(store, { concurrency: 1 }, { leaseMs: 1_000 })
    const [run] = await started(store, by, 1)
    await store.admit(false, by, 1)
    for (let crashes = 1; crashes <= 2; crashes += 1) {
      const last = by
      by = await joined(store, { concurrency: 1 }, { leaseMs: 1_000 })
      await advance(5_000)
      await store.beat(by)
      await store.reap([{ id: last.id, beat: crashes - 1 }], false)
      if (crashes < 2) expect(await claimAll(store, by)).toHaveLength(1)
    }
    if (!run) return
    await store.setPaused(run, true)
    await store.setPaused(run, false)
    expect(await viewOf(store, run)).toMatchObject({ crashes: 2, slot: false })
    expect(await store.admit(false, by, 1)).toMatchObject({ admitted: 1, claimed: [] })
    expect(ids((await store.claim(by, 1, 1)).claimed)).toEqual([run.id])
  })

  on('one that has waited is taken again, under the next epoch', async ({ store }) => {
    const by = await joined(store, { concurrency: 1, rate: { runs: 1, perMs: 60_000 } })
    const [run, other] = await started(store, by, 2)
    const [one] = (await store.admit(false, by, 9)).claimed
    if (!run || !one) return expect.unreachable()
    expect(one.id).toBe(run.id)
    await commit(store, by, parked(fence(one, by)), signal(run))
    const { claimed, nextAt } = await store.admit(false, by, 9)
    // The rate has let one begin, and holds up the other.
    expect(claimed).toMatchObject([{ id: run.id, epoch: 2, inbox: 1 }])
    expect(nextAt).not.toBeNull()
    if (other) expect(await viewOf(store, other)).toMatchObject({ slot: false, owner: null })
  })

  on('a run of a definition that has no limits any more is taken too', async ({ store }) => {
    const by = await joined(store, { concurrency: 1 })
    const run = newRun({ limits: COUNTED })
    await store.commit(by, [{ kind: 'start', run, claim: false }], { resent: false, feed: false })
    const plain = worker()
    await store.join(plain)
    expect(ids((await store.admit(false, plain, 1)).claimed)).toEqual([run.id])
    expect(await viewOf(store, run)).toMatchObject({ slot: null, owner: plain.id })
  })

  on('a beat names what was taken, so that an answer that is lost is healed', async ({ store }) => {
    const by = await joined(store, { concurrency: 1 })
    const [run] = await started(store, by, 1)
    await store.admit(false, by, 1)
    const { owned } = await store.beat(by)
    expect(owned.map(({ row }) => row.id)).toEqual([run?.id])
  })
}

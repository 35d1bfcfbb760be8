import { expect } from 'vitest'
import type { NewRun, Store, Worker } from '../../src/kernel/store.js'
import type { RunId, Uid } from '../../src/model/ids.js'
import {
  claimAll,
  ENDED,
  ended,
  entry,
  fenceOf,
  historyOf,
  mailOf,
  newUid,
  ownedRun,
  PLAIN,
  viewOf,
  worker,
} from './builders.js'
import type { Case } from './store-contract.js'

export function reopenContract(on: Case): void {
  on('re-opens the whole chain or nothing', async ({ store }) => {
    const by = worker()
    const [parent, kid] = [await failed(store, by), await failed(store, by)]
    const reopened = entry({ kind: 'run.reopened', name: '', occurrence: 0, attempt: 0 })
    const chain = (attempt: number) => [
      { uid: kid.uid, attempt: 1, entry: reopened, due: true },
      { uid: parent.uid, attempt, entry: reopened, due: false },
    ]
    expect(await store.reopen(chain(2))).toBe('changed')
    expect(await viewOf(store, kid)).toMatchObject({ status: 'failed', attempt: 1, seq: 2 })
    expect(await store.reopen(chain(1))).toBe('done')
    expect(await viewOf(store, kid)).toMatchObject({
      status: 'waiting',
      attempt: 2,
      seq: 3,
      crashes: 0,
      finishedAt: null,
      end: null,
    })
    expect(await viewOf(store, parent)).toMatchObject({
      status: 'waiting',
      reason: 'child',
      attempt: 2,
      dueAt: null,
    })
    expect((await historyOf(store, parent)).at(-1)).toEqual({ ...reopened, seq: 3 })
    expect(await store.reopen(chain(1))).toBe('changed')
    expect(await claimAll(store, by)).toMatchObject([{ uid: kid.uid, attempt: 2, seq: 3 }])
  })

  on('tells it of its children under an id that ended while it was over', async ({ store }) => {
    const by = worker()
    const parent = await failed(store, by)
    const of = { parent: { uid: parent.uid, id: parent.id } }
    const uid = newUid()
    const [named] = [
      await failed(store, by, of),
      await failed(store, by, { ...of, ...unnamed(uid) }),
    ]
    await ownedRun(store, by, of)
    const reopened = entry({ kind: 'run.reopened', name: '', occurrence: 0, attempt: 0 })
    const link = { uid: parent.uid, entry: reopened, due: false }
    expect(await store.reopen([{ ...link, attempt: 1 }])).toBe('done')
    const told = { kind: 'child', no: 1, id: `child:${named.uid}:1`, name: '' }
    const meta = { uid: named.uid, status: 'failed' }
    const [claimed] = await claimAll(store, by)
    expect(claimed).toMatchObject({ uid: parent.uid, attempt: 2, inbox: 1 })
    const fence = fenceOf(parent, by, 2, 3)
    expect(await mailOf(store, fence)).toMatchObject([{ ...told, meta, payload: ENDED.payload }])

    // Heard of once, it is not told again.
    await store.commit(by, [ended(fence, { status: 'failed' })], PLAIN)
    expect(await store.reopen([{ ...link, attempt: 2, due: true }])).toBe('done')
    expect(await claimAll(store, by)).toMatchObject([{ uid: parent.uid, attempt: 3, inbox: 1 }])
  })

  on('drops a deadline that has passed, and no other', async ({ store, advance }) => {
    const by = worker()
    const late = await failed(store, by, { timeoutMs: 1_000 })
    const early = await failed(store, by, { timeoutMs: 60_000 })
    const { deadlineAt } = await viewOf(store, early)
    await advance(1_000)
    const reopened = entry({ kind: 'run.reopened', name: '', occurrence: 0, attempt: 0 })
    const link = { attempt: 1, entry: reopened, due: false }
    const chain = [late, early].map(({ uid }) => ({ uid, ...link }))
    expect(await store.reopen(chain)).toBe('done')
    expect(await viewOf(store, late)).toMatchObject({ status: 'waiting', deadlineAt: null })
    expect(await viewOf(store, early)).toMatchObject({ status: 'waiting', deadlineAt })
    expect(await claimAll(store, by)).toEqual([])
  })
}

const unnamed = (uid: Uid) => ({ uid, id: uid as string as RunId })

async function failed(store: Store, by: Worker, changes: Partial<NewRun> = {}) {
  const run = await ownedRun(store, by, changes)
  await store.commit(by, [ended(fenceOf(run, by), { status: 'failed' })], PLAIN)
  return run
}

import { expect } from 'vitest'
import type { NewRun, Store, Worker } from '../../src/kernel/store.js'
import {
  claimAll,
  ended,
  entry,
  fenceOf,
  historyOf,
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

async function failed(store: Store, by: Worker, changes: Partial<NewRun> = {}) {
  const run = await ownedRun(store, by, changes)
  await store.commit(by, [ended(fenceOf(run, by), { status: 'failed' })], PLAIN)
  return run
}

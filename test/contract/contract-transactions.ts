import { expect } from 'vitest'
import {
  cancel,
  child,
  commit,
  ended,
  fenceOf,
  historyOf,
  kinds,
  ownedRun,
  signal,
  start,
  step,
  viewOf,
  worker,
} from './builders.js'
import { type Case, TRANSACTIONAL } from './store-contract.js'

/** What holds for every store; what the user's statements do is in transactions.test.ts. */
export function transactionContract(on: Case): void {
  on(
    'close writes the delta',
    async ({ store }) => {
      const by = worker()
      const run = await ownedRun(store, by)
      const transaction = await store.open(by, 1_000)
      const kid = child(run)
      const { answers } = await transaction.close(step(fenceOf(run, by), { starts: [kid] }), {
        feed: false,
      })
      expect(answers).toMatchObject([{ kind: 'done', uid: run.uid, repeated: false }])
      expect(await historyOf(store, run)).toHaveLength(2)
      expect((await viewOf(store, kid.run)).status).toBe('pending')
      expect(await store.resolve(fenceOf(run, by), 2)).toBe('applied')
    },
    TRANSACTIONAL,
  )

  on(
    'takes no lock on the run before close',
    async ({ store }) => {
      const by = worker()
      const run = await ownedRun(store, by)
      const transaction = await store.open(by, 1_000)
      await transaction.rollback()
      expect(await kinds(store, by, signal(run), step(fenceOf(run, by)))).toEqual(['done', 'done'])
    },
    TRANSACTIONAL,
  )

  on(
    'any answer but done means it was rolled back',
    async ({ store }) => {
      const by = worker()
      const run = await ownedRun(store, by)
      const stale = await (await store.open(by, 1_000)).close(step(fenceOf(run, by, 2)), {
        feed: false,
      })
      expect(stale.answers).toEqual([{ kind: 'stale' }])
      await commit(store, by, cancel(run))
      const stopping = await (await store.open(by, 1_000)).close(ended(fenceOf(run, by)), {
        feed: false,
      })
      expect(stopping.answers).toEqual([{ kind: 'stopping', stop: 'cancel' }])
      expect(await historyOf(store, run)).toHaveLength(1)
    },
    TRANSACTIONAL,
  )

  on('resolve tells what became of it', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const fence = fenceOf(run, by)
    expect(await store.resolve(fence, 2)).toBe('absent')
    await commit(store, by, step(fence))
    expect(await store.resolve(fence, 2)).toBe('applied')
    expect(await store.resolve(fenceOf(run, by, 2), 2)).toBe('stale')
    expect(await store.resolve(fenceOf(run, worker()), 3)).toBe('stale')
    expect(await store.resolve(fenceOf(start().run, by), 2)).toBe('stale')
  })
}

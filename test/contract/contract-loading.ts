// What load leaves out of a journal with rounds, and what it says beside the entries.

import { expect } from 'vitest'
import type { NewEntry } from '../../src/model/run.js'
import {
  claimAll,
  commit,
  ended,
  entry,
  fenceOf,
  historyOf,
  ownedRun,
  signal,
  turn,
  worker,
} from './builders.js'
import type { Case } from './store-contract.js'

export function loadingContract(on: Case): void {
  on(
    'from the beginning leaves out what the last end of a round says is behind',
    async ({ store }) => {
      const by = worker()
      const run = await ownedRun(store, by)
      const fence = (seq: number) => fenceOf(run, by, 1, seq)
      const load = async (fromSeq: number) => {
        const [loaded] = await store.load([{ fence: fence(0), fromSeq, fromNo: 0 }])
        return loaded?.entries.map(({ seq }) => seq)
      }
      const append = (seq: number, ...entries: NewEntry[]) =>
        commit(store, by, turn(fence(seq), { entries }))
      const step = (name: string) => entry({ name })
      const round = (name: string, ...behind: number[]) =>
        entry({ kind: 'round.ended', name, meta: { behind } })
      await append(1, step('before'), step('m@1/a'), step('m@1/b'), round('m@1', 3, 4))
      expect(await load(0)).toEqual([1, 2, 5])
      await append(5, step('beside'), step('m@2/a'), round('m@2', 3, 5, 7, 7), step('m@3/a'))
      expect(await load(0)).toEqual([1, 2, 6, 8, 9])
      // Only from the beginning: who has it in memory asks for what is new.
      expect(await load(2)).toEqual([3, 4, 5, 6, 7, 8, 9])
      expect(await load(8)).toEqual([9])
      expect((await historyOf(store, run)).map(({ seq }) => seq)).toEqual([
        1, 2, 3, 4, 5, 6, 7, 8, 9,
      ])
      // One that says nothing of it has left nothing behind.
      await append(9, round('n@1'))
      expect(await load(0)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
      await append(10, entry({ kind: 'round.ended', name: 'n@2', meta: null }))
      expect(await load(0)).toHaveLength(11)
    },
  )

  on('after a re-opening leaves out what that says is behind', async ({ store }) => {
    const by = worker()
    const [plain, told] = [await ownedRun(store, by), await ownedRun(store, by)]
    const reopening = { kind: 'run.reopened', name: '', occurrence: 0, attempt: 2 } as const
    for (const [run, behind] of [
      [plain, null],
      [told, [2, 2]],
    ] as const) {
      const entries = [
        entry({ name: 'm@1/a' }),
        entry({ kind: 'round.ended', name: 'm@1', meta: { behind: [2, 2] } }),
        entry({ kind: 'step.failed', name: 'other' }),
        entry({ kind: 'round.ended', name: 'm@2', meta: { behind: [2, 3] } }),
      ]
      await commit(store, by, turn(fenceOf(run, by), { entries }))
      await commit(store, by, ended(fenceOf(run, by, 1, 5), { status: 'failed' }))
      const meta = behind && { behind }
      const { uid } = run
      expect(
        await store.reopen([{ uid, attempt: 1, entry: entry({ ...reopening, meta }), due: true }]),
      ).toBe('done')
    }
    const claimed = await claimAll(store, by)
    const loaded = await store.load(
      claimed.map(({ uid, epoch }) => ({
        ...{ fence: { uid, owner: by.id, epoch, seq: 0 }, fromSeq: 0, fromNo: 0 },
      })),
    )
    const seqs = new Map(loaded.map(({ uid, entries }) => [uid, entries.map(({ seq }) => seq)]))
    expect(seqs.get(plain.uid)).toEqual([1, 2, 3, 4, 5, 6, 7])
    expect(seqs.get(told.uid)).toEqual([1, 3, 4, 5, 6, 7])
  })

  on('from the beginning says which message was taken last', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const taken = async (fromSeq = 0) => {
      const [loaded] = await store.load([{ fence: fenceOf(run, by), fromSeq, fromNo: 0 }])
      return loaded?.taken
    }
    expect(await taken()).toBe(0)
    await commit(store, by, signal(run), signal(run), signal(run))
    expect(await taken()).toBe(0)
    await commit(store, by, turn(fenceOf(run, by), { entries: [entry()], taken: [2, 1] }))
    expect(await taken()).toBe(2)
    expect(await taken(1)).toBe(0)
  })
}

// Messages whose senders wait for more than their being taken.

import { expect } from 'vitest'
import type { NewRun, Store, Worker } from '../../src/kernel/store.js'
import {
  commit,
  ENDED,
  end,
  entry,
  fenceOf,
  newMessage,
  ownedRun,
  park,
  RESENT,
  signal,
  turn,
  worker,
} from './builders.js'
import type { Case } from './store-contract.js'

/** A run with two triggers in its mailbox. */
async function asked(store: Store, by: Worker): Promise<NewRun> {
  const run = await ownedRun(store, by)
  await commit(store, by, signal(run, newMessage({ kind: 'trigger' })))
  await commit(store, by, signal(run, newMessage({ kind: 'trigger' })))
  return run
}

async function calledOf(store: Store, { uid }: NewRun, ...numbers: readonly number[]) {
  const said = await store.called(numbers.map((no) => ({ uid, no })))
  return said
    .toSorted((a, b) => a.no - b.no)
    .map(({ no, fate, reply }) => [no, fate, reply && [reply.kind, reply.payload]])
}

export function answerContract(on: Case): void {
  on('is left out until an entry answers it, and then has that entry', async ({ store }) => {
    const by = worker()
    const run = await asked(store, by)
    const taken = entry({ kind: 'message.taken', name: 'go' })
    const takes = turn(fenceOf(run, by), {
      entries: [taken, taken],
      taken: [1, 2],
      answers: [{ no: 1, entry: null }],
    })
    await commit(store, by, takes)
    expect(await calledOf(store, run, 1, 2)).toEqual([[2, 'taken', null]])
    const failed = entry({ kind: 'step.failed', payload: '"why"' })
    const answers = [{ no: 1, entry: 2 }]
    const answering = turn(fenceOf(run, by, 1, 3), { entries: [entry(), failed], answers })
    await commit(store, by, answering)
    const said = [
      [1, 'taken', ['step.failed', '"why"']],
      [2, 'taken', null],
    ]
    expect(await calledOf(store, run, 1, 2)).toEqual(said)
    await store.commit(by, [answering], RESENT)
    expect(await calledOf(store, run, 1, 2)).toEqual(said)
  })

  on('may be taken and answered in one turn', async ({ store }) => {
    const by = worker()
    const run = await asked(store, by)
    const answers = [
      { no: 1, entry: null },
      { no: 1, entry: 2 },
    ]
    const entries = [entry({ kind: 'message.taken' }), entry({ payload: '"moved"' })]
    await commit(store, by, turn(fenceOf(run, by), { entries, taken: [1], answers, next: park() }))
    expect(await calledOf(store, run, 1)).toEqual([[1, 'taken', ['step.completed', '"moved"']]])
  })

  on('that a turn would answer which is not applied waits on', async ({ store }) => {
    const by = worker()
    const run = await asked(store, by)
    const takes = { entries: [entry()], taken: [1], answers: [{ no: 1, entry: null }] }
    await commit(store, by, turn(fenceOf(run, by), takes))
    const answers = [{ no: 1, entry: 1 }]
    const stale = turn(fenceOf(run, by, 1, 1), { entries: [entry()], answers })
    expect(await commit(store, by, stale)).toEqual([{ kind: 'stale' }])
    expect(await calledOf(store, run, 1)).toEqual([])
  })

  on('is only taken if the run has ended without answering it', async ({ store }) => {
    const by = worker()
    const run = await asked(store, by)
    const takes = { entries: [entry()], taken: [1], answers: [{ no: 1, entry: null }] }
    await commit(store, by, turn(fenceOf(run, by), takes))
    expect(await calledOf(store, run, 1, 2)).toEqual([])
    await commit(store, by, turn(fenceOf(run, by, 1, 2), { entries: [ENDED], next: end() }))
    expect(await calledOf(store, run, 1, 2)).toEqual([
      [1, 'taken', null],
      [2, 'finished', null],
    ])
  })
}

// Turns that bring their own messages to a run that was parked: the message, the claim and what came of it are one.

import { expect } from 'vitest'
import type { Brings, Fence, NewRun, Store, TurnDelta, Worker } from '../../src/kernel/store.js'
import {
  cancel,
  child,
  claimAll,
  commit,
  documentsOf,
  ENDED,
  end,
  entry,
  fenceOf,
  historyOf,
  kinds,
  mailOf,
  newDocument,
  newMessage,
  ownedRun,
  park,
  parked,
  parkedRun,
  RESENT,
  signal,
  step,
  turn,
  viewOf,
  worker,
} from './builders.js'
import type { Case } from './store-contract.js'

const TAKEN = entry({ kind: 'message.taken', name: 'wait' })

function brings(count = 1, changes: Partial<Brings> = {}): Brings {
  const messages = Array.from({ length: count }, () => newMessage({ kind: 'trigger' }))
  return { inbox: 0, messages, areNew: true, reactions: null, ...changes }
}

/** One message, which is taken and answered; the run waits again. */
function brought(fence: Fence, changes: Partial<TurnDelta> = {}): TurnDelta {
  const entries = [TAKEN, entry({ payload: '"moved"' })]
  const answers = [{ no: 1, entry: 2 }]
  const next = park({ seen: 1 })
  return turn(fence, { brings: brings(), entries, taken: [1], answers, next, ...changes })
}

const calledOf = async (store: Store, { uid }: NewRun, ...numbers: readonly number[]) =>
  (await store.called(numbers.map((no) => ({ uid, no }))))
    .toSorted((a, b) => a.no - b.no)
    .map(({ no, fate, reply }) => [no, fate, reply && [reply.kind, reply.payload]])

/** Nothing of the message is there, and nothing of the turn. */
async function isUntouched(store: Store, run: NewRun, delta: TurnDelta): Promise<void> {
  expect((await historyOf(store, run)).length).toBe(2)
  const id = delta.brings?.messages[0]?.id
  const by = await joined(store)
  const [known] = await commit(store, by, signal(run, { ...(id && { id }) }))
  if (known?.kind === 'done') expect(known.repeated).toBe(false)
}

async function joined(store: Store): Promise<Worker> {
  const by = worker()
  await store.join(by)
  return by
}

export function broughtContract(on: Case): void {
  on(
    'is stored with its message, and the run is parked under the same epoch',
    async ({ store }) => {
      const by = await joined(store)
      const run = await parkedRun(store, by)
      const [answer] = await commit(store, by, brought(fenceOf(run, by, 1, 2)))
      expect(answer).toMatchObject({
        kind: 'done',
        uid: run.uid,
        inbox: 1,
        stop: null,
        repeated: false,
      })
      expect(await viewOf(store, run)).toMatchObject({
        seq: 4,
        status: 'waiting',
        reason: 'signal',
        owner: null,
      })
      expect((await historyOf(store, run)).map(({ kind }) => kind).slice(2)).toEqual([
        'message.taken',
        'step.completed',
      ])
      expect(await calledOf(store, run, 1)).toEqual([[1, 'taken', ['step.completed', '"moved"']]])
      const next = brought(fenceOf(run, by, 1, 4), {
        brings: brings(1, { inbox: 1 }),
        taken: [2],
        answers: [{ no: 2, entry: null }],
        next: park({ seen: 2 }),
      })
      expect(await kinds(store, by, next)).toEqual(['done'])
      expect(await calledOf(store, run, 1, 2)).toHaveLength(1)
      const [claimed] = await claimAfterSignal(store, by, run)
      expect(claimed).toMatchObject({ epoch: 2, seq: 6, inbox: 3 })
    },
  )

  on('may leave the run with its owner, or end it', async ({ store }) => {
    const by = await joined(store)
    const [goes, ends] = [await parkedRun(store, by), await parkedRun(store, by)]
    const own = {
      entries: [TAKEN],
      answers: [{ no: 1, entry: null }],
      next: { kind: 'go' },
    } as const
    const last = { entries: [TAKEN, ENDED], answers: [], next: end() }
    const deltas = [brought(fenceOf(goes, by, 1, 2), own), brought(fenceOf(ends, by, 1, 2), last)]
    expect(await kinds(store, by, ...deltas)).toEqual(['done', 'done'])
    expect(await viewOf(store, goes)).toMatchObject({ status: 'running', owner: by.id, seq: 3 })
    expect(await viewOf(store, ends)).toMatchObject({ status: 'completed', owner: null, seq: 4 })
    expect(await kinds(store, by, step(fenceOf(goes, by, 1, 3)))).toEqual(['done'])
    expect((await store.beat(by)).owned.map(({ uid }) => uid)).toEqual([goes.uid])
  })

  on('leaves no run with a worker that has left', async ({ store }) => {
    const by = await joined(store)
    const run = await parkedRun(store, by)
    await store.leave(by)
    const own = { entries: [TAKEN], answers: [], next: { kind: 'go' } } as const
    const delta = brought(fenceOf(run, by, 1, 2), own)
    expect(await kinds(store, by, delta)).toEqual(['stale'])
    await isUntouched(store, run, delta)
  })

  on(
    'is stale where the run is not as it was left, and writes nothing',
    async ({ store, advance }) => {
      const by = await joined(store)
      const other = await joined(store)
      const wrong: readonly ((run: NewRun) => Promise<TurnDelta>)[] = [
        async (run) => brought(fenceOf(run, by, 1, 1)),
        async (run) => brought(fenceOf(run, by, 1, 3)),
        async (run) => brought(fenceOf(run, by, 2, 2)),
        async (run) => brought(fenceOf(run, other, 1, 2)),
        async (run) => brought(fenceOf(run, by, 1, 2), { brings: brings(1, { inbox: 1 }) }),
        // It tells of a time that has not come yet.
        async (run) => brought(fenceOf(run, by, 1, 2), { notBefore: 4_000_000_000_000 }),
      ]
      for (const one of wrong) {
        const run = await parkedRun(store, by)
        const delta = await one(run)
        expect(await kinds(store, by, delta)).toEqual(['stale'])
        await isUntouched(store, run, delta)
      }
      const since: readonly ((run: NewRun) => Promise<unknown>)[] = [
        (run) => commit(store, other, signal(run)),
        (run) => commit(store, other, signal(run, {}, true)),
        (run) => commit(store, other, cancel(run)),
        ({ workspace, id }) => store.setPaused({ workspace, id }, true),
      ]
      for (const happens of since) {
        const run = await parkedRun(store, by)
        await happens(run)
        const delta = brought(fenceOf(run, by, 1, 2))
        expect(await kinds(store, by, delta)).toEqual(['stale'])
        await isUntouched(store, run, delta)
      }
      const owned = await ownedRun(store, by)
      expect(await kinds(store, by, brought(fenceOf(owned, by, 1, 1)))).toEqual(['stale'])
      const timed = await ownedRun(store, by)
      const { now } = await store.beat(by)
      await commit(store, by, parked(fenceOf(timed, by), { reason: 'timer', dueAt: now + 5_000 }))
      const inTime = brought(fenceOf(timed, by, 1, 2), {
        next: park({ seen: 1, dueAt: now + 5_000 }),
      })
      expect(await kinds(store, by, inTime)).toEqual(['done'])
      await advance(6_000)
      const late = brought(fenceOf(timed, by, 1, 4), {
        brings: brings(1, { inbox: 1 }),
        taken: [2],
      })
      expect(await kinds(store, by, late)).toEqual(['stale'])
    },
  )

  on('[X05] sent again it is repeated, wherever the run is by then', async ({ store }) => {
    const by = await joined(store)
    const run = await parkedRun(store, by)
    const delta = brought(fenceOf(run, by, 1, 2))
    const idle = turn(fenceOf(await parkedRun(store, by), by, 1, 2), {
      brings: brings(),
      next: park({ seen: 1 }),
    })
    const again = async () => (await store.commit(by, [delta, idle], RESENT)).answers
    for (const answer of await again())
      expect(answer).toMatchObject({ kind: 'done', repeated: false })
    for (const answer of await again())
      expect(answer).toMatchObject({ kind: 'done', repeated: true })
    await commit(store, by, signal(run, {}, true))
    for (const answer of await again())
      expect(answer).toMatchObject({ kind: 'done', repeated: true })
    expect(await historyOf(store, run)).toHaveLength(4)
    const never = brought(fenceOf(await parkedRun(store, by), by, 1, 9))
    expect((await store.commit(by, [never], RESENT)).answers).toEqual([{ kind: 'stale' }])
  })

  on('whose message is there already is stale', async ({ store }) => {
    const by = await joined(store)
    const run = await ownedRun(store, by)
    const known = newMessage()
    await commit(store, by, { ...signal(run), message: known })
    const takes = { entries: [TAKEN], taken: [1], next: park({ seen: 1 }) }
    await commit(store, by, turn(fenceOf(run, by), takes))
    const doubtful = { inbox: 1, messages: [known], areNew: false, reactions: null }
    const delta = brought(fenceOf(run, by, 1, 2), { brings: doubtful, taken: [2], answers: [] })
    expect(await kinds(store, by, delta)).toEqual(['stale'])
    const fresh = { ...doubtful, messages: [newMessage()] }
    const next = park({ seen: 2 })
    const other = brought(fenceOf(run, by, 1, 2), { brings: fresh, taken: [2], answers: [], next })
    expect(await kinds(store, by, other)).toEqual(['done'])
  })

  on(
    'with several messages leaves in the mailbox what it has not taken, and refuses what it refuses',
    async ({ store }) => {
      const by = await joined(store)
      const run = await parkedRun(store, by)
      const many = brings(3)
      const next = { kind: 'go' } as const
      const delta = turn(fenceOf(run, by, 1, 2), {
        brings: many,
        entries: [TAKEN],
        taken: [2],
        refused: [1],
        next,
      })
      expect(await kinds(store, by, delta)).toEqual(['done'])
      expect(await calledOf(store, run, 1, 2, 3)).toEqual([
        [1, 'refused', null],
        [2, 'taken', null],
      ])
      const left = await mailOf(store, fenceOf(run, by, 1, 3))
      expect(left.map(({ no, id, payload }) => [no, id, payload])).toEqual([
        [3, many.messages[2]?.id, '"hello"'],
      ])
    },
  )

  on('that means more is stored whole as well', async ({ store }) => {
    const by = await joined(store)
    const parent = await parkedRun(store, by)
    const started = child(parent)
    const told = await parkedRun(store, by)
    const message = { to: told.uid, message: newMessage(), claim: false }
    const documents = [{ document: newDocument(), entry: 2 }]
    const shown = { state: '{"n":1}', at: { place: 'open', error: null } }
    const delta = brought(fenceOf(parent, by, 1, 2), {
      starts: [started],
      messages: [message],
      documents,
      shown,
    })
    expect(await kinds(store, by, delta)).toEqual(['done'])
    expect(await viewOf(store, parent)).toMatchObject({
      seq: 4,
      status: 'waiting',
      owner: null,
      place: 'open',
    })
    expect(await viewOf(store, started.run)).toMatchObject({ status: 'pending' })
    expect(await documentsOf(store, parent)).toHaveLength(1)
    expect(await calledOf(store, parent, 1)).toEqual([[1, 'taken', ['step.completed', '"moved"']]])
    expect((await claimAll(store, by)).map(({ uid }) => uid).toSorted()).toEqual(
      [started.run.uid, told.uid].toSorted(),
    )
    const lost = brought(fenceOf(parent, by, 1, 2), { starts: [child(parent)] })
    expect(await kinds(store, by, lost)).toEqual(['stale'])
    expect((await store.commit(by, [delta], RESENT)).answers).toMatchObject([
      { kind: 'done', repeated: true },
    ])
    expect(await documentsOf(store, parent)).toHaveLength(1)
  })

  on('in one batch with a message to its run comes before it', async ({ store }) => {
    const by = await joined(store)
    const run = await parkedRun(store, by)
    const batch = [signal(run), brought(fenceOf(run, by, 1, 2))]
    const [message, answer] = await commit(store, by, ...batch)
    expect(answer).toMatchObject({ kind: 'done' })
    expect(message).toMatchObject({ kind: 'done', messageNo: 2 })
    const [claimed] = await claimAll(store, by)
    expect(claimed).toMatchObject({ uid: run.uid, inbox: 2, seq: 4 })
  })

  on(
    'is stale where the mailbox has no room for it',
    async ({ store }) => {
      const by = await joined(store)
      const run = await parkedRun(store, by)
      const delta = (count: number) =>
        brought(fenceOf(run, by, 1, 2), { brings: brings(count), next: { kind: 'go' } })
      expect(await kinds(store, by, delta(4))).toEqual(['stale'])
      expect(await kinds(store, by, delta(3))).toEqual(['done'])
    },
    { mailboxMax: 3 },
  )

  on('is told to listeners like any other', async ({ store }) => {
    const by = await joined(store)
    const run = await parkedRun(store, by)
    const delta = brought(fenceOf(run, by, 1, 2))
    const { feedId } = await store.commit(by, [delta], { resent: false, feed: true })
    expect(feedId).not.toBeNull()
  })
}

async function claimAfterSignal(store: Store, by: Worker, run: NewRun) {
  await commit(store, by, signal(run))
  return claimAll(store, by)
}

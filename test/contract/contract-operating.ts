// Lone starts, callers' transactions, letters, pause and resume.

import { expect } from 'vitest'
import type { LoneStart, NewRun, Store, Within } from '../../src/kernel/store.js'
import type { MessageId } from '../../src/model/ids.js'
import {
  cancel,
  claimAll,
  commit,
  ended,
  fenceOf,
  historyOf,
  mailOf,
  newId,
  newMessage,
  newRun,
  ownedRun,
  parked,
  parkedRun,
  signal,
  start,
  step,
  turn,
  viewOf,
  worker,
} from './builders.js'
import { type Case, TRANSACTIONAL } from './store-contract.js'

const lone = (run: NewRun, changes: Partial<LoneStart> = {}): LoneStart => ({
  run,
  meta: { bornWith: 1 },
  message: null,
  ...changes,
})
const letter = (to: NewRun, name: string) => ({
  to: { workspace: to.workspace, id: to.id },
  id: newId('letter') as string as MessageId,
  name,
  payload: '"hello"',
})

/** Inside a transaction, which is committed or rolled back. */
async function inside(
  store: Store,
  how: 'commit' | 'rollback',
  body: (w: Within) => Promise<void>,
) {
  const transaction = await store.begin(5_000)
  await body({ client: transaction, isOurs: true })
  await transaction[how]()
}

export function operatingContract(on: Case): void {
  on(
    'a lone start is a pending run, due for anybody, with its input and what is said of it',
    async ({ store }) => {
      const by = worker()
      const run = newRun({ priority: 7, tags: { a: 'b' }, timeoutMs: 60_000 })
      expect(await store.startAlone(lone(run), null)).toEqual({ kind: 'done' })
      const view = await viewOf(store, run)
      expect(view).toMatchObject({ status: 'pending', uid: run.uid, tags: { a: 'b' }, seq: 1 })
      expect(view.deadlineAt).toBe(view.createdAt + 60_000)
      const [created] = await historyOf(store, run)
      expect(created).toMatchObject({
        kind: 'run.created',
        payload: run.input,
        meta: { bornWith: 1 },
      })
      expect(await claimAll(store, by)).toMatchObject([{ uid: run.uid, epoch: 1, inbox: 0 }])
    },
  )

  on(
    'a first message is in the mailbox of the new run, and the second sending changes nothing',
    async ({ store }) => {
      const by = worker()
      const run = newRun()
      const message = newMessage({ name: 'first' })
      await store.startAlone(lone(run, { message }), null)
      expect(await store.startAlone(lone(run, { message }), null)).toEqual({ kind: 'done' })
      expect(await claimAll(store, by)).toMatchObject([{ inbox: 1 }])
      const mail = await mailOf(store, fenceOf(run, by))
      expect(mail).toMatchObject([{ no: 1, id: message.id, name: 'first', payload: '"hello"' }])
      const [more] = await commit(store, by, signal(run))
      expect(more).toMatchObject({ kind: 'done', messageNo: 2 })
    },
  )

  on(
    'a lone start under an id that is taken says by whom, and stores nothing',
    async ({ store }) => {
      const { run } = start()
      await commit(store, worker(), start({ ...run }))
      const other = { ...newRun({ id: run.id }), input: run.input }
      const message = newMessage()
      const exists = { kind: 'exists', uid: run.uid, definition: 'order' }
      expect(await store.startAlone(lone(other, { message }), null)).toEqual({
        ...exists,
        same: true,
      })
      const changed = newRun({ id: run.id, input: '{"a":2}' })
      expect(await store.startAlone(lone(changed), null)).toEqual({ ...exists, same: false })
      const foreign = newRun({ id: run.id, definition: 'other' })
      expect(await store.startAlone(lone(foreign), null)).toEqual({ ...exists, same: false })
      expect(await claimAll(store, worker())).toMatchObject([{ inbox: 0 }])
    },
  )

  on(
    'what a transaction starts and posts is there after its commit',
    async ({ store }) => {
      const there = await parkedRun(store, worker())
      const run = newRun()
      await inside(store, 'commit', async (within) => {
        expect(await store.lookWithin(within, run)).toBeNull()
        expect(await store.startAlone(lone(run), within)).toEqual({ kind: 'done' })
        expect(await store.lookWithin(within, run)).toEqual({
          definition: 'order',
          status: 'pending',
        })
        await store.post(within, letter(run, 'one'))
        await store.post(within, letter(run, 'two'))
        await store.post(within, letter(there, 'three'))
        const again = newRun({ id: run.id })
        const answer = await store.startAlone(lone(again, { message: newMessage() }), within)
        expect(answer).toMatchObject({ kind: 'exists', uid: run.uid, same: true })
      })
      expect(await viewOf(store, run)).toMatchObject({ status: 'pending' })
      const letters = await store.letters(10)
      expect(letters.map(({ name }) => name)).toEqual(['one', 'two', 'three', 'go'])
      expect(letters[0]?.to).toEqual({ workspace: run.workspace, id: run.id })
      expect((await store.letters(1)).map(({ name }) => name)).toEqual(['one'])
      await store.burn(letters.slice(0, 3).map(({ no }) => no))
      expect((await store.letters(10)).map(({ name }) => name)).toEqual(['go'])
      expect(await viewOf(store, there)).toMatchObject({ status: 'waiting', dueAt: null })
    },
    TRANSACTIONAL,
  )

  on(
    'what a transaction starts and posts never was if it is rolled back',
    async ({ store }) => {
      const run = newRun()
      await inside(store, 'rollback', async (within) => {
        await store.startAlone(lone(run, { message: newMessage() }), within)
        await store.post(within, letter(run, 'one'))
      })
      expect(await store.read.get(run.workspace, run.id)).toBeNull()
      expect(await store.letters(10)).toEqual([])
      expect(await store.startAlone(lone(newRun({ id: run.id })), null)).toEqual({ kind: 'done' })
    },
    TRANSACTIONAL,
  )

  on('a paused run is claimed by nobody, whatever becomes due or is sent to it', async (s) => {
    const by = worker()
    const run = await ownedRun(s.store, by)
    const { now } = await s.store.beat(by)
    await commit(s.store, by, parked(fenceOf(run, by), { reason: 'timer', dueAt: now + 1_000 }))
    expect(await s.store.setPaused(run, true)).toEqual({ kind: 'done', uid: run.uid })
    expect(await s.store.setPaused(run, true)).toEqual({ kind: 'done', uid: run.uid })
    expect(await viewOf(s.store, run)).toMatchObject({
      status: 'waiting',
      reason: 'paused',
      stop: 'pause',
      dueAt: now + 1_000,
    })
    await s.advance(5_000)
    const [sent] = await commit(s.store, by, signal(run, {}, true))
    expect(sent).toMatchObject({ kind: 'done', stop: 'pause' })
    expect(await claimAll(s.store, by)).toEqual([])
    expect(await s.store.setPaused(run, false)).toEqual({ kind: 'done', uid: run.uid })
    expect(await claimAll(s.store, by)).toMatchObject([{ uid: run.uid, inbox: 1, stop: null }])
  })

  on('a paused run is not timed out before it is resumed', async (s) => {
    const by = worker()
    const run = await parkedRun(s.store, by, { timeoutMs: 1_000 })
    await s.store.setPaused(run, true)
    await s.advance(5_000)
    expect(await claimAll(s.store, by)).toEqual([])
    await s.store.setPaused(run, false)
    expect(await claimAll(s.store, by)).toMatchObject([{ uid: run.uid }])
  })

  on(
    'the owner of a paused run hears of it by its next answer and by its beat, and cannot end it',
    async ({ store }) => {
      const by = worker()
      await store.join(by)
      const run = await ownedRun(store, by)
      await store.setPaused(run, true)
      expect(await viewOf(store, run)).toMatchObject({ status: 'running', stop: 'pause' })
      expect((await store.beat(by)).owned).toMatchObject([{ uid: run.uid, stop: 'pause' }])
      expect(await commit(store, by, step(fenceOf(run, by)))).toMatchObject([
        { kind: 'done', stop: 'pause' },
      ])
      const fence = fenceOf(run, by, 1, 2)
      expect(await commit(store, by, ended(fence))).toEqual([{ kind: 'stopping', stop: 'pause' }])
      await commit(store, by, turn(fence, { next: { kind: 'release' } }))
      const rests = { status: 'waiting', reason: 'paused', dueAt: null, owner: null }
      expect(await viewOf(store, run)).toMatchObject(rests)
      await store.setPaused(run, false)
      expect(await claimAll(store, by)).toMatchObject([{ uid: run.uid, epoch: 2, seq: 2 }])
    },
  )

  on('a run that is resumed while it is still owned goes on', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    await store.setPaused(run, true)
    await store.setPaused(run, false)
    expect(await viewOf(store, run)).toMatchObject({ status: 'running', stop: null })
    expect(await commit(store, by, ended(fenceOf(run, by)))).toMatchObject([{ kind: 'done' }])
  })

  on('a paused run that never ran is due when it was due before', async (s) => {
    const by = worker()
    const { run, ...delta } = start({ delayMs: 60_000 })
    await commit(s.store, by, { ...delta, run })
    const { dueAt } = await viewOf(s.store, run)
    await s.store.setPaused(run, true)
    expect(await viewOf(s.store, run)).toMatchObject({ status: 'waiting', reason: 'paused' })
    await s.store.setPaused(run, false)
    expect(await viewOf(s.store, run)).toMatchObject({ status: 'pending', reason: null, dueAt })
    expect(await claimAll(s.store, by)).toEqual([])
    await s.advance(60_000)
    expect(await claimAll(s.store, by)).toMatchObject([{ uid: run.uid }])
  })

  on('a diverged run that was paused is diverged again', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const next = { reason: 'diverged', divergedBuild: by.build } as const
    await commit(store, by, parked(fenceOf(run, by), next))
    await store.setPaused(run, true)
    expect(await viewOf(store, run)).toMatchObject({ reason: 'paused' })
    await store.setPaused(run, false)
    expect(await viewOf(store, run)).toMatchObject({ reason: 'diverged' })
    expect(await claimAll(store, by)).toEqual([])
    expect(await claimAll(store, worker({ build: 'b2' }))).toMatchObject([{ uid: run.uid }])
  })

  on(
    'pause and resume of what is unknown, over or being cancelled are refused',
    async ({ store }) => {
      const by = worker()
      const nobody = { kind: 'refused', code: 'RUN_NOT_FOUND', status: null }
      expect(await store.setPaused(newRun(), true)).toEqual(nobody)
      const over = await ownedRun(store, by)
      await commit(store, by, ended(fenceOf(over, by)))
      const finished = { kind: 'refused', code: 'RUN_FINISHED' }
      for (const isPaused of [true, false]) {
        expect(await store.setPaused(over, isPaused)).toEqual({ ...finished, status: 'completed' })
      }
      const going = await parkedRun(store, by)
      await store.setPaused(going, true)
      await commit(store, by, cancel(going))
      expect(await store.setPaused(going, false)).toEqual({
        ...finished,
        status: 'being cancelled',
      })
      expect(await claimAll(store, by)).toMatchObject([{ uid: going.uid, stop: 'cancel' }])
    },
  )
}

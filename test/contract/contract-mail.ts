import { expect } from 'vitest'
import type { NewRun } from '../../src/kernel/store.js'
import type { MessageId } from '../../src/model/ids.js'
import {
  cancel,
  claimAll,
  commit,
  ended,
  entry,
  fenceOf,
  kinds,
  mailOf,
  newMessage,
  ownedRun,
  PLAIN,
  park,
  parked,
  parkedRun,
  RESENT,
  signal,
  start,
  step,
  turn,
  viewOf,
  worker,
} from './builders.js'
import type { Case } from './store-contract.js'

export function mailContract(on: Case): void {
  on('is numbered per run without gaps, and stored as it is', async ({ store }) => {
    const by = worker()
    const [a, b] = [await ownedRun(store, by), await ownedRun(store, by)]
    const meta = { name: 'q', occurrence: 2 }
    const batch = [signal(a), signal(b), signal(a, { meta, payload: null, name: '' }), signal(a)]
    const committed = await store.commit(by, batch, PLAIN)
    const numbers = committed.answers.map((x) => (x.kind === 'done' ? x.messageNo : null))
    expect(numbers).toEqual([1, 1, 2, 3])
    expect(committed.answers[3]).toMatchObject({ uid: a.uid, inbox: 3, stop: null })
    const mail = await mailOf(store, fenceOf(a, by))
    expect(mail).toEqual(
      [batch[0], batch[2], batch[3]].map((delta, i) => ({
        ...delta?.message,
        no: i + 1,
        at: committed.now,
      })),
    )
  })

  on(
    '[X05] of a known id is answered with the first number and changes nothing',
    async ({ store }) => {
      const by = worker()
      const run = await ownedRun(store, by)
      const first = signal(run)
      await commit(store, by, signal(run), first)
      const same = signal(run, { id: first.message.id, payload: '"other"' })
      for (const options of [PLAIN, RESENT]) {
        const { answers } = await store.commit(by, [same, same], options)
        expect(answers).toMatchObject([
          { kind: 'done', messageNo: 2, inbox: 2, repeated: true },
          { kind: 'done', messageNo: 2, inbox: 2, repeated: true },
        ])
      }
      expect(await mailOf(store, fenceOf(run, by))).toHaveLength(2)
      const other = await ownedRun(store, by)
      const [elsewhere] = await commit(store, by, signal(other, { id: first.message.id }))
      expect(elsewhere).toMatchObject({ kind: 'done', messageNo: 1, repeated: false })
    },
  )

  on('with one id twice in one batch is stored once', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const id = 'same' as MessageId
    const { answers } = await store.commit(
      by,
      [signal(run, { id }), signal(run), signal(run, { id })],
      PLAIN,
    )
    expect(answers.map((a) => (a.kind === 'done' ? a.messageNo : a.kind))).toEqual([1, 2, 1])
    expect(await mailOf(store, fenceOf(run, by))).toHaveLength(2)
  })

  on('to an unknown run is refused', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const notFound = { kind: 'refused', code: 'RUN_NOT_FOUND', status: null }
    const elsewhere = { ...run, workspace: 'elsewhere' } as NewRun
    const batch = [signal(start().run), signal(elsewhere), signal(run)]
    expect(await commit(store, by, ...batch)).toMatchObject([notFound, notFound, { kind: 'done' }])
  })

  on('to a final run is refused, but a known id keeps its first answer', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const known = signal(run)
    await commit(store, by, known)
    await commit(store, by, ended(fenceOf(run, by)))
    const finished = { kind: 'refused', code: 'RUN_FINISHED', status: 'completed' }
    expect(await commit(store, by, signal(run), cancel(run), known)).toMatchObject([
      finished,
      finished,
      { kind: 'done', messageNo: 1 },
    ])
    expect(await viewOf(store, run)).toMatchObject({ stop: null, dueAt: null, status: 'completed' })
  })

  on(
    'is refused as MAILBOX_FULL beyond the limit of untaken ones; a cancel and a child are not',
    async ({ store }) => {
      const by = worker()
      const run = await ownedRun(store, by)
      const first = signal(run)
      const batch = [first, signal(run), signal(run), signal(run), first, cancel(run)]
      expect(await kinds(store, by, ...batch)).toEqual([
        'done',
        'done',
        'done',
        'refused',
        'done',
        'done',
      ])
      const full = { kind: 'refused', code: 'MAILBOX_FULL', status: 'running' }
      expect(await commit(store, by, signal(run), first)).toMatchObject([full, { messageNo: 1 }])
      const sender = await ownedRun(store, by)
      const message = newMessage({ kind: 'child' })
      const told = step(fenceOf(sender, by), { messages: [{ to: run.uid, message, claim: false }] })
      expect(await kinds(store, by, told)).toEqual(['done'])
      expect(await mailOf(store, fenceOf(run, by))).toHaveLength(5)
      const taken = turn(fenceOf(run, by), { entries: [entry()], taken: [1, 2, 4] })
      expect(await kinds(store, by, taken)).toEqual(['done'])
      expect(await kinds(store, by, signal(run), signal(run))).toEqual(['done', 'refused'])
    },
    { mailboxMax: 3 },
  )

  on('makes a parked run due at once, and only once', async ({ store }) => {
    const by = worker()
    const run = await parkedRun(store, by)
    expect(await claimAll(store, by)).toEqual([])
    await commit(store, by, signal(run))
    expect((await viewOf(store, run)).status).toBe('waiting')
    expect(await claimAll(store, by)).toMatchObject([{ uid: run.uid, inbox: 1 }])
    expect(await claimAll(store, by)).toEqual([])
  })

  on('wakes a sleeper before its time', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const dueAt = 4_000_000_000_000
    await commit(store, by, parked(fenceOf(run, by), { reason: 'timer', dueAt }))
    await commit(store, by, signal(run))
    expect(await claimAll(store, by)).toHaveLength(1)
  })

  on('to an owned run leaves it with its owner, who hears of it', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    await commit(store, worker(), signal(run))
    expect(await viewOf(store, run)).toMatchObject({ owner: by.id, dueAt: null })
    const [answer] = await commit(store, by, step(fenceOf(run, by)))
    expect(answer).toMatchObject({ kind: 'done', inbox: 1, stop: null })
    await store.join(by)
    expect((await store.beat(by)).owned).toMatchObject([{ uid: run.uid, inbox: 1 }])
  })

  on('does not wake a delayed run; a cancel does', async ({ store }) => {
    const by = worker()
    const delta = start({ delayMs: 60_000 })
    await commit(store, by, delta)
    await commit(store, by, signal(delta.run, {}, true))
    expect(await claimAll(store, by)).toEqual([])
    await commit(store, by, cancel(delta.run))
    expect(await claimAll(store, by)).toMatchObject([{ uid: delta.run.uid, stop: 'cancel' }])
  })

  on('with claim takes a parked run in the same commit', async ({ store }) => {
    const by = worker()
    const run = await parkedRun(store, worker())
    const committed = await store.commit(by, [signal(run, {}, true)], PLAIN)
    const { uid, id } = run
    expect(committed.claimed).toMatchObject([
      { uid, id, epoch: 2, seq: 2, inbox: 1, crashes: 0, stop: null },
    ])
    expect(await viewOf(store, run)).toMatchObject({
      owner: by.id,
      status: 'running',
      dueAt: null,
      reason: null,
    })
    expect(await mailOf(store, fenceOf(run, by, 2))).toHaveLength(1)
    expect(await kinds(store, by, step(fenceOf(run, by, 2, 2)))).toEqual(['done'])
  })

  on('with claim takes a pending run that is due', async ({ store }) => {
    const by = worker({ definitions: [{ name: 'order', version: '4' }] })
    const delta = start({ version: null })
    await commit(store, by, delta)
    const { claimed } = await store.commit(by, [signal(delta.run, {}, true)], PLAIN)
    expect(claimed).toMatchObject([{ uid: delta.run.uid, epoch: 1, version: '4' }])
  })

  on(
    'with claim takes nothing that is owned or lacks code; a cancel needs none',
    async ({ store }) => {
      const [by, other] = [worker(), worker({ definitions: [] })]
      const [owned, waiting] = [await ownedRun(store, by), await parkedRun(store, by)]
      const old = await parkedRun(store, by, { version: '0' })
      const claims = [signal(owned, {}, true), signal(waiting, {}, true)]
      expect((await store.commit(other, claims, PLAIN)).claimed).toEqual([])
      expect((await store.commit(by, [signal(old, {}, true)], PLAIN)).claimed).toEqual([])
      const cancelled = await store.commit(other, [cancel(waiting, {}, true)], PLAIN)
      expect(cancelled.claimed).toMatchObject([{ uid: waiting.uid, stop: 'cancel' }])
      expect((await store.commit(other, [cancel(owned, {}, true)], PLAIN)).claimed).toEqual([])
    },
  )

  on('with claim leaves a run alone that this build found diverged', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const diverged = park({ reason: 'diverged', divergedBuild: 'b1' })
    await commit(store, by, turn(fenceOf(run, by), { next: diverged }))
    expect((await store.commit(by, [signal(run, {}, true)], PLAIN)).claimed).toEqual([])
    const newer = worker({ build: 'b2' })
    const { claimed } = await store.commit(newer, [signal(run, {}, true)], PLAIN)
    expect(claimed).toMatchObject([{ uid: run.uid, epoch: 2, inbox: 2 }])
  })

  on('of a known id claims nothing', async ({ store }) => {
    const by = worker()
    const run = await parkedRun(store, by)
    const known = signal(run, {}, true)
    expect((await store.commit(by, [known], PLAIN)).claimed).toHaveLength(1)
    await commit(store, by, parked(fenceOf(run, by, 2, 2), { seen: 1 }))
    expect((await store.commit(by, [known], RESENT)).claimed).toEqual([])
    expect(await viewOf(store, run)).toMatchObject({ owner: null, dueAt: null })
  })

  on('to cancel sets stop, and a second cancel is a message like any other', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    expect(await commit(store, by, cancel(run), cancel(run))).toMatchObject([
      { kind: 'done', messageNo: 1, stop: 'cancel' },
      { kind: 'done', messageNo: 2, stop: 'cancel' },
    ])
    expect((await mailOf(store, fenceOf(run, by))).map(({ kind }) => kind)).toEqual([
      'cancel',
      'cancel',
    ])
  })

  on('of a turn goes by uid, with its delta or not at all', async ({ store }) => {
    const by = worker()
    const [sender, target] = [await ownedRun(store, by), await parkedRun(store, by)]
    const to = { to: target.uid, message: newMessage({ kind: 'child' }), claim: true }
    const stale = step(fenceOf(sender, by, 2), { messages: [to] })
    expect((await store.commit(by, [stale], PLAIN)).claimed).toEqual([])
    expect((await viewOf(store, target)).owner).toBeNull()
    const done = await store.commit(by, [step(fenceOf(sender, by), { messages: [to] })], PLAIN)
    expect(done.answers).toMatchObject([{ kind: 'done', uid: sender.uid, messageNo: 0 }])
    expect(done.claimed).toMatchObject([{ uid: target.uid, inbox: 1, epoch: 2 }])
  })

  on('of a turn to a final or unknown run is dropped, and the turn is done', async ({ store }) => {
    const by = worker()
    const [sender, final] = [await ownedRun(store, by), await ownedRun(store, by)]
    await commit(store, by, ended(fenceOf(final, by)))
    const messages = [final.uid, start().run.uid].map((to) => ({
      to,
      message: newMessage({ kind: 'child' }),
      claim: true,
    }))
    const committed = await store.commit(by, [step(fenceOf(sender, by), { messages })], PLAIN)
    expect(committed.answers).toMatchObject([{ kind: 'done' }])
    expect(committed.claimed).toEqual([])
    expect((await viewOf(store, final)).status).toBe('completed')
  })
}

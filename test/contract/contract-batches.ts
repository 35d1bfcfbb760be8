import { expect } from 'vitest'
import type { MessageId } from '../../src/model/ids.js'
import {
  cancel,
  child,
  claimAll,
  claimedStart,
  commit,
  ENDED,
  end,
  ended,
  fenceOf,
  historyOf,
  kinds,
  mailOf,
  newMessage,
  ownedRun,
  PLAIN,
  park,
  parked,
  parkedRun,
  signal,
  start,
  step,
  turn,
  viewOf,
  worker,
} from './builders.js'
import type { Case } from './store-contract.js'

/** Every pair of roles that one run can have in one batch. */
export function batchContract(on: Case): void {
  on('a start and a message to it', async ({ store }) => {
    const by = worker()
    for (const delta of [start(), claimedStart()]) {
      const answers = await commit(store, by, signal(delta.run), delta, signal(delta.run))
      expect(answers).toMatchObject([
        { messageNo: 1 },
        { kind: 'done' },
        { messageNo: 2, inbox: 2 },
      ])
    }
  })

  on('a start and a message that claims it', async ({ store }) => {
    const by = worker()
    const delta = start()
    const { claimed } = await store.commit(by, [delta, signal(delta.run, {}, true)], PLAIN)
    expect(claimed).toMatchObject([{ uid: delta.run.uid, epoch: 1, inbox: 1 }])
  })

  on('a start and a cancel of it', async ({ store }) => {
    const by = worker()
    const delta = start({ delayMs: 60_000 })
    expect(await kinds(store, by, delta, cancel(delta.run))).toEqual(['done', 'done'])
    expect(await claimAll(store, by)).toMatchObject([{ uid: delta.run.uid, stop: 'cancel' }])
  })

  on('a message and the run’s step', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const [message, own] = await commit(store, by, signal(run), step(fenceOf(run, by)))
    expect(message).toMatchObject({ kind: 'done', messageNo: 1 })
    expect(own).toMatchObject({ kind: 'done', inbox: 1 })
    expect(await historyOf(store, run)).toHaveLength(2)
  })

  on('a message and the run’s park', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    expect(await kinds(store, by, signal(run), parked(fenceOf(run, by)))).toEqual(['done', 'done'])
    expect(await claimAll(store, by)).toMatchObject([{ uid: run.uid, inbox: 1, seq: 2 }])
  })

  on('a message that claims and the run’s park', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const batch = [parked(fenceOf(run, by)), signal(run, {}, true)]
    const { claimed } = await store.commit(by, batch, PLAIN)
    expect(claimed).toMatchObject([{ uid: run.uid, epoch: 2, seq: 2, inbox: 1 }])
  })

  on(
    'a message and the run’s end: the end comes first, the message is refused',
    async ({ store }) => {
      const by = worker()
      const run = await ownedRun(store, by)
      const answers = await commit(store, by, signal(run), ended(fenceOf(run, by)), cancel(run))
      const refused = { kind: 'refused', code: 'RUN_FINISHED', status: 'completed' }
      expect(answers).toMatchObject([refused, { kind: 'done' }, refused])
      expect((await viewOf(store, run)).stop).toBeNull()
    },
  )

  on('a cancel and the run’s park', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    expect(await kinds(store, by, parked(fenceOf(run, by)), cancel(run))).toEqual(['done', 'done'])
    expect(await claimAll(store, by)).toMatchObject([{ uid: run.uid, stop: 'cancel' }])
  })

  on('a child’s end and its parent’s park', async ({ store }) => {
    const by = worker()
    const parent = await ownedRun(store, by)
    const kid = { ...child(parent), claim: true }
    await commit(store, by, step(fenceOf(parent, by), { starts: [kid] }))
    const message = newMessage({ kind: 'child', name: 'kid' })
    const parentParks = parked(fenceOf(parent, by, 1, 2), { reason: 'child' })
    const childEnds = turn(fenceOf(kid.run, by), {
      entries: [ENDED],
      next: end(),
      messages: [{ to: parent.uid, message, claim: true }],
    })
    const committed = await store.commit(by, [childEnds, parentParks], PLAIN)
    expect(committed.answers.map(({ kind }) => kind)).toEqual(['done', 'done'])
    expect(committed.claimed).toMatchObject([{ uid: parent.uid, epoch: 2, seq: 3, inbox: 1 }])
    expect(await mailOf(store, fenceOf(parent, by, 2))).toMatchObject([{ kind: 'child', no: 1 }])
  })

  on('a child’s end and its parent’s end: the result is dropped', async ({ store }) => {
    const by = worker()
    const parent = await ownedRun(store, by)
    const kid = await ownedRun(store, by)
    const message = newMessage({ kind: 'child' })
    const childEnds = turn(fenceOf(kid, by), {
      entries: [ENDED],
      next: end(),
      messages: [{ to: parent.uid, message, claim: true }],
    })
    const committed = await store.commit(by, [childEnds, ended(fenceOf(parent, by))], PLAIN)
    expect(committed.answers.map(({ kind }) => kind)).toEqual(['done', 'done'])
    expect(committed.claimed).toEqual([])
  })

  on('two runs that write to each other', async ({ store }) => {
    const by = worker()
    const [a, b] = [await ownedRun(store, by), await ownedRun(store, by)]
    const to = (uid: typeof a.uid) => [{ to: uid, message: newMessage(), claim: false }]
    const batch = [
      turn(fenceOf(a, by), { entries: [ENDED], messages: to(b.uid), next: park() }),
      turn(fenceOf(b, by), { entries: [ENDED], messages: to(a.uid), next: park() }),
    ]
    expect(await kinds(store, by, ...batch)).toEqual(['done', 'done'])
    const claimed = await claimAll(store, by)
    expect(claimed.map(({ inbox }) => inbox)).toEqual([1, 1])
  })

  on('messages from a caller and from two turns are all numbered', async ({ store }) => {
    const by = worker()
    const target = await parkedRun(store, by)
    const [a, b] = [await ownedRun(store, by), await ownedRun(store, by)]
    const tell = () => [{ to: target.uid, message: newMessage(), claim: false }]
    const batch = [
      step(fenceOf(a, by), { messages: tell() }),
      signal(target),
      step(fenceOf(b, by), { messages: [...tell(), ...tell()] }),
    ]
    expect(await kinds(store, by, ...batch)).toEqual(['done', 'done', 'done'])
    const [claimed] = await claimAll(store, by)
    expect(claimed?.inbox).toBe(4)
    const mail = await mailOf(store, fenceOf(target, by, 2))
    expect(mail.map(({ no }) => no)).toEqual([1, 2, 3, 4])
  })

  on('one message id from a caller and from a turn is stored once', async ({ store }) => {
    const by = worker()
    const [target, sender] = [await parkedRun(store, by), await ownedRun(store, by)]
    const id = 'one' as MessageId
    const messages = [{ to: target.uid, message: newMessage({ id }), claim: false }]
    const batch = [step(fenceOf(sender, by), { messages }), signal(target, { id })]
    expect(await kinds(store, by, ...batch)).toEqual(['done', 'done'])
    expect((await claimAll(store, by))[0]?.inbox).toBe(1)
  })

  on('a child started and told something by its parent’s same delta', async ({ store }) => {
    const by = worker()
    const parent = await ownedRun(store, by)
    const kid = child(parent)
    const messages = [{ to: kid.run.uid, message: newMessage(), claim: false }]
    expect(await kinds(store, by, step(fenceOf(parent, by), { starts: [kid], messages }))).toEqual([
      'done',
    ])
    expect(await claimAll(store, by)).toMatchObject([{ uid: kid.run.uid, inbox: 1 }])
  })

  on('two starts of one id, each with a message', async ({ store }) => {
    const by = worker()
    const a = start()
    const b = start({ id: a.run.id })
    const answers = await commit(store, by, a, signal(a.run), b, signal(b.run))
    expect(answers).toMatchObject([
      { kind: 'done' },
      { messageNo: 1 },
      { kind: 'exists', uid: a.run.uid, same: true },
      { messageNo: 2, uid: a.run.uid },
    ])
  })
}

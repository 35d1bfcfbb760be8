import { expect } from 'vitest'
import type { WorkerId } from '../../src/model/ids.js'
import {
  cancel,
  child,
  claimAll,
  claimedStart,
  commit,
  ENDED,
  end,
  ended,
  entry,
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
  RESENT,
  signal,
  start,
  step,
  turn,
  viewOf,
  worker,
} from './builders.js'
import type { Case } from './store-contract.js'

export function turnContract(on: Case): void {
  on('appends its entries behind the fence and answers with the row', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const fence = fenceOf(run, by)
    const entries = [entry({ kind: 'step.asked', payload: null }), entry({ meta: { no: 3 } })]
    const [answer] = await commit(store, by, turn(fence, { entries }))
    const { uid } = run
    expect(answer).toEqual({
      kind: 'done',
      uid,
      inbox: 0,
      stop: null,
      messageNo: 0,
      repeated: false,
    })
    const [, ...rest] = await historyOf(store, run)
    expect(rest).toEqual(entries.map((e, i) => ({ ...e, seq: i + 2 })))
    expect(await viewOf(store, run)).toMatchObject({ seq: 3, status: 'running', owner: by.id })
  })

  on('is stale under another owner, epoch or seq, and writes nothing', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const fence = fenceOf(run, by)
    const wrong = [
      { ...fence, owner: worker().id as WorkerId },
      { ...fence, epoch: 2 },
      { ...fence, epoch: 0 },
      { ...fence, seq: 0 },
      { ...fence, seq: 2 },
      fenceOf(start().run, by),
    ]
    for (const f of wrong) {
      const other = child(run)
      const delta = turn(f, {
        entries: [entry()],
        starts: [other],
        next: park(),
        messages: [{ to: run.uid, message: newMessage(), claim: false }],
      })
      expect(await kinds(store, by, delta)).toEqual(['stale'])
      expect(await kinds(store, by, step(f))).toEqual(['stale'])
      expect(await store.read.get('default', other.run.id)).toBeNull()
    }
    expect(await historyOf(store, run)).toHaveLength(1)
    expect(await mailOf(store, fence)).toEqual([])
    expect(await kinds(store, by, step(fence))).toEqual(['done'])
  })

  on('that is stale harms no other delta of its batch', async ({ store }) => {
    const by = worker()
    const [a, b] = [await ownedRun(store, by), await ownedRun(store, by)]
    const batch = [step(fenceOf(a, by, 9)), step(fenceOf(b, by)), start()]
    expect(await kinds(store, by, ...batch)).toEqual(['stale', 'done', 'done'])
    expect(await historyOf(store, a)).toHaveLength(1)
    expect(await historyOf(store, b)).toHaveLength(2)
  })

  on(
    '[X05] sent again is answered done as repeated, and nothing is written twice',
    async ({ store }) => {
      const by = worker()
      const [go, waits, ends, mails] = await Promise.all(
        [1, 2, 3, 4].map(() => ownedRun(store, by)),
      )
      const target = await parkedRun(store, by)
      if (!go || !waits || !ends || !mails) throw new Error('four runs')
      const kid = child(mails)
      const batch = [
        step(fenceOf(go, by)),
        parked(fenceOf(waits, by)),
        ended(fenceOf(ends, by)),
        step(fenceOf(mails, by), {
          starts: [kid],
          messages: [{ to: target.uid, message: newMessage(), claim: false }],
        }),
      ]
      expect(await kinds(store, by, ...batch)).toEqual(['done', 'done', 'done', 'done'])
      const before = await Promise.all(
        [go, waits, ends, mails, target].map((r) => viewOf(store, r)),
      )
      const again = await store.commit(by, batch, RESENT)
      expect(again.answers.map((a) => a.kind === 'done' && a.repeated)).toEqual([
        true,
        true,
        true,
        true,
      ])
      const after = await Promise.all([go, waits, ends, mails, target].map((r) => viewOf(store, r)))
      expect(after).toEqual(before)
      expect(await historyOf(store, kid.run)).toHaveLength(1)
      const [claimed] = await claimAll(store, worker(), 1)
      expect(claimed?.inbox).toBe(claimed?.uid === target.uid ? 1 : 0)
    },
  )

  on('sent again after another epoch has written there is stale', async ({ store }) => {
    const [a, b] = [worker(), worker()]
    await store.join(b)
    const run = await ownedRun(store, a)
    await store.reap([], true)
    const [claimed] = await claimAll(store, b)
    expect(claimed).toMatchObject({ uid: run.uid, epoch: 2 })
    expect(await kinds(store, b, step(fenceOf(run, b, 2)))).toEqual(['done'])
    const { answers } = await store.commit(a, [step(fenceOf(run, a))], RESENT)
    expect(answers).toEqual([{ kind: 'stale' }])
    expect(await historyOf(store, run)).toHaveLength(2)
  })

  on('without entries, sent again, counts as done', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const release = turn(fenceOf(run, by), { next: { kind: 'release' } })
    expect(await kinds(store, by, release)).toEqual(['done'])
    const { answers } = await store.commit(by, [release], RESENT)
    expect(answers[0]).toMatchObject({ kind: 'done', repeated: true })
  })

  on('sent for the first time under `resent` is applied', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const { answers } = await store.commit(by, [step(fenceOf(run, by))], RESENT)
    expect(answers[0]).toMatchObject({ kind: 'done', repeated: false })
    expect(await historyOf(store, run)).toHaveLength(2)
  })

  on(
    'with a timer outcome is early before its time, and done at it',
    async ({ store, advance }) => {
      const by = worker()
      const run = await ownedRun(store, by)
      const { now } = await store.commit(by, [], PLAIN)
      const due = now + 60_000
      const fired = step(fenceOf(run, by), {
        notBefore: due,
        entries: [entry({ kind: 'timer.fired' })],
      })
      expect(await kinds(store, by, fired)).toEqual(['early'])
      expect(await historyOf(store, run)).toHaveLength(1)
      await advance(60_000)
      expect(await kinds(store, by, fired)).toEqual(['done'])
    },
  )

  on('parks until its due time', async ({ store, advance }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const { now } = await store.commit(by, [], PLAIN)
    const dueAt = now + 10_000
    await commit(store, by, parked(fenceOf(run, by), { reason: 'timer', dueAt }))
    expect(await viewOf(store, run)).toMatchObject({
      status: 'waiting',
      reason: 'timer',
      dueAt,
      owner: null,
    })
    const claim = await store.claim(by, 10, 0)
    expect(claim).toMatchObject({ claimed: [], nextDueAt: dueAt })
    await advance(10_000)
    expect(await claimAll(store, by)).toMatchObject([{ uid: run.uid, epoch: 2, seq: 2 }])
  })

  on('parks as due at once if a message above `seen` is there', async ({ store }) => {
    const by = worker()
    const [unseen, seen] = [await ownedRun(store, by), await ownedRun(store, by)]
    await commit(store, by, signal(unseen), signal(unseen), signal(seen), signal(seen))
    const batch = [parked(fenceOf(unseen, by), { seen: 1 }), parked(fenceOf(seen, by), { seen: 2 })]
    expect(await kinds(store, by, ...batch)).toEqual(['done', 'done'])
    expect((await viewOf(store, seen)).dueAt).toBeNull()
    expect(await claimAll(store, by)).toMatchObject([{ uid: unseen.uid, inbox: 2 }])
  })

  on('released is due at once, and pending if it never got anywhere', async ({ store }) => {
    const by = worker()
    const [fresh, begun] = [await ownedRun(store, by), await ownedRun(store, by)]
    await commit(
      store,
      by,
      turn(fenceOf(fresh, by), { next: { kind: 'release' } }),
      step(fenceOf(begun, by), { next: { kind: 'release' } }),
    )
    expect(await viewOf(store, fresh)).toMatchObject({ status: 'pending', crashes: 0 })
    expect(await viewOf(store, begun)).toMatchObject({
      status: 'waiting',
      reason: null,
      crashes: 0,
    })
    expect(await claimAll(store, by)).toHaveLength(2)
  })

  on('ends the run for good, whatever its status says', async ({ store }) => {
    const by = worker()
    for (const status of ['completed', 'failed', 'cancelled', 'timed_out'] as const) {
      const run = await ownedRun(store, by)
      const kind = `run.${status}` as const
      const entries = [entry({ ...ENDED, kind, payload: '"bye"' })]
      const delta = turn(fenceOf(run, by), { entries, next: end({ status }) })
      expect(await kinds(store, by, delta)).toEqual(['done'])
      const view = await viewOf(store, run)
      expect(view).toMatchObject({ status, owner: null, dueAt: null, reason: null })
      expect(view.end).toEqual({ ...entries[0], seq: 2 })
      expect(view.finishedAt).toBe(view.updatedAt)
      expect(await kinds(store, by, step(fenceOf(run, by, 1, 2)))).toEqual(['stale'])
    }
    expect(await claimAll(store, by)).toEqual([])
  })

  on('[X08] that ends without having seen a cancel is answered stopping', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    await commit(store, by, cancel(run))
    const [answer] = await commit(store, by, ended(fenceOf(run, by)))
    expect(answer).toEqual({ kind: 'stopping', stop: 'cancel' })
    expect(await historyOf(store, run)).toHaveLength(1)
    const [done] = await commit(store, by, step(fenceOf(run, by)))
    expect(done).toMatchObject({ kind: 'done', stop: 'cancel', inbox: 1 })
    const seen = ended(fenceOf(run, by, 1, 2), { status: 'cancelled', stopSeen: 'cancel' })
    expect(await kinds(store, by, seen)).toEqual(['done'])
    expect((await viewOf(store, run)).status).toBe('cancelled')
  })

  on('parking a cancelled run makes it due at once', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    await commit(store, by, cancel(run))
    await commit(store, by, parked(fenceOf(run, by), { seen: 1 }))
    expect(await claimAll(store, by)).toMatchObject([{ uid: run.uid, stop: 'cancel' }])
  })

  on('[X06] starts its children if and only if it is applied', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const [due, taken, never] = [child(run), child(run), child(run)]
    const starts = [due, { ...taken, claim: true }]
    expect(await kinds(store, by, step(fenceOf(run, by), { starts }))).toEqual(['done'])
    expect(await kinds(store, by, step(fenceOf(run, by), { starts: [never] }))).toEqual(['stale'])
    expect(await viewOf(store, due.run)).toMatchObject({
      status: 'pending',
      parentUid: run.uid,
      parentId: run.id,
      input: '{"a":1}',
    })
    expect(await viewOf(store, taken.run)).toMatchObject({ status: 'running', owner: by.id })
    expect(await store.read.get('default', never.run.id)).toBeNull()
    expect(await claimAll(store, by)).toMatchObject([{ uid: due.run.uid, parentId: run.id }])
  })

  on('keeps instants exactly, to the end of time', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const instants = [0, 1, -1, 999, 1_700_000_000_001, 1_799_999_999_999, 8_999_999_999_999.5]
    instants.push(9_007_199_254_741, 253_402_300_799_999, 8_640_000_000_000_000)
    instants.push(...Array.from({ length: 200 }, (_, i) => 1_700_000_000_000 + i * 86_400_007))
    const entries = instants.map((at) => entry({ at }))
    expect(await kinds(store, by, turn(fenceOf(run, by), { entries }))).toEqual(['done'])
    const [, ...history] = await historyOf(store, run)
    expect(history.map(({ at }) => at)).toEqual(instants)
    const fence = fenceOf(run, by, 1, 1 + instants.length)
    const [loaded] = await store.load([{ fence, fromSeq: 1, fromNo: 0 }])
    expect(loaded?.entries.map(({ at }) => at)).toEqual(instants)
    for (const dueAt of [1, 1_900_000_000_123, 8_640_000_000_000_000]) {
      const other = await ownedRun(store, by)
      await commit(store, by, parked(fenceOf(other, by), { reason: 'timer', dueAt }))
      expect((await viewOf(store, other)).dueAt).toBe(dueAt)
    }
  })

  on('takes messages: they are not given again and their ids stay known', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const [a, b, c] = [signal(run), signal(run), signal(run)]
    await commit(store, by, a, b, c)
    const entries = [entry({ kind: 'message.taken' }), entry({ kind: 'message.taken' })]
    await commit(store, by, turn(fenceOf(run, by), { entries, taken: [1, 3] }))
    const rest = await mailOf(store, fenceOf(run, by, 1, 3))
    expect(rest.map(({ no, id }) => [no, id])).toEqual([[2, b.message.id]])
    const [again] = await commit(store, by, a)
    expect(again).toMatchObject({ kind: 'done', messageNo: 1, inbox: 3 })
  })

  on('an empty batch tells the time', async ({ store, advance }) => {
    const { now } = await store.commit(worker(), [], PLAIN)
    await advance(3_600_000)
    const later = await store.commit(worker(), [], PLAIN)
    expect(later).toMatchObject({ answers: [], claimed: [], feedId: null })
    expect(later.now - now).toBeGreaterThanOrEqual(3_600_000)
    expect(later.now - now).toBeLessThan(3_660_000)
    expect(Number.isInteger(now)).toBe(true)
  })

  on('of several runs in one batch applies each', async ({ store }) => {
    const by = worker()
    const runs = await Promise.all(Array.from({ length: 50 }, () => ownedRun(store, by)))
    const batch = runs.map((run, i) =>
      i % 3 === 0 ? step(fenceOf(run, by, i % 2 === 0 ? 1 : 7)) : parked(fenceOf(run, by)),
    )
    const expected = runs.map((_, i) => (i % 3 === 0 && i % 2 === 1 ? 'stale' : 'done'))
    expect(await kinds(store, by, ...batch)).toEqual(expected)
    for (const [i, run] of runs.entries()) {
      expect(await historyOf(store, run)).toHaveLength(expected[i] === 'done' ? 2 : 1)
    }
  })

  on('names the feed row of what it appended, and none if nothing was', async ({ store }) => {
    const by = worker()
    const fed = { resent: false, feed: true }
    const delta = claimedStart()
    const first = await store.commit(by, [delta], fed)
    expect(first.feedId).toBeTypeOf('number')
    const second = await store.commit(by, [step(fenceOf(delta.run, by))], fed)
    expect(second.feedId).not.toBe(first.feedId)
    expect((await store.commit(by, [signal(delta.run)], fed)).feedId).toBeNull()
    expect((await store.commit(by, [step(fenceOf(delta.run, by))], fed)).feedId).toBeNull()
    expect((await store.commit(by, [step(fenceOf(delta.run, by, 1, 2))], PLAIN)).feedId).toBeNull()
  })
}

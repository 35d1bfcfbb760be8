// Races on real connections, each stopped between two statements: one transaction stays open with its rows locked
// while the other goes on.

import { expect } from 'vitest'
import type { Delta } from '../../src/kernel/store.js'
import {
  cancel,
  claimAll,
  claimedStart,
  commit,
  ended,
  fenceOf,
  historyOf,
  kinds,
  mailOf,
  newMessage,
  ownedRun,
  PLAIN,
  parked,
  parkedRun,
  RESENT,
  reacted,
  signal,
  start,
  step,
  turn,
  viewOf,
  worker,
} from './builders.js'
import { describeOn } from './open-stores.js'
import { onSessions, type Sessions } from './sessions.js'

describeOn(['postgres15', 'postgres18'], 'interleavings', (database) => {
  const on = (title: string, body: (s: Sessions) => Promise<void>) =>
    onSessions(database, title, body)

  on('a message that is being stored while the run parks wakes it', async (s) => {
    const { store } = s
    const by = worker()
    const run = await ownedRun(store, by)
    const sender = await s.begin()
    expect(await sender.commit(worker(), signal(run))).toMatchObject([{ kind: 'done' }])
    const parking = commit(store, by, parked(fenceOf(run, by)))
    await s.waiting()
    await sender.end('commit')
    expect(await parking).toMatchObject([{ kind: 'done', inbox: 1 }])
    expect(await claimAll(store, by)).toHaveLength(1)
  })

  on(
    'a message that meets a run while it parks is busy, and wakes it when sent again',
    async (s) => {
      const { store } = s
      const by = worker()
      const run = await ownedRun(store, by)
      const owner = await s.begin()
      await owner.commit(by, parked(fenceOf(run, by)))
      const other = await ownedRun(store, by)
      const message = signal(run)
      const before = s.sent.commit
      expect(await kinds(store, worker(), message, signal(other))).toEqual(['busy', 'done'])
      // One call: it did not wait, so nobody could wait for it while it held the other's row.
      expect(s.sent.commit - before).toBe(1)
      await owner.end('commit')
      expect(await kinds(store, worker(), message)).toEqual(['done'])
      expect(await claimAll(store, by)).toMatchObject([{ uid: run.uid, inbox: 1 }])
    },
  )

  on(
    'an event that is sent again by whoever has come after its sender is busy while the original is at work, then repeated',
    async (s) => {
      const { store } = s
      const [by, reborn] = [worker(), worker()]
      const run = await parkedRun(store, by)
      const brings = { inbox: 0, messages: [newMessage()], areNew: true }
      const delta = reacted(fenceOf(run, by, 1, 2), { brings, round: 1 })
      const original = await s.begin()
      expect(await original.commit(by, delta)).toMatchObject([{ kind: 'done' }])
      const again = async () => (await store.commit(reborn, [delta], RESENT)).answers
      expect(await again()).toEqual([{ kind: 'busy' }])
      await original.end('commit')
      expect(await again()).toMatchObject([{ kind: 'done', repeated: true }])
      expect(await historyOf(store, run)).toHaveLength(6)
    },
  )

  on('events whose runs are not locked do not wait for the one whose run is', async (s) => {
    const { store } = s
    const by = worker()
    await store.join(by)
    const runs = [
      await parkedRun(store, by),
      await parkedRun(store, by),
      await parkedRun(store, by),
    ]
    const deltas = runs.map((run) => {
      const brings = { inbox: 0, messages: [newMessage()], areNew: true }
      return reacted(fenceOf(run, by, 1, 2), { brings, round: 1 })
    })
    const [, held] = runs
    const holder = await s.begin()
    await holder.client.query(
      `select 1 from ${s.schema}.runs where uid = '${held?.uid}' for update`,
    )
    const before = s.sent.commit
    expect(await kinds(store, by, ...deltas)).toEqual(['done', 'busy', 'done'])
    expect(s.sent.commit - before).toBe(1)
    await holder.end('rollback')
    expect((await store.commit(by, deltas, RESENT)).answers).toMatchObject([
      { kind: 'done', inbox: 1, repeated: true },
      { kind: 'done', inbox: 1, repeated: false },
      { kind: 'done', inbox: 1, repeated: true },
    ])
  })

  on('events whose runs were locked a moment ago are stored', async (s) => {
    const { store } = s
    const by = worker()
    await store.join(by)
    const runs = [await parkedRun(store, by), await parkedRun(store, by)]
    // Older than the lock, and still at work: so nobody knows by its age that it is over.
    const older = await s.begin()
    await older.client.query('select pg_current_xact_id()')
    await s.rows(`select 1 from ${s.schema}.runs where uid = '${runs[0]?.uid}' for update`)
    for (const n of [0, 1, 2]) {
      const deltas = runs.map((run) => {
        const brings = { inbox: n, messages: [newMessage()], areNew: true }
        return reacted(fenceOf(run, by, 1, 2 + 4 * n), { brings, round: n + 1 })
      })
      const { answers, feedId } = await store.commit(by, deltas, { resent: false, feed: true })
      expect(answers).toMatchObject(runs.map(() => ({ kind: 'done', inbox: n + 1 })))
      const [feed] = await s.rows(`select ranges from ${s.schema}.feed where id = ${feedId}`)
      expect(String(feed?.ranges).split(',').toSorted()).toEqual(
        runs.map(({ uid }) => `${uid}:${3 + 4 * n}:${6 + 4 * n}`).toSorted(),
      )
    }
    for (const run of runs) expect(await historyOf(store, run)).toHaveLength(14)
    await older.end('rollback')
  })

  on('[X08] an end that waits for a cancel being stored is answered stopping', async (s) => {
    const { store } = s
    const by = worker()
    const run = await ownedRun(store, by)
    const sender = await s.begin()
    await sender.commit(worker(), cancel(run))
    const ending = commit(store, by, ended(fenceOf(run, by)))
    await s.waiting()
    await sender.end('commit')
    expect(await ending).toEqual([{ kind: 'stopping', stop: 'cancel' }])
    expect(await historyOf(store, run)).toHaveLength(1)
  })

  on('a cancel that meets a run while it ends is busy, then refused', async (s) => {
    const { store } = s
    const by = worker()
    const run = await ownedRun(store, by)
    const owner = await s.begin()
    await owner.commit(by, ended(fenceOf(run, by)))
    const message = cancel(run)
    expect(await kinds(store, worker(), message)).toEqual(['busy'])
    await owner.end('commit')
    expect(await commit(store, worker(), message)).toMatchObject([{ code: 'RUN_FINISHED' }])
  })

  on('[X05] a turn sent again while the original is at work waits for its fate', async (s) => {
    const { store } = s
    const by = worker()
    const [kept, lost] = [await ownedRun(store, by), await ownedRun(store, by)]
    for (const [run, fate] of [[kept, 'commit'] as const, [lost, 'rollback'] as const]) {
      const delta = step(fenceOf(run, by), { starts: [{ ...claimedStart(), claim: true }] })
      const original = await s.begin()
      await original.commit(by, delta)
      const again = store.commit(by, [delta], RESENT)
      await s.waiting()
      await original.end(fate)
      expect((await again).answers).toMatchObject([{ kind: 'done', repeated: fate === 'commit' }])
      expect(await historyOf(store, run)).toHaveLength(2)
      const [kid] = delta.starts
      if (kid) expect(await historyOf(store, kid.run)).toHaveLength(1)
    }
  })

  on(
    '[X05] a turn with messages sent again while the original is at work is busy, then repeated',
    async (s) => {
      const { store } = s
      const by = worker()
      const [run, target] = [await ownedRun(store, by), await parkedRun(store, by)]
      const messages = [{ to: target.uid, message: newMessage(), claim: true }]
      const delta = step(fenceOf(run, by), { messages })
      const original = await s.begin()
      await original.commit(by, delta)
      expect((await store.commit(by, [delta], RESENT)).answers).toEqual([{ kind: 'busy' }])
      await original.end('commit')
      const again = await store.commit(by, [delta], RESENT)
      expect(again.answers).toMatchObject([{ kind: 'done', repeated: true }])
      expect(again.claimed).toEqual([])
      expect(await mailOf(store, fenceOf(target, by, 2))).toHaveLength(1)
    },
  )

  on('[X05] a start sent again while the original is at work is done once', async (s) => {
    const { store } = s
    const by = worker()
    const delta = claimedStart()
    const original = await s.begin()
    await original.commit(by, delta)
    const again = store.commit(by, [delta], RESENT)
    await s.waiting()
    await original.end('commit')
    expect((await again).answers).toMatchObject([{ kind: 'done', uid: delta.run.uid }])
    expect(await historyOf(store, delta.run)).toHaveLength(1)
  })

  on(
    'a start of an id that an open transaction of a caller has is busy; the rest of its batch is done',
    async (s) => {
      const { store } = s
      const by = worker()
      const run = await ownedRun(store, by)
      const theirs = start()
      const caller = await s.begin()
      await caller.commit(worker(), theirs)
      const ours = start({ id: theirs.run.id })
      const [other, third] = [start(), start()]
      const toOther = signal(other.run)
      const batch = [other, ours, step(fenceOf(run, by)), toOther, third, signal(run)]
      const fed = await store.commit(by, batch, { resent: false, feed: true })
      expect(fed.answers.map(({ kind }) => kind)).toEqual([
        'done',
        'busy',
        'done',
        'done',
        'done',
        'done',
      ])
      const [feed] = await s.rows('select ranges from @schema@.feed')
      for (const { uid } of [other.run, third.run, run]) expect(feed?.ranges).toContain(uid)
      expect(await s.rows('select 1 from @schema@.feed')).toHaveLength(1)
      await caller.end('commit')
      expect(await commit(store, by, ours)).toMatchObject([
        { kind: 'exists', uid: theirs.run.uid, same: true },
      ])
    },
  )

  on(
    'a start waits for a caller’s transaction with its id, and is stored when that is rolled back',
    async (s) => {
      const { store } = s
      const theirs = start()
      const caller = await s.begin()
      await caller.commit(worker(), theirs)
      const ours = start({ id: theirs.run.id })
      const starting = commit(store, worker(), ours)
      await s.waiting()
      await caller.end('rollback')
      expect(await starting).toMatchObject([{ kind: 'done', uid: ours.run.uid }])
    },
  )

  on('a run whose row another holds for long makes only its own delta busy', async (s) => {
    const { store } = s
    const by = worker()
    const [held, free] = [await ownedRun(store, by), await ownedRun(store, by)]
    const holder = await s.begin()
    await holder.client.query(`select 1 from ${s.schema}.runs where uid = $1 for update`, [
      held.uid,
    ])
    const batch = [step(fenceOf(held, by)), step(fenceOf(free, by)), start()]
    expect(await kinds(store, by, ...batch)).toEqual(['busy', 'done', 'done'])
    await holder.end('rollback')
    expect(await kinds(store, by, step(fenceOf(held, by)))).toEqual(['done'])
  })

  on('two senders number their messages under the lock', async (s) => {
    const { store } = s
    const by = worker()
    const run = await ownedRun(store, by)
    const first = await s.begin()
    expect(await first.commit(worker(), signal(run))).toMatchObject([{ messageNo: 1 }])
    const message = signal(run)
    expect(await kinds(store, worker(), message)).toEqual(['busy'])
    await first.end('commit')
    expect(await commit(store, worker(), message)).toMatchObject([{ messageNo: 2, inbox: 2 }])
    const times = (await mailOf(store, fenceOf(run, by))).map(({ at }) => at)
    expect(times).toEqual([...times].sort((a, b) => a - b))
  })

  on('many senders at once leave no gap, no copy and no deadlock', async (s) => {
    const { store } = s
    const by = worker()
    const targets = await Promise.all([1, 2, 3].map(() => ownedRun(store, by)))
    const senders = await Promise.all(Array.from({ length: 12 }, () => ownedRun(store, by)))
    const untilDone = async (deltas: readonly Delta[]) => {
      for (let rest = deltas; rest.length > 0; ) {
        const { answers } = await store.commit(by, rest, PLAIN)
        expect(['done', 'busy']).toEqual(
          expect.arrayContaining([...new Set(answers.map(({ kind }) => kind))]),
        )
        rest = rest.filter((_, i) => answers[i]?.kind === 'busy')
      }
    }
    await Promise.all(
      senders.map(async (sender, i) => {
        for (let round = 0; round < 10; round += 1) {
          const messages = targets.map(({ uid }) => ({
            to: uid,
            message: newMessage(),
            claim: false,
          }))
          const told = signal(targets[i % 3] ?? sender)
          await untilDone([step(fenceOf(sender, by, 1, round + 1), { messages }), told])
        }
      }),
    )
    for (const target of targets) {
      const numbers = (await mailOf(store, fenceOf(target, by))).map(({ no }) => no)
      expect(numbers).toEqual(Array.from({ length: 160 }, (_, i) => i + 1))
      const [answer] = await commit(store, by, step(fenceOf(target, by)))
      expect(answer).toMatchObject({ inbox: 160 })
    }
  })

  on(
    'a late batch that has the row first is left alone by the reaper until the next pass',
    async (s) => {
      const { store } = s
      const [zombie, reaper] = [worker(), worker()]
      await store.join(reaper)
      const [goes, parks] = [await ownedRun(store, zombie), await ownedRun(store, zombie)]
      const late = await s.begin()
      await late.commit(zombie, step(fenceOf(goes, zombie)), parked(fenceOf(parks, zombie)))
      expect((await store.reap([], true)).freed).toBe(0)
      await late.end('commit')
      expect((await store.reap([], true)).freed).toBe(1)
      expect(await viewOf(store, goes)).toMatchObject({ owner: null, crashes: 1, seq: 2 })
      expect(await viewOf(store, parks)).toMatchObject({
        owner: null,
        crashes: 0,
        reason: 'signal',
      })
    },
  )

  on('[X02] a late batch that comes behind the reaper is stale', async (s) => {
    const { store } = s
    const zombie = worker()
    const run = await ownedRun(store, zombie)
    const reaper = await s.begin()
    await reaper.client.query(s.sql.reap, ['{}', '{}', null, null, 1e9])
    const late = commit(store, zombie, step(fenceOf(run, zombie)))
    await s.waiting()
    await reaper.end('commit')
    expect(await late).toEqual([{ kind: 'stale' }])
    const [claimed] = await claimAll(store, worker())
    expect(claimed).toMatchObject({ uid: run.uid, epoch: 2, crashes: 1 })
    expect(await kinds(store, zombie, step(fenceOf(run, zombie)))).toEqual(['stale'])
  })

  on('who takes the runs of a worker away waits for a step that only adds', async (s) => {
    const { store, advance } = s
    const [leaves, dies, heir] = [worker(), worker({ leaseMs: 10 }), worker()]
    await store.join(heir)
    for (const by of [leaves, dies]) {
      await store.join(by)
      const run = await ownedRun(store, by)
      await commit(store, by, step(fenceOf(run, by)))
      const late = await s.begin()
      await late.commit(by, step(fenceOf(run, by, 1, 2)))
      const { workers } = await store.reap([], true)
      await advance(11)
      const dead = workers.filter(({ id }) => id === dies.id)
      const taking = by === leaves ? store.leave(by) : store.reap(dead, true)
      await s.waiting()
      await late.end('commit')
      await taking
      expect(await viewOf(store, run)).toMatchObject({ owner: null, seq: 3, status: 'waiting' })
      const claimed = await claimAll(store, heir)
      expect(claimed).toMatchObject([{ uid: run.uid, seq: 3 }])
    }
  })

  on('[X02] a step that only adds, behind the reaper, is stale', async (s) => {
    const { store, advance } = s
    const zombie = worker({ leaseMs: 10 })
    await store.join(zombie)
    const run = await ownedRun(store, zombie)
    await commit(store, zombie, step(fenceOf(run, zombie)))
    const { workers } = await store.reap([], true)
    await advance(11)
    const reaper = await s.begin()
    const [{ id, beat }] = workers as [(typeof workers)[number]]
    await reaper.client.query(s.sql.reap, [`{${id}}`, `{${beat}}`, null, null, 1e9])
    const late = commit(store, zombie, step(fenceOf(run, zombie, 1, 2)))
    await s.waiting()
    await reaper.end('commit')
    expect(await late).toEqual([{ kind: 'stale' }])
    expect(await viewOf(store, run)).toMatchObject({ owner: null, seq: 2, crashes: 1 })
  })

  on('[X05] a step that only adds, sent again while the original is at work', async (s) => {
    const { store } = s
    const by = worker()
    await store.join(by)
    for (const fate of ['commit', 'rollback'] as const) {
      const run = await ownedRun(store, by)
      const delta = step(fenceOf(run, by))
      const original = await s.begin()
      await original.commit(by, delta)
      const again = store.commit(by, [delta], RESENT)
      await s.waiting()
      await original.end(fate)
      expect((await again).answers).toMatchObject([{ kind: 'done', repeated: fate === 'commit' }])
      expect(await historyOf(store, run)).toHaveLength(2)
    }
  })

  on('a late claim of a dead worker is found by the next pass', async (s) => {
    const { store, advance } = s
    const [zombie, reaper] = [worker({ leaseMs: 10 }), worker()]
    await store.join(zombie)
    await store.join(reaper)
    const [due, fresh] = [start(), claimedStart()]
    await commit(store, reaper, due)
    const late = await s.begin()
    expect(await late.claim(zombie, 5)).toHaveLength(1)
    await late.commit(zombie, fresh)
    const { workers } = await store.reap([], true)
    await advance(11)
    const seen = workers.filter(({ id }) => id === zombie.id)
    expect(await store.reap(seen, true)).toMatchObject({ dead: [zombie.id], freed: 0 })
    await late.end('commit')
    expect((await store.reap([], true)).freed).toBe(2)
    expect(await claimAll(store, reaper)).toHaveLength(2)
  })

  on('two claimers at once share what is due and wait for nobody', async (s) => {
    const { store } = s
    await commit(store, worker(), ...Array.from({ length: 5 }, () => start()))
    const first = await s.begin()
    const taken = await first.claim(worker(), 3)
    const rest = await claimAll(store, worker(), 5)
    await first.end('commit')
    expect(taken).toHaveLength(3)
    expect(rest).toHaveLength(2)
    expect(new Set([...taken, ...rest].map(({ uid }) => uid)).size).toBe(5)
    expect(await claimAll(store, worker())).toEqual([])
  })

  on('many claimers at once give each run to one', async (s) => {
    const { store } = s
    await commit(store, worker(), ...Array.from({ length: 300 }, () => start()))
    const taken: string[] = []
    await Promise.all(
      Array.from({ length: 6 }, async () => {
        const by = worker()
        for (let empty = 0; empty < 3; ) {
          const claimed = await claimAll(store, by, 7)
          taken.push(...claimed.map(({ uid }) => uid))
          empty = claimed.length === 0 ? empty + 1 : 0
        }
      }),
    )
    expect(taken).toHaveLength(300)
    expect(new Set(taken).size).toBe(300)
  })

  on('a claim leaves a run alone that is being paused or cancelled', async (s) => {
    const { store } = s
    const delta = start()
    await commit(store, worker(), delta)
    const sender = await s.begin()
    await sender.commit(worker(), cancel(delta.run))
    expect(await claimAll(store, worker())).toEqual([])
    await sender.end('commit')
    expect(await claimAll(store, worker({ definitions: [] }))).toMatchObject([{ stop: 'cancel' }])
  })

  on('resolve waits for the fate of a lost closing', async (s) => {
    const { store } = s
    const by = worker()
    for (const [how, fate] of [['commit', 'applied'] as const, ['rollback', 'absent'] as const]) {
      const run = await ownedRun(store, by)
      const closing = await s.begin()
      await closing.commit(by, step(fenceOf(run, by)))
      const resolving = store.resolve(fenceOf(run, by), 2)
      await s.waiting()
      await closing.end(how)
      expect(await resolving).toBe(fate)
    }
  })

  on('a beat waits for no commit', async (s) => {
    const { store } = s
    const by = worker()
    await store.join(by)
    const run = await ownedRun(store, by)
    const open = await s.begin()
    await open.commit(by, step(fenceOf(run, by)))
    expect(await store.beat(by)).toMatchObject({ alive: true, owned: [{ uid: run.uid }] })
    await open.end('rollback')
  })

  on('a message is accepted after its run was locked, so times follow numbers', async (s) => {
    const { store } = s
    const by = worker()
    const [held, target] = [await ownedRun(store, by), await ownedRun(store, by)]
    const holder = await s.begin()
    await holder.client.query(`select 1 from ${s.schema}.runs where uid = $1 for update`, [
      held.uid,
    ])
    const later = commit(store, by, step(fenceOf(held, by)), signal(target))
    await s.waiting()
    await commit(store, worker(), signal(target))
    await holder.end('rollback')
    expect(await later).toMatchObject([{ kind: 'done' }, { messageNo: 2 }])
    const [first, second] = await mailOf(store, fenceOf(target, by))
    expect(second?.at).toBeGreaterThanOrEqual(first?.at ?? Number.POSITIVE_INFINITY)
  })

  on('a paused run rests: it parks without a due time and only a cancel wakes it', async (s) => {
    const { store } = s
    const by = worker()
    const runs = [await ownedRun(store, by), await ownedRun(store, by), await ownedRun(store, by)]
    const [parks, released, dies] = runs
    if (!parks || !released || !dies) throw new Error('three runs')
    await s.rows(`update @schema@.runs set stop = 'pause'`)
    const answers = await commit(store, by, ended(fenceOf(parks, by)), signal(parks))
    expect(answers).toMatchObject([
      { kind: 'stopping', stop: 'pause' },
      { kind: 'done', stop: 'pause' },
    ])
    await commit(
      store,
      by,
      parked(fenceOf(parks, by), { reason: 'timer', dueAt: 1 }),
      turn(fenceOf(released, by), { next: { kind: 'release' } }),
    )
    await store.reap([], true)
    for (const run of runs) {
      expect(await viewOf(store, run)).toMatchObject({
        status: 'waiting',
        reason: 'paused',
        dueAt: null,
        owner: null,
      })
    }
    expect((await store.commit(by, [signal(parks, {}, true)], PLAIN)).claimed).toEqual([])
    expect((await viewOf(store, parks)).dueAt).toBeNull()
    expect(await claimAll(store, by)).toEqual([])
    await commit(store, by, cancel(released))
    expect((await store.commit(by, [cancel(parks, {}, true)], PLAIN)).claimed).toMatchObject([
      { uid: parks.uid, stop: 'cancel', inbox: 3 },
    ])
    expect(await claimAll(store, by)).toMatchObject([{ uid: released.uid, stop: 'cancel' }])
  })
})

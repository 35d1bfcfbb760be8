// The contract of the store: schedules, and who acts upon a slot.

import { expect } from 'vitest'
import type { DueSchedule, Fire, NewSchedule, RunFilter, Store } from '../../src/kernel/store.js'
import type { RunId } from '../../src/model/ids.js'
import { commit, ended, newRun, newUid, ownedRun, PLAIN, RESENT, step, worker } from './builders.js'
import { type Case, TRANSACTIONAL } from './store-contract.js'

const HOUR = 3_600_000
const EVERY_RUN: RunFilter = {
  workspace: null,
  definition: null,
  statuses: null,
  reason: null,
  tags: {},
  parentId: null,
  createdAfter: null,
  createdBefore: null,
  text: null,
  after: null,
  newestFirst: false,
  limit: 100,
}

function schedule(changes: Partial<NewSchedule> = {}): NewSchedule {
  return {
    workspace: 'default',
    id: 'nightly',
    definition: 'order',
    spec: { everyMs: HOUR, jitterMs: 0 },
    plan: { missed: 'once', catchUpMs: null, tags: { a: 'b' }, timeoutMs: null },
    overlap: 'allow',
    input: '{"a":1}',
    of: null,
    next: { slot: HOUR, at: HOUR },
    ...changes,
  }
}

function fireOf(due: Fire['of'], changes: Partial<Fire> = {}): Fire {
  const { slot } = due.next
  const run = { uid: newUid(), id: `cron:${due.id}:${slot}` as RunId, tags: {}, timeoutMs: 60_000 }
  return { of: due, behind: slot, next: { slot: slot + HOUR, at: slot + HOUR }, run, ...changes }
}

async function onlyDue(store: Store): Promise<DueSchedule> {
  const { due } = await store.dueSchedules(10)
  const [first] = due
  if (due.length !== 1 || !first) throw new Error(`${due.length} are due`)
  return first
}

export function scheduleContract(on: Case): void {
  on('a schedule is stored as it was given, and is read by its id', async ({ store }) => {
    const quoted = schedule({ id: 'q', input: '"it\'s \\"so\\""', of: 'order', next: null })
    const stored = await store.putSchedule(quoted)
    expect(stored).toMatchObject({ ...quoted, revision: 1, isPaused: false, lastSlot: null })
    expect(await store.schedule('default', 'q')).toEqual(stored)
    expect(await store.schedule('other', 'q')).toBeNull()
    expect(await store.schedule('default', 'nobody')).toBeNull()
  })

  on('the same again changes nothing; other times begin anew, others keep theirs', async (s) => {
    const { store } = s
    const first = await store.putSchedule(schedule())
    const again = await store.putSchedule(schedule({ next: { slot: 9 * HOUR, at: 9 * HOUR } }))
    expect(again).toEqual(first)
    const renamed = await store.putSchedule(
      schedule({ input: '2', next: { slot: 9 * HOUR, at: 9 * HOUR } }),
    )
    expect(renamed).toMatchObject({ revision: 2, input: '2', next: first.next })
    const spec = { everyMs: 2 * HOUR, jitterMs: 0 }
    const next = { slot: 4 * HOUR, at: 4 * HOUR }
    const moved = await store.putSchedule(schedule({ input: '2', spec, next }))
    expect(moved).toMatchObject({ revision: 3, spec, next })
  })

  on('schedules are listed by workspace and id, page by page', async ({ store }) => {
    for (const [workspace, id] of [
      ['b', '1'],
      ['a', '2'],
      ['a', '10'],
    ] as const) {
      await store.putSchedule(schedule({ workspace, id, of: id === '10' ? 'order' : null }))
    }
    const page = { workspace: null, after: null, limit: 10 }
    const names = (rows: readonly NewSchedule[]) => rows.map((one) => one.workspace + one.id)
    expect(names(await store.schedules(page))).toEqual(['a10', 'a2', 'b1'])
    expect(names(await store.schedules({ ...page, limit: 1 }))).toEqual(['a10'])
    const after = { workspace: 'a', id: '10' }
    expect(names(await store.schedules({ ...page, after }))).toEqual(['a2', 'b1'])
    expect(names(await store.schedules({ ...page, workspace: 'b' }))).toEqual(['b1'])
    expect(names(await store.schedulesOf(['order', 'other']))).toEqual(['a10'])
  })

  on('it is due at its moment, and the first moment to come is known', async (s) => {
    const { store, advance } = s
    const { now } = await store.dueSchedules(10)
    const later = now + HOUR
    await store.putSchedule(schedule({ next: { slot: now - 5, at: later } }))
    await store.putSchedule(schedule({ id: 'never', next: null }))
    await store.putSchedule(schedule({ id: 'later', next: { slot: 1, at: later + HOUR } }))
    expect(await store.dueSchedules(10)).toMatchObject({ due: [], nextAt: later })
    await advance(HOUR)
    const found = await store.dueSchedules(10)
    expect(found).toMatchObject({ nextAt: later + HOUR })
    expect(found.due).toMatchObject([
      { id: 'nightly', next: { slot: now - 5, at: later }, isOpen: false, endedAt: null },
    ])
  })

  on('[D37] of all who act upon a slot one starts its run', async ({ store }) => {
    await store.putSchedule(schedule())
    const due = await onlyDue(store)
    const fires = [fireOf(due), fireOf(due), fireOf(due)]
    const answers = await Promise.all(fires.map((fire) => store.fire(fire)))
    expect(answers.sort()).toEqual(['fired', 'lost', 'lost'])
    const runs = await store.read.list(EVERY_RUN)
    expect(runs).toHaveLength(1)
    expect(runs[0]).toMatchObject({
      id: `cron:nightly:${HOUR}`,
      status: 'pending',
      definition: 'order',
      input: '{"a":1}',
      version: null,
    })
    expect(await store.schedule('default', 'nightly')).toMatchObject({
      revision: 1,
      lastSlot: HOUR,
      lastRun: `cron:nightly:${HOUR}`,
      next: { slot: 2 * HOUR, at: 2 * HOUR },
    })
  })

  on('a slot that was acted upon does not come back, also when its run is deleted', async (s) => {
    const { store, advance } = s
    await store.putSchedule(schedule())
    const due = await onlyDue(store)
    expect(await store.fire(fireOf(due))).toBe('fired')
    const by = worker()
    const { claimed } = await store.claim(by, 10, 10)
    expect(claimed).toHaveLength(1)
    const [run] = claimed
    if (!run) return
    await commit(store, by, ended({ uid: run.uid, owner: by.id, epoch: 1, seq: 1 }))
    await advance(10_000)
    expect(await store.prune(1_000, null)).toMatchObject({ pruned: 1 })
    expect(await store.fire(fireOf(due))).toBe('lost')
    // Its times were set anew, to the slot that it had.
    const spec = { everyMs: 7 * HOUR, jitterMs: 0 }
    await store.putSchedule(schedule({ spec, next: { slot: HOUR, at: HOUR } }))
    const again = await onlyDue(store)
    expect(await store.fire(fireOf(again))).toBe('known')
    expect(await store.read.list(EVERY_RUN)).toEqual([])
    expect(await store.schedule('default', 'nightly')).toMatchObject({ lastSlot: HOUR })
  })

  on('a schedule that was changed, paused or deleted is not acted upon', async ({ store }) => {
    await store.putSchedule(schedule())
    const before = await onlyDue(store)
    await store.putSchedule(schedule({ input: '2' }))
    expect(await store.fire(fireOf(before))).toBe('lost')
    const due = await onlyDue(store)
    expect(await store.pauseSchedule({ ...due, revision: 1 }, true, null)).toBe(false)
    expect(await store.pauseSchedule(due, true, null)).toBe(true)
    expect((await store.dueSchedules(10)).due).toEqual([])
    expect(await store.fire(fireOf({ ...due, revision: due.revision + 1 }))).toBe('lost')
    const paused = await store.schedule('default', 'nightly')
    expect(paused).toMatchObject({ isPaused: true, next: null, revision: 3 })
    if (!paused) return
    const next = { slot: 3 * HOUR, at: 3 * HOUR }
    expect(await store.pauseSchedule(paused, false, next)).toBe(true)
    expect(await onlyDue(store)).toMatchObject({ isPaused: false, next })
    expect(await store.dropSchedule('default', 'nightly')).toBe(true)
    expect(await store.dropSchedule('default', 'nightly')).toBe(false)
    expect(await store.fire(fireOf({ ...due, revision: 4 }))).toBe('lost')
  })

  on('slots can be left out without a run', async ({ store }) => {
    await store.putSchedule(schedule())
    const due = await onlyDue(store)
    const left = fireOf(due, { behind: 5 * HOUR, next: null, run: null })
    expect(await store.fire(left)).toBe('moved')
    expect(await store.schedule('default', 'nightly')).toMatchObject({
      lastSlot: 5 * HOUR,
      lastRun: null,
      next: null,
    })
    expect(await store.read.list(EVERY_RUN)).toEqual([])
  })

  on('whether the last run goes on is known: `skip` starts none then, `queue` waits', async (s) => {
    const { store } = s
    await store.putSchedule(schedule({ overlap: 'skip' }))
    await store.fire(fireOf(await onlyDue(store)))
    const second = await onlyDue(store)
    expect(second).toMatchObject({ isOpen: true, endedAt: null })
    expect(await store.fire(fireOf(second))).toBe('skipped')
    expect(await store.schedule('default', 'nightly')).toMatchObject({
      lastSlot: 2 * HOUR,
      lastRun: `cron:nightly:${HOUR}`,
    })
    await store.putSchedule(schedule({ overlap: 'queue' }))
    expect((await store.dueSchedules(10)).due).toEqual([])
    const by = worker()
    const [run] = (await store.claim(by, 10, 10)).claimed
    if (!run) throw new Error('nothing was claimed')
    const { now } = await store.commit(
      by,
      [ended({ uid: run.uid, owner: by.id, epoch: 1, seq: 1 })],
      PLAIN,
    )
    const third = await onlyDue(store)
    expect(third).toMatchObject({ isOpen: false })
    expect(Math.abs((third.endedAt ?? 0) - now)).toBeLessThan(1_000)
    expect(await store.fire(fireOf(third))).toBe('fired')
  })

  on('an event starts a run of each definition that subscribes to it, once', async ({ store }) => {
    const to = (event: string, ...match: string[]) => ({ event, match, timeoutMs: 60_000 })
    await store.subscribe([
      { definition: 'one', to: [to('paid', 'id=a'), to('paid'), to('sent')] },
      { definition: 'two', to: [to('paid', 'id=a', 'sum=1')] },
      { definition: 'three', to: [to('paid', 'id=b')] },
    ])
    const paid = { id: 'e-1', name: 'paid', keys: ['id=a', 'sum=1'], payload: '{"id":"a"}' }
    await store.emit('acme', paid, null)
    await store.emit('acme', paid, null)
    const runs = async () =>
      (await store.read.list(EVERY_RUN)).map(({ id, workspace }) => `${workspace} ${id}`).sort()
    const first = ['acme event:e-1:one', 'acme event:e-1:two']
    expect(await runs()).toEqual(first)
    expect(await store.read.get('acme', 'event:e-1:one' as RunId)).toMatchObject({
      definition: 'one',
      input: '{"id":"a"}',
      version: null,
      tags: { event: 'paid' },
      status: 'pending',
    })
    // An id that no run can have.
    const odd = { ...paid, id: 'an id with spaces' }
    await store.emit('default', odd, null)
    await store.emit('default', odd, null)
    const found = (await runs()).filter((one) => one.startsWith('default'))
    expect(found).toHaveLength(2)
    for (const one of found) expect(one).toMatch(/^default event:[0-9a-f]{32}$/)
    await store.subscribe([
      { definition: 'one', to: [] },
      { definition: 'two', to: [to('sent')] },
    ])
    await store.emit('acme', { ...paid, id: 'e-2' }, null)
    await store.emit('acme', { ...paid, id: 'e-3', name: 'sent' }, null)
    expect((await runs()).filter((one) => one.includes(':e-'))).toEqual([
      ...first,
      'acme event:e-3:two',
    ])
  })

  on(
    'an event of a turn or a transaction starts runs with that, or not at all',
    async (s) => {
      const { store } = s
      const by = worker()
      await store.subscribe([
        { definition: 'one', to: [{ event: 'paid', match: [], timeoutMs: null }] },
      ])
      const paid = { id: 'e-1', name: 'paid', keys: [], payload: '1' }
      for (const how of ['rollback', 'commit'] as const) {
        const transaction = await store.begin(5_000)
        await store.emit('default', paid, { client: transaction, isOurs: true })
        await transaction[how]()
        expect(await store.read.list(EVERY_RUN)).toHaveLength(how === 'commit' ? 1 : 0)
      }
      const run = await ownedRun(store, by)
      const fence = { uid: run.uid, owner: by.id, epoch: 1, seq: 1 }
      await commit(store, by, step({ ...fence, epoch: 9 }, { events: [{ ...paid, id: 'e-2' }] }))
      await store.commit(by, [step(fence, { events: [{ ...paid, id: 'e-3' }] })], PLAIN)
      await store.commit(by, [step(fence, { events: [{ ...paid, id: 'e-3' }] })], RESENT)
      const ids = (await store.read.list(EVERY_RUN)).map(({ id }) => id)
      expect(ids.filter((id) => id.startsWith('event:'))).toEqual([
        'event:e-1:one',
        'event:e-3:one',
      ])
    },
    TRANSACTIONAL,
  )

  on('the id of a run that is there already is left to it', async ({ store }) => {
    await store.putSchedule(schedule())
    const due = await onlyDue(store)
    const fire = fireOf(due)
    if (!fire.run) return
    const run = newRun({ id: fire.run.id, definition: 'other' })
    await store.startAlone({ run, meta: null, message: null }, null)
    expect(await store.fire(fire)).toBe('known')
    expect(await store.schedule('default', 'nightly')).toMatchObject({ lastSlot: HOUR })
  })
}

import { expect } from 'vitest'
import {
  claimAll,
  claimedStart,
  commit,
  fenceOf,
  historyOf,
  kinds,
  newId,
  newUid,
  ownedRun,
  PLAIN,
  RESENT,
  start,
  step,
  viewOf,
  worker,
} from './builders.js'
import type { Case } from './store-contract.js'

export function startContract(on: Case): void {
  on('stores the run as pending and due, with its input as entry 1', async ({ store }) => {
    const by = worker()
    const delta = start({ tags: { team: 'a' }, priority: 7, order: { timeoutMs: 5 } })
    const committed = await store.commit(by, [delta], PLAIN)
    const { uid } = delta.run
    expect(committed.answers).toEqual([
      { kind: 'done', uid, inbox: 0, stop: null, messageNo: 0, repeated: false },
    ])
    const view = await viewOf(store, delta.run)
    expect(view).toMatchObject({ uid, status: 'pending', owner: null, seq: 1, attempt: 1 })
    expect(view).toMatchObject({ tags: { team: 'a' }, input: '{"a":1}', end: null, stop: null })
    expect(view.dueAt).toBe(view.createdAt)
    expect(view.startedAt).toBeNull()
    const created = { seq: 1, kind: 'run.created', name: '', occurrence: 0, attempt: 0 }
    expect(await historyOf(store, delta.run)).toEqual([
      { ...created, at: view.createdAt, meta: { order: { timeoutMs: 5 } }, payload: '{"a":1}' },
    ])
  })

  on('with claim inserts it owned by the committer under epoch 1', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const view = await viewOf(store, run)
    expect(view).toMatchObject({ status: 'running', owner: by.id, dueAt: null, reason: null })
    expect(view.startedAt).toBe(view.createdAt)
    expect(await kinds(store, by, step(fenceOf(run, by)))).toEqual(['done'])
  })

  on(
    'with claim is not repeated among the claimed, and nobody else can claim it',
    async ({ store }) => {
      const by = worker()
      const committed = await store.commit(by, [claimedStart()], PLAIN)
      expect(committed.claimed).toEqual([])
      expect(await claimAll(store, worker())).toEqual([])
    },
  )

  on(
    'with a delay becomes due then; its deadline counts from there',
    async ({ store, advance }) => {
      const by = worker()
      const delta = start({ delayMs: 5_000, timeoutMs: 60_000 })
      await commit(store, by, delta)
      const view = await viewOf(store, delta.run)
      expect(view.dueAt).toBe(view.createdAt + 5_000)
      expect(view.deadlineAt).toBe(view.createdAt + 65_000)
      expect(await claimAll(store, by)).toEqual([])
      await advance(5_001)
      expect(await claimAll(store, by)).toHaveLength(1)
    },
  )

  on(
    'of a taken id answers with the run that has it, and whether it is the same',
    async ({ store }) => {
      const by = worker()
      const id = newId()
      const first = start({ id })
      await commit(store, by, first)
      const { uid } = first.run
      const exists = { kind: 'exists', uid, definition: 'order' }
      expect(await commit(store, by, start({ id }))).toEqual([{ ...exists, same: true }])
      expect(await commit(store, by, start({ id, input: '{"a":2}' }))).toEqual([
        { ...exists, same: false },
      ])
      expect(await commit(store, by, start({ id, definition: 'other' }))).toEqual([
        { ...exists, same: false },
      ])
      expect(await historyOf(store, first.run)).toHaveLength(1)
    },
  )

  on('of one id twice in one batch stores one', async ({ store }) => {
    const by = worker()
    const id = newId()
    const [a, b] = [start({ id }), start({ id })]
    expect(await kinds(store, by, a, b)).toEqual(['done', 'exists'])
    expect((await viewOf(store, a.run)).uid).toBe(a.run.uid)
    expect(await store.read.history(b.run.uid, { ...FIRST_PAGE })).toEqual([])
  })

  on('of one id in two workspaces stores two', async ({ store }) => {
    const by = worker()
    const id = newId()
    const [a, b] = [start({ id, workspace: 'a' }), start({ id, workspace: 'b' })]
    expect(await kinds(store, by, a, b)).toEqual(['done', 'done'])
    expect((await viewOf(store, b.run)).uid).toBe(b.run.uid)
  })

  on('[X05] sent again is answered done as repeated and changes nothing', async ({ store }) => {
    const by = worker()
    const batch = [claimedStart(), start()]
    const first = await store.commit(by, batch, PLAIN)
    const second = await store.commit(by, batch, RESENT)
    expect(second.answers).toEqual(first.answers.map((a) => ({ ...a, repeated: true })))
    const mixed = await store.commit(by, [start(), ...batch, start()], RESENT)
    expect(mixed.answers.map((a) => a.kind === 'done' && a.repeated)).toEqual([
      false,
      true,
      true,
      false,
    ])
    for (const { run } of batch) expect(await historyOf(store, run)).toHaveLength(1)
  })

  on('keeps answers in the order of the deltas', async ({ store }) => {
    const by = worker()
    const taken = start()
    await commit(store, by, taken)
    const batch = [start(), start({ id: taken.run.id }), claimedStart()]
    expect(await kinds(store, by, ...batch)).toEqual(['done', 'exists', 'done'])
  })

  on('without a version is pinned to the version of its first claimer', async ({ store }) => {
    const by = worker({ definitions: [{ name: 'order', version: '7' }] })
    const [due, claimed] = [start({ version: null }), claimedStart({ version: null })]
    await commit(store, by, due, claimed)
    expect((await viewOf(store, due.run)).version).toBeNull()
    expect((await viewOf(store, claimed.run)).version).toBe('7')
    expect((await claimAll(store, by))[0]?.version).toBe('7')
    expect((await viewOf(store, due.run)).version).toBe('7')
  })

  on('keeps names, tags and values as they are', async ({ store }) => {
    const by = worker()
    const tags = { 'a,b;c': '"\\{}\n', '': 'NULL', ü: '\u2028' }
    const input = JSON.stringify({ text: '{},"\\ \u0000 \u001f NULL ü 😀', empty: '' })
    const delta = start({ tags, input, workspace: 'a@b:c=d' })
    await commit(store, by, delta)
    expect(await viewOf(store, delta.run)).toMatchObject({ tags, input, workspace: 'a@b:c=d' })
    expect((await claimAll(store, by))[0]).toMatchObject({ tags, workspace: 'a@b:c=d' })
  })

  on('refuses the batch of a value that the database cannot store', async ({ store }) => {
    const by = worker()
    const good = start()
    for (const input of ['a\u0000b', 'a\u001fb', '\u001e']) {
      const batch = [good, start({ input })]
      await expect(store.commit(by, batch, PLAIN)).rejects.toMatchObject({ name: 'StoreRefused' })
    }
    await expect(store.commit(by, [start({ priority: 10 })], PLAIN)).rejects.toMatchObject({
      name: 'StoreRefused',
    })
    expect(await store.read.get('default', good.run.id)).toBeNull()
    expect(await kinds(store, by, good)).toEqual(['done'])
  })

  on('of an unknown uid has no history', async ({ store }) => {
    expect(await store.read.history(newUid(), { ...FIRST_PAGE })).toEqual([])
  })
}

const FIRST_PAGE = { after: null, limit: 10, newestFirst: false }

// Runs as tools read them, hold them and put them into a database.

import { expect } from 'vitest'
import type { NewRun, RunRecord, Selection, ToolStore, Worker } from '../../src/kernel/store.js'
import type { Uid } from '../../src/model/ids.js'
import {
  child,
  claimAll,
  commit,
  ended,
  entry,
  fenceOf,
  newDocument,
  newId,
  newMessage,
  newUid,
  ownedRun,
  park,
  parkedRun,
  signal,
  start,
  turn,
  viewOf,
  worker,
} from './builders.js'
import { type Case, TRANSACTIONAL } from './store-contract.js'

/** With something of everything that a run can have. */
async function richRun(store: ToolStore, by: Worker): Promise<NewRun> {
  const limits = { workspace: '', key: 'ada' }
  const run = await ownedRun(store, by, {
    tags: { a: 'b' },
    priority: 7,
    timeoutMs: 60_000,
    limits,
  })
  await commit(store, by, signal(run, { payload: '"one"' }), signal(run, { payload: '"two"' }))
  const document = (key: string | null, content: string) =>
    newDocument({ key, content, tags: ['x'] })
  const entries = [
    entry({ payload: '"Grüße \\u0001 \\\\ \\" 中"', meta: { undoable: true, checkpoint: 1 } }),
    entry({ kind: 'message.taken', name: 'go', meta: { no: 1, id: 'm', message: 'go' } }),
    entry({
      kind: 'wait.opened',
      name: 'paid',
      attempt: 0,
      meta: { event: 'paid' },
      payload: null,
    }),
  ]
  const heard = { event: 'paid', match: ['order=1'] }
  await commit(
    store,
    by,
    turn(fenceOf(run, by), {
      entries,
      taken: [1],
      answers: [{ no: 1, entry: 2 }],
      undoOpen: 1,
      shown: { state: '{"n":1}', at: { place: 'paying', error: null } },
      documents: [
        { document: document('k', '"old"'), entry: 1 },
        { document: document(null, '"other"'), entry: 1 },
        { document: document('k', '"new"'), entry: 2 },
      ],
      waits: [{ name: 'paid', occurrence: 1, since: 1_700_000_000_000, heard }],
      next: park({ reason: 'event', dueAt: 1_900_000_000_000, seen: 2 }),
    }),
  )
  return run
}

/** The same run under other names. */
const renamed = (record: RunRecord): RunRecord => ({ ...record, uid: newUid(), id: newId('moved') })

async function* pages(...all: readonly (readonly RunRecord[])[]) {
  yield* all
}

const all = { workspace: null, after: null, limit: 100 }
const any: Selection = { workspace: null, definition: null, ids: null }
const uidsOf = (runs: readonly { readonly uid: Uid }[]) => runs.map(({ uid }) => uid)

export function movingContract(on: Case): void {
  on(
    'a run that is put is the run that was read, with all that belongs to it',
    async ({ store }) => {
      const by = worker()
      const run = await richRun(store, by)
      const [read] = await store.runRecords([run.uid])
      if (!read) throw new Error('not read')
      expect(read).toMatchObject({
        id: run.id,
        definition: 'order',
        version: '1',
        status: 'waiting',
        reason: 'event',
        owner: null,
        dueAt: 1_900_000_000_000,
        ...{ epoch: 1, seq: 4, inbox: 2, taken: 1, undoOpen: 1, priority: 7, tags: { a: 'b' } },
        limits: { workspace: '', key: 'ada' },
        shown: { place: 'paying', error: null, state: '{"n":1}' },
        journal: [{ kind: 'run.created' }, { meta: { undoable: true, checkpoint: 1 } }, {}, {}],
        messages: [
          { no: 1, takenSeq: 4, replySeq: 3, payload: null },
          { no: 2, payload: '"two"' },
        ],
        documents: [
          { content: '"old"', untilSeq: 3 },
          { content: '"new"' },
          { content: '"other"' },
        ],
        waits: [{ name: 'paid', event: 'paid', match: ['order=1'], run: null }],
      })
      const moved = renamed(read)
      expect(await store.putRuns(pages([moved]), false)).toEqual({ put: 1, taken: [] })
      expect(await store.runRecords([moved.uid])).toEqual([moved])
      expect(await store.read.documents(moved.uid)).toEqual(await store.read.documents(run.uid))
    },
  )

  on('one that was due is claimed where it was put, with the next epoch', async ({ store }) => {
    const by = worker()
    const run = await parkedRun(store, by)
    const [read] = await store.runRecords([run.uid])
    if (!read) throw new Error('not read')
    const moved = { ...renamed(read), dueAt: read.createdAt }
    await store.putRuns(pages([moved]), false)
    expect(await claimAll(store, by)).toMatchObject([{ uid: moved.uid, epoch: 2, seq: 2 }])
  })

  on('putting is all or nothing, unless what is there is left out', async ({ store }) => {
    const by = worker()
    const run = await parkedRun(store, by)
    const [read] = await store.runRecords([run.uid])
    if (!read) throw new Error('not read')
    const [fresh, sameUid, sameId] = [
      renamed(read),
      { ...read, id: newId() },
      { ...read, uid: newUid() },
    ]
    const given = () => pages([fresh], [sameUid], [sameId])
    expect(await store.putRuns(given(), false)).toEqual({ put: 0, taken: [sameUid.id, sameId.id] })
    expect(await store.runRecords([fresh.uid, sameId.uid])).toEqual([])
    expect(await store.putRuns(given(), true)).toEqual({ put: 1, taken: [sameUid.id, sameId.id] })
    expect(uidsOf(await store.runRecords([fresh.uid, sameId.uid]))).toEqual([fresh.uid])
    expect(await store.runRecords([run.uid])).toEqual([read])
  })

  on('nobody is told of the end of a run that is put', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    await commit(store, by, ended(fenceOf(run, by)))
    const [read] = await store.runRecords([run.uid])
    if (!read) throw new Error('not read')
    const events = ['run.completed'] as const
    const target = { id: 't', url: 'https://example.com', secret: 's', events, workflows: null }
    await store.putWebhookTargets([{ ...target, workspace: null, withOutput: false }])
    await store.putRuns(pages([renamed(read)]), false)
    expect(await store.selectRuns({ ...any, definition: 'perdure.webhook' })).toEqual([])
    const other = await ownedRun(store, by)
    await commit(store, by, ended(fenceOf(other, by)))
    expect(await store.selectRuns({ ...any, definition: 'perdure.webhook' })).toHaveLength(1)
  })

  on('holding pauses all of them, or none if one is not as it was read', async ({ store }) => {
    const by = worker()
    const runs = [await parkedRun(store, by), await parkedRun(store, by)]
    const owned = await ownedRun(store, by)
    const read = await store.runRecords(uidsOf(runs))
    const busy = await store.runRecords([owned.uid])
    expect(await store.holdRuns([...read, ...busy])).toEqual([owned.uid])
    expect(await store.runRecords(uidsOf(runs))).toEqual(read)

    const [first, second] = runs as [NewRun, NewRun]
    await commit(store, by, signal(second))
    expect(await store.holdRuns(read)).toEqual([second.uid])
    expect(await viewOf(store, first)).toMatchObject({ stop: null })

    expect(await store.holdRuns(await store.runRecords(uidsOf(runs)))).toEqual([])
    for (const run of runs) {
      expect(await viewOf(store, run)).toMatchObject({ stop: 'pause', reason: 'paused' })
    }
    expect(await claimAll(store, by)).toEqual([])
    expect(await store.holdRuns(await store.runRecords(uidsOf(runs)))).toEqual([])
  })

  on('a run is selected with its whole family', async ({ store }) => {
    const by = worker()
    const parent = await ownedRun(store, by)
    const kid = child(parent, { definition: 'mail' })
    const grandchild = child(kid.run)
    const stranger = start({ workspace: 'other' })
    await commit(store, by, turn(fenceOf(parent, by), { entries: [entry()], starts: [kid] }))
    await commit(store, by, grandchild, stranger)
    const family = uidsOf([parent, kid.run, grandchild.run])
    const selected = async (which: Partial<Selection>) =>
      uidsOf(await store.selectRuns({ ...any, ...which }))
    expect(await selected({ definition: 'mail' })).toEqual(family)
    expect(await selected({ ids: [grandchild.run.id] })).toEqual(family)
    expect(await selected({ workspace: 'other' })).toEqual([stranger.run.uid])
    expect(await selected({})).toEqual([...family, stranger.run.uid])
  })

  on(
    'live runs are those that have not ended, page by page, in whoever’s hands',
    async ({ store }) => {
      const by = worker()
      const over = await ownedRun(store, by)
      await commit(store, by, ended(fenceOf(over, by)))
      const [waiting, owned] = [await parkedRun(store, by), await ownedRun(store, by)]
      const [fresh] = [start({ workspace: 'other' })]
      await commit(store, by, fresh)
      expect(await store.liveRuns(all)).toMatchObject([
        { uid: waiting.uid, owner: null, epoch: 1, seq: 2, definition: 'order', version: '1' },
        { uid: owned.uid, owner: by.id, epoch: 1, seq: 1 },
        { uid: fresh.run.uid, owner: null, epoch: 0, seq: 1 },
      ])
      const second = await store.liveRuns({ ...all, after: waiting.uid, limit: 1 })
      expect(uidsOf(second)).toEqual([owned.uid])
      expect(uidsOf(await store.liveRuns({ ...all, workspace: 'other' }))).toEqual([fresh.run.uid])
      const nobody = null as never
      const fence = { uid: waiting.uid, owner: nobody, epoch: 1, seq: 2 }
      const [loaded] = await store.load([{ fence, fromSeq: 0, fromNo: 0 }])
      expect(loaded?.entries).toHaveLength(2)
    },
  )

  on('mail is under way until every mailbox has it', async ({ store }) => {
    const by = worker()
    const run = await ownedRun(store, by)
    const wait = { name: 'paid', occurrence: 1, since: 1_700_000_000_000 }
    const waits = [{ ...wait, heard: { event: 'paid', match: ['order=1'] } }]
    const opened = entry({ kind: 'wait.opened', name: 'paid', attempt: 0, payload: null })
    const next = park({ reason: 'event' })
    await commit(store, by, turn(fenceOf(run, by), { entries: [opened], waits, next }))
    const emit = (id: string, ...keys: readonly string[]) =>
      store.emit('default', { id, name: 'paid', keys, payload: '1' }, null)
    await emit('e-1', 'order=2')
    expect(await store.isMailUnderWay()).toBe(false)
    await emit('e-2', 'order=1')
    expect(await store.isMailUnderWay()).toBe(true)
    const [heard] = await store.fanOut(10)
    if (!heard) throw new Error('nobody hears')
    await store.heard([heard])
    expect(await store.isMailUnderWay()).toBe(false)
  })

  on(
    'a letter is mail under way until it is burnt',
    async ({ store }) => {
      const by = worker()
      const run = await ownedRun(store, by)
      const transaction = await store.begin(5_000)
      const { id, name, payload } = newMessage()
      await store.post({ client: transaction, isOurs: true }, { to: run, id, name, payload })
      await transaction.commit()
      expect(await store.isMailUnderWay()).toBe(true)
      await store.burn((await store.letters(10)).map(({ no }) => no))
      expect(await store.isMailUnderWay()).toBe(false)
    },
    TRANSACTIONAL,
  )
}

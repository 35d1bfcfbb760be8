// Random calls of the store port. They are made for the state of one store, the one in memory, and are the same for all.

import type {
  Delta,
  Fence,
  MessageDelta,
  NewRun,
  Next,
  StartDelta,
  Store,
  TurnDelta,
  Worker,
} from '../../src/kernel/store.js'
import { type MessageId, type RunId, type Uid, uuidv7, type WorkerId } from '../../src/model/ids.js'
import {
  type EntryKind,
  type FinalStatus,
  isFinal,
  type NewEntry,
  type NewMessage,
  type Shown,
} from '../../src/model/run.js'
import type { MemoryRun, MemoryStore } from '../../src/store/memory.js'
import type { Rng } from '../simulation/scheduler.js'
import { entry, newDocument, newMessage, newRun, park, reacted, turn } from './builders.js'

export interface Operation {
  readonly name: string
  readonly args: unknown
  /** What all stores must agree on. */
  call(store: Store): Promise<unknown>
}

const DEFINITIONS = [
  { name: 'order', version: '1' },
  { name: 'order', version: '2' },
  { name: 'mail', version: '1' },
]
const OUTCOMES: readonly EntryKind[] = [
  ...(['step.completed', 'step.failed', 'timer.fired', 'message.taken', 'record'] as const),
  ...(['step.asked', 'wait.opened', 'child.ended', 'mark', 'undo.completed'] as const),
]
const ENDS: readonly FinalStatus[] = ['completed', 'failed', 'cancelled', 'timed_out']
const NAMES = ['go', 'stop', 'x']
const EVENTS = ['paid', 'sent']
const IDS_MAX = 14

export class Operations {
  private readonly rng: Rng
  private readonly memory: MemoryStore
  private readonly now: () => number
  private readonly workers: Worker[]
  private count = 0
  private sent: { readonly by: Worker; readonly deltas: readonly Delta[] } | null = null

  constructor(rng: Rng, memory: MemoryStore, now: () => number) {
    this.rng = rng
    this.memory = memory
    this.now = now
    this.workers = ['a', 'b', 'c'].map((build, i) => ({
      id: this.uuid() as string as WorkerId,
      build,
      leaseMs: 30_000,
      definitions: i === 2 ? DEFINITIONS.slice(2) : DEFINITIONS.slice(0, 2 + (i % 2)),
    }))
  }

  next(): Operation {
    const { rng } = this
    const roll = rng.int(100)
    if (roll < 45) return this.commit()
    if (roll < 57) return this.claim()
    if (roll < 62) return this.load()
    if (roll < 72) return this.leases()
    if (roll < 80) return this.operate()
    if (roll < 88) return this.events()
    return this.read()
  }

  /** Greater than the one before: lists are in this order. */
  private uuid(): Uid {
    this.count += 1
    const bytes = Uint8Array.from({ length: 10 }, () => this.rng.int(256))
    return uuidv7(1_700_000_000_000 + this.count, bytes) as Uid
  }

  private rows(): readonly MemoryRun[] {
    return [...this.memory.runs.values()]
  }

  private row(): MemoryRun | null {
    const rows = this.rows()
    return rows.length === 0 ? null : this.rng.pick(rows)
  }

  private id(): RunId {
    return `id-${this.rng.int(IDS_MAX)}` as RunId
  }

  // ── commits ───────────────────────────────────────────────────────────────────────────────────────────────

  private commit(): Operation {
    const { rng } = this
    if (this.sent && rng.chance(0.12)) return this.sending(this.sent.by, this.sent.deltas, true)
    const by = rng.pick(this.workers)
    const deltas: Delta[] = []
    const owned = this.rows().filter(({ owner }) => owner !== null)
    const resting = this.rows().filter((row) => row.owner === null && row.status === 'waiting')
    const count = rng.between(1, 4)
    for (let i = 0; i < count; i += 1) {
      const roll = rng.int(10)
      const turned = owned.length > 0 ? owned.splice(rng.int(owned.length), 1)[0] : undefined
      const rested = resting.length > 0 ? resting.splice(rng.int(resting.length), 1)[0] : undefined
      if (turned && roll < 6) deltas.push(this.turn(turned))
      else if (rested && roll < 7) deltas.push(this.brought(rested, by))
      else if (roll < 8) deltas.push(this.start())
      else deltas.push(this.message())
    }
    return this.sending(by, deltas, false)
  }

  private sending(by: Worker, deltas: readonly Delta[], resent: boolean): Operation {
    this.sent = { by, deltas }
    const feed = this.rng.chance(0.5)
    return {
      name: resent ? 'commit again' : 'commit',
      args: { by: by.build, deltas },
      call: async (store) => {
        const { feedId, claimed, ...committed } = await store.commit(by, deltas, { resent, feed })
        return { ...committed, claimed: byUid(claimed), isFed: feedId !== null }
      },
    }
  }

  private start(): StartDelta {
    const { rng } = this
    return { kind: 'start', run: this.run(), claim: rng.chance(0.4) }
  }

  private run(): NewRun {
    const { rng } = this
    const known = rng.chance(0.15) ? this.row() : null
    const { name, version } = rng.pick(DEFINITIONS)
    return newRun({
      uid: known && rng.chance(0.5) ? known.uid : this.uuid(),
      id: known?.run.id ?? this.id(),
      workspace: known?.run.workspace ?? rng.pick(['default', 'default', 'other']),
      definition: known?.run.definition ?? name,
      version: rng.pick([version, null]),
      input: known?.run.input ?? JSON.stringify(rng.int(3)),
      priority: rng.pick([1, 5, 9]),
      tags: rng.chance(0.2) ? { team: 'a' } : {},
      delayMs: 0,
      timeoutMs: rng.chance(0.15) ? 5_000 : null,
    })
  }

  private message(): MessageDelta {
    const { rng } = this
    const row = rng.chance(0.9) ? this.row() : null
    const to = row
      ? { workspace: row.run.workspace, id: row.run.id }
      : { workspace: 'default', id: 'nobody' as RunId }
    return { kind: 'message', to, message: this.letter(row), claim: rng.chance(0.5) }
  }

  private messageId(): MessageId {
    this.count += 1
    return `m${this.count}` as MessageId
  }

  private letter(row: MemoryRun | null) {
    const { rng } = this
    const known = row && row.messages.length > 0 && rng.chance(0.2) ? rng.pick(row.messages) : null
    const id = known?.id ?? this.messageId()
    if (rng.chance(0.25)) {
      const name = rng.chance(0.3) ? 'force' : ''
      return newMessage({ id, kind: 'cancel', name, payload: null, meta: { reason: 'r' } })
    }
    const name = rng.pick(NAMES)
    if (rng.chance(0.2)) return newMessage({ id, kind: 'trigger', name, meta: { within: 100 } })
    return newMessage({ id, name })
  }

  private turn(row: MemoryRun): TurnDelta {
    const { rng } = this
    const fence = this.fence(row)
    const untaken = row.messages.filter(({ takenSeq }) => takenSeq === null).map(({ no }) => no)
    const taken = untaken.filter(() => rng.chance(0.4))
    const next = this.nextOf(row)
    const entries = Array.from({ length: rng.int(3) }, () => this.entry(rng.pick(OUTCOMES)))
    if (next.kind === 'end') entries.push(this.entry(`run.${next.status}`))
    const children = this.rows().filter(({ run }) => run.parent?.uid === row.uid)
    const told = row.run.parent?.uid ?? (children.length > 0 ? rng.pick(children).uid : null)
    const isTelling = told !== null && told !== row.uid && rng.chance(0.4)
    const message = newMessage({
      id: this.messageId(),
      kind: 'cancel',
      name: '',
    })
    return turn(fence, {
      entries,
      taken: entries.length > 0 ? taken : [],
      notBefore: rng.chance(0.1) ? this.now() + rng.pick([-5, 0, 5]) : null,
      starts: rng.chance(0.15) ? [this.child(row)] : [],
      messages: isTelling ? [{ to: told, message, claim: rng.chance(0.5) }] : [],
      events: rng.chance(0.15) ? [this.event()] : [],
      waits: rng.chance(0.15) ? [this.wait()] : null,
      undoOpen: rng.chance(0.1) ? rng.int(3) : null,
      shown: rng.chance(0.15) ? this.shown() : null,
      documents: rng.chance(0.25) ? this.documents(entries.length) : [],
      answers: this.answers(row, entries.length > 0 ? taken : [], entries.length),
      next,
    })
  }

  /** A turn of a run that rests, with messages that nobody has stored. */
  private brought(row: MemoryRun, by: Worker): TurnDelta {
    const { rng } = this
    const messages = Array.from({ length: rng.between(1, 2) }, () =>
      newMessage({ id: this.messageId(), name: rng.pick(NAMES) }),
    )
    const areNew = rng.chance(0.5)
    const [known] = row.messages
    const isKnown = known && !areNew && rng.chance(0.3)
    const inbox = row.inbox + (rng.chance(0.05) ? 1 : 0)
    const told = isKnown ? [newMessage({ id: known.id })] : messages
    const from = { ...row, inbox: inbox + told.length }
    const delta = this.turn({ ...from, messages: [...row.messages, ...told.map(asUntaken(row))] })
    const owner = rng.chance(0.95) ? by.id : delta.fence.owner
    if (rng.chance(0.5))
      return reacted(
        { ...delta.fence, owner },
        { brings: { inbox, messages: told, areNew }, round: rng.between(1, 9), at: this.now() },
      )
    const brings = { inbox, messages: told, areNew, reactions: null }
    const fence = { ...delta.fence, owner }
    // One without entries means nothing else either.
    if (delta.entries.length === 0)
      return turn(fence, { brings, next: park({ seen: inbox + told.length }) })
    return { ...delta, fence, notBefore: null, brings }
  }

  private shown(): Shown {
    const { rng } = this
    const at = { place: rng.pick(['a', 'b é']), error: rng.chance(0.3) ? '"e"' : null }
    const state = `{"s":${rng.int(3)}}`
    return rng.pick([{ at }, { state }, { at, state }])
  }

  /** Few types and keys, so that they meet. */
  private documents(entries: number): TurnDelta['documents'] {
    const { rng } = this
    const count = entries > 0 ? rng.between(1, 3) : 0
    // Those of one entry stand together, as a turn gives them.
    const places = Array.from({ length: count }, () => rng.between(1, entries)).sort(
      (a, b) => a - b,
    )
    return places.map((place) => {
      const document = newDocument({
        id: `d${rng.int(1_000_000)}`,
        type: rng.pick(['Note', 'Draft']),
        key: rng.pick([null, 'k', 'l "é']),
        tags: rng.chance(0.3) ? ['t', 'u,'] : [],
        isHidden: rng.chance(0.2),
        content: JSON.stringify(`é ${rng.int(9)} \\ \u2028`),
      })
      return { document, entry: place }
    })
  }

  private answers({ messages }: MemoryRun, taken: readonly number[], entries: number) {
    const { rng } = this
    const later = taken.filter(() => rng.chance(0.4)).map((no) => ({ no, entry: null }))
    const open = messages.filter(({ replySeq }) => replySeq === 0 && entries > 0)
    const now = open
      .filter(() => rng.chance(0.5))
      .map(({ no }) => ({ no, entry: rng.between(1, entries) }))
    return [...later, ...now]
  }

  private fence(row: MemoryRun): Fence {
    const { rng } = this
    const owner = rng.chance(0.95) && row.owner ? row.owner : rng.pick(this.workers).id
    const epoch = row.epoch - (rng.chance(0.05) ? 1 : 0)
    const seq = row.journal.length - (rng.chance(0.05) ? 1 : 0)
    return { uid: row.uid, owner, epoch, seq }
  }

  private entry(kind: EntryKind): NewEntry {
    const { rng } = this
    const isOfRun = kind.startsWith('run.')
    const name = isOfRun ? '' : rng.pick(['a', 'b'])
    const checkpoint = kind === 'step.completed' ? { checkpoint: rng.between(1, 9) } : {}
    return entry({
      kind,
      name,
      occurrence: isOfRun ? 0 : rng.between(1, 3),
      at: this.now(),
      meta: rng.chance(0.3) ? { target: 'inline', askedAgo: rng.int(9), ...checkpoint } : null,
      payload: rng.chance(0.8) ? JSON.stringify(`é ${rng.int(9)} \u2028`) : null,
    })
  }

  private nextOf({ inbox, stop }: MemoryRun): Next {
    const { rng } = this
    const roll = rng.int(10)
    if (roll < 3) return { kind: 'go' }
    if (roll < 4) return { kind: 'release' }
    const stopSeen = rng.chance(0.5) ? stop : null
    if (roll < 6) return { kind: 'end', status: rng.pick(ENDS), stopSeen }
    const isDiverged = rng.chance(0.1)
    return park({
      reason: isDiverged ? 'diverged' : rng.pick(['signal', 'timer', 'child', 'retry'] as const),
      dueAt: rng.chance(0.5) ? this.now() + rng.pick([-10, 0, 40, 5_000]) : null,
      seen: rng.chance(0.8) ? inbox : 0,
      divergedBuild: isDiverged ? rng.pick(this.workers).build : null,
      stopSeen,
    })
  }

  private child({ run }: MemoryRun): StartDelta {
    const uid = this.uuid()
    const parent = { uid: run.uid, id: run.id }
    const more = { uid, id: uid as string as RunId, workspace: run.workspace, parent }
    return { kind: 'start', run: newRun(more), claim: this.rng.chance(0.4) }
  }

  private event() {
    this.count += 1
    const keys = this.rng.chance(0.5) ? ['k=1', 'l=2'] : ['k=2']
    return { id: `e${this.count}`, name: this.rng.pick(EVENTS), keys, payload: `"${this.count}"` }
  }

  private wait() {
    const { rng } = this
    const event = { event: rng.pick(EVENTS), match: rng.chance(0.5) ? ['k=1'] : [] }
    const heard = rng.chance(0.6) ? event : { run: this.id() }
    const since = this.now() - rng.pick([0, 20])
    return { name: rng.pick(['w', 'v']), occurrence: 1, since, heard }
  }

  // ── the rest ──────────────────────────────────────────────────────────────────────────────────────────────

  private claim(): Operation {
    const { rng } = this
    const by = rng.pick(this.workers)
    const [places, suspects] = [rng.int(5), rng.int(2)]
    return operation('claim', [by.build, places, suspects], (store) =>
      store.claim(by, places, suspects),
    )
  }

  private load(): Operation {
    const { rng } = this
    const row = this.row()
    if (!row) return this.claim()
    const fence = this.fence(row)
    if (rng.chance(0.3)) {
      return operation('resolve', fence, (store) => store.resolve(fence, fence.seq))
    }
    const from = rng.chance(0.6) ? 0 : rng.int(row.journal.length + 1)
    const what = [{ fence, fromSeq: from, fromNo: rng.int(2) }]
    return operation('load', what, (store) => store.load(what))
  }

  private leases(): Operation {
    const { rng } = this
    const by = rng.pick(this.workers)
    const roll = rng.int(10)
    if (roll < 3) return operation('join', by.build, (store) => store.join(by))
    if (roll < 6) {
      return operation('beat', by.build, async (store) => {
        const { owned, ...rest } = await store.beat(by)
        return { ...rest, owned: byUid(owned) }
      })
    }
    if (roll < 7) return operation('leave', by.build, (store) => store.leave(by))
    const unmoved = [...this.memory.workers].map(([id, { beat }]) => ({
      id,
      beat: rng.chance(0.8) ? beat : beat + 1,
    }))
    return operation('reap', unmoved, async (store) => {
      const { workers, dead, freed } = await store.reap(unmoved, false)
      return { workers: sorted(workers), dead: sorted(dead), freed }
    })
  }

  private operate(): Operation {
    const { rng } = this
    const row = this.row()
    if (!row) return this.commit()
    const to = { workspace: row.run.workspace, id: row.run.id }
    const roll = rng.int(10)
    if (roll < 3) {
      const isPaused = rng.chance(0.6)
      return operation('setPaused', [to, isPaused], (store) => store.setPaused(to, isPaused))
    }
    if (roll < 5) {
      const run = this.run()
      const message = rng.chance(0.5) ? newMessage({ id: this.messageId() }) : null
      const start = { run, meta: rng.chance(0.5) ? { bornWith: 1 } : null, message }
      return operation('startAlone', start, (store) => store.startAlone(start, null))
    }
    if (roll < 7) return this.fork(row)
    const failed = this.rows().filter(({ status }) => status === 'failed')
    const [again = row] = failed.length > 0 ? [rng.pick(failed)] : []
    const attempt = again.attempt + (rng.chance(0.1) ? 1 : 0)
    const reopened = entry({ kind: 'run.reopened', name: '', occurrence: 0, at: this.now() })
    const chain = [{ uid: again.uid, attempt, entry: reopened, due: rng.chance(0.7) }]
    return operation('reopen', chain, (store) => store.reopen(chain))
  }

  private fork(row: MemoryRun): Operation {
    const { rng } = this
    const plan = {
      of: row.uid,
      uid: this.uuid(),
      id: (rng.chance(0.7) ? `f-${this.count}` : this.id()) as RunId,
      upTo: rng.between(1, row.journal.length),
      meta: { forkOf: row.uid, seed: row.uid, bornWith: 1 },
      input: rng.chance(0.3) ? '"other"' : null,
      outputs: [],
      forgetsChild: [],
    }
    return operation('fork', plan, (store) => store.fork(plan))
  }

  private events(): Operation {
    const { rng } = this
    const roll = rng.int(10)
    if (roll < 3) {
      const event = this.event()
      const workspace = rng.pick(['default', 'other'])
      return operation('emit', event, (store) => store.emit(workspace, event, null))
    }
    if (roll < 6) return operation('fanOut', null, async (store) => once(await store.fanOut(500)))
    if (roll < 8) {
      return operation('awaited', null, async (store) => sorted(await store.awaited(null, 500)))
    }
    const row = this.row()
    if (!row) return this.claim()
    const waits = [{ uid: row.uid, name: 'w', occurrence: 1 }]
    return operation('heard', waits, (store) => store.heard(waits))
  }

  private read(): Operation {
    const { rng } = this
    const row = this.row()
    if (!row) return this.claim()
    const { workspace, id } = row.run
    switch (rng.int(10)) {
      case 0:
        return operation('get', id, (store) => store.read.get(workspace, id))
      case 1: {
        const [limit, newestFirst] = [rng.between(1, 4), rng.chance(0.5)]
        const page = { after: rng.chance(0.5) ? null : 2, limit, newestFirst }
        return operation('history', page, (store) => store.read.history(row.uid, page))
      }
      case 2:
        return operation('openChildren', row.uid, (store) => store.read.openChildren(row.uid))
      case 3:
        return operation('liveDefinitions', null, (store) => store.read.liveDefinitions())
      case 4: {
        const tickets = this.rows().map(({ run }) => ({ workspace: run.workspace, id: run.id }))
        return operation('settled', null, async (store) => byUid(await store.settled(tickets)))
      }
      case 5: {
        const calls = this.rows().flatMap(({ uid, messages }) =>
          messages.flatMap(({ no, kind }) => (kind === 'trigger' ? [{ uid, no }] : [])),
        )
        return operation('called', calls, async (store) => sorted(await store.called(calls)))
      }
      case 6:
        return operation('documents', row.uid, (store) => store.read.documents(row.uid))
      case 7: {
        const page = { after: rng.chance(0.5) ? null : 2, limit: 3, newestFirst: rng.chance(0.5) }
        return operation('checkpoints', page, (store) => store.read.checkpoints(row.uid, page))
      }
      case 8:
        return this.looking(row)
      default:
        return this.list(row)
    }
  }

  private looking({ uid, run }: MemoryRun): Operation {
    const { rng } = this
    const of = { workspace: run.workspace, definition: rng.pick([null, run.definition]) }
    const uids = this.rows().map((row) => row.uid)
    const limits = {
      runsMax: rng.between(1, 5),
      entriesMax: rng.between(1, 5),
      entriesOfAll: 1_000,
    }
    const steps = { workspace: run.workspace, definition: run.definition, from: null, ...limits }
    const page = { ...of, after: rng.chance(0.3) ? uid : null, limit: rng.between(1, 5) }
    return operation('looking', { page, steps }, async ({ read }) => ({
      inbox: await read.inbox(page),
      recent: sorted([...(await read.recent(uids, 3))]),
      visible: sorted([...(await read.visible(uids, 2))]),
      steps: await read.stepCounts(steps),
    }))
  }

  private list({ run }: MemoryRun): Operation {
    const { rng } = this
    const statuses = ['waiting', 'running', 'failed'] as const
    const filter = {
      workspace: rng.pick([null, run.workspace]),
      definition: rng.pick([null, run.definition]),
      statuses: rng.chance(0.3) ? statuses : null,
      reason: rng.pick([null, null, 'signal', 'slot', 'missing-code'] as const),
      tags: rng.chance(0.2) ? { team: 'a' } : {},
      parentId: rng.chance(0.1) ? run.id : null,
      createdAfter: null,
      createdBefore: rng.chance(0.2) ? this.now() : null,
      text: rng.chance(0.2) ? '-1' : null,
      after: rng.chance(0.2) ? run.uid : null,
      newestFirst: rng.chance(0.5),
      limit: rng.between(1, 20),
    }
    return operation('list', filter, (store) => store.read.list(filter))
  }
}

function operation(
  name: string,
  args: unknown,
  call: (store: Store) => Promise<unknown>,
): Operation {
  return { name, args, call }
}

const text = (value: unknown): string => JSON.stringify(value) ?? ''
const sorted = <T>(list: readonly T[]): T[] => list.toSorted((a, b) => (text(a) < text(b) ? -1 : 1))
/** A wait may be found twice; which of several events it hears first is told by their times. */
const once = <T>(list: readonly T[]): string[] => [...new Set(sorted(list).map(text))]
const byUid = <T extends { readonly uid: Uid }>(list: readonly T[]): T[] =>
  list.toSorted((a, b) => (a.uid < b.uid ? -1 : 1))

/** All that a store has to say of its runs. */
export async function snapshot(store: Store): Promise<unknown> {
  const all = {
    ...{ workspace: null, definition: null, statuses: null, reason: null, tags: {} },
    ...{ parentId: null, createdAfter: null, createdBefore: null, text: null, after: null },
  }
  const runs = await store.read.list({ ...all, newestFirst: false, limit: 10_000 })
  const page = { after: null, limit: 10_000, newestFirst: false }
  const histories = []
  const documents = []
  for (const { uid } of runs) {
    histories.push(await store.read.history(uid, page))
    documents.push(await store.read.documents(uid))
  }
  return {
    runs,
    histories,
    documents,
    isOpen: runs.filter(({ status }) => !isFinal(status)).length,
  }
}

/** As it will be in the mailbox. */
function asUntaken({ inbox }: MemoryRun) {
  return (message: NewMessage, i: number) => {
    return { ...message, no: inbox + i + 1, at: 0, takenSeq: null, replySeq: null }
  }
}

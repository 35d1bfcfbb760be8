// Deltas and workers for the contract tests, with everything filled in that a test does not care about.

import { randomBytes, randomUUID } from 'node:crypto'
import { ReactedTurn } from '../../src/kernel/reacted-turn.js'
import type {
  Answer,
  Brings,
  Claimed,
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
import { HOLE } from '../../src/model/codec.js'
import { type MessageId, type RunId, type Uid, uuidv7, type WorkerId } from '../../src/model/ids.js'
import type { DocumentRow } from '../../src/model/program.js'
import { ENTRIES_OF_REACTED, type Reacted } from '../../src/model/reacted.js'
import type { Entry, Message, NewDocument, NewEntry, NewMessage } from '../../src/model/run.js'

let lastUidAt = 0
/** Each later than the one before, also within one millisecond: lists are in this order. */
export function newUid(): Uid {
  lastUidAt = Math.max(lastUidAt + 1, Date.now())
  return uuidv7(lastUidAt, randomBytes(10)) as Uid
}

export const newId = (prefix = 'run'): RunId =>
  `${prefix}-${randomBytes(5).toString('hex')}` as RunId

export const ORDER = { name: 'order', version: '1' }

export function worker(changes: Partial<Worker> = {}): Worker {
  const id = randomUUID() as WorkerId
  return { id, build: 'b1', leaseMs: 30_000, definitions: [ORDER], ...changes }
}

export function newRun(changes: Partial<NewRun> = {}): NewRun {
  const uid = changes.uid ?? newUid()
  return {
    uid,
    id: newId(),
    workspace: 'default',
    definition: 'order',
    version: '1',
    input: '{"a":1}',
    order: null,
    tags: {},
    priority: 5,
    delayMs: 0,
    timeoutMs: null,
    parent: null,
    ...changes,
  }
}

/** Inserted due, for anybody. */
export function start(changes: Partial<NewRun> = {}): StartDelta {
  return { kind: 'start', run: newRun(changes), claim: false }
}

/** Inserted already claimed by the committer. */
export function claimedStart(changes: Partial<NewRun> = {}): StartDelta {
  return { kind: 'start', run: newRun(changes), claim: true }
}

/** A child's id is its uid. */
export function child(parent: NewRun, changes: Partial<NewRun> = {}): StartDelta {
  const uid = newUid()
  const { id, workspace } = parent
  const own = { uid, id: uid as string as RunId, workspace, parent: { uid: parent.uid, id } }
  return { kind: 'start', run: newRun({ ...own, ...changes }), claim: false }
}

export function entry(changes: Partial<NewEntry> = {}): NewEntry {
  return {
    kind: 'step.completed',
    name: 'charge',
    occurrence: 1,
    attempt: 1,
    at: 1_700_000_000_123,
    meta: null,
    payload: '"ok"',
    ...changes,
  }
}

export const ENDED: NewEntry = entry({ kind: 'run.completed', name: '', occurrence: 0, attempt: 0 })

export function newMessage(changes: Partial<NewMessage> = {}): NewMessage {
  const id = randomUUID() as string as MessageId
  return { id, kind: 'signal', name: 'go', meta: null, payload: '"hello"', ...changes }
}

export function signal(to: NewRun, changes: Partial<NewMessage> = {}, claim = false): MessageDelta {
  const { workspace, id } = to
  return { kind: 'message', to: { workspace, id }, message: newMessage(changes), claim }
}

export function cancel(to: NewRun, changes: Partial<NewMessage> = {}, claim = false): MessageDelta {
  const own = { kind: 'cancel', name: '', payload: null, ...changes } as const
  return signal(to, own, claim)
}

export function fenceOf(run: NewRun, owner: Worker, epoch = 1, seq = 1): Fence {
  return { uid: run.uid, owner: owner.id, epoch, seq }
}

export function turn(fence: Fence, changes: Partial<TurnDelta> = {}): TurnDelta {
  return {
    kind: 'turn',
    fence,
    notBefore: null,
    entries: [],
    taken: [],
    refused: [],
    events: [],
    waits: null,
    starts: [],
    messages: [],
    undoOpen: null,
    shown: null,
    documents: [],
    answers: [],
    next: { kind: 'go' },
    ...changes,
  }
}

/** One outcome, still owned. */
export const step = (fence: Fence, changes: Partial<TurnDelta> = {}): TurnDelta =>
  turn(fence, { entries: [entry()], ...changes })

export function park(changes: Partial<Extract<Next, { kind: 'park' }>> = {}): Next {
  return {
    kind: 'park',
    reason: 'signal',
    dueAt: null,
    seen: 0,
    divergedBuild: null,
    stopSeen: null,
    ...changes,
  }
}

export function end(changes: Partial<Extract<Next, { kind: 'end' }>> = {}): Next {
  return { kind: 'end', status: 'completed', stopSeen: null, ...changes }
}

export const parked = (fence: Fence, changes: Parameters<typeof park>[0] = {}): TurnDelta =>
  turn(fence, { entries: [entry()], next: park(changes) })

export const ended = (fence: Fence, changes: Parameters<typeof end>[0] = {}): TurnDelta =>
  turn(fence, { entries: [ENDED], next: end(changes) })

/** What a run shows behind round n. */
export const stateBehind = (n: number): string => JSON.stringify({ n, text: 'é \\ "\u2028\u0001' })

/**
 * What messages have done to a run that was parked at the end of round `round`, each four entries; the run waits again. Those with the name x have
 * changed nothing.
 */
export function reacted(
  fence: Fence,
  facts: { brings: Omit<Brings, 'reactions'>; round: number; at?: number; next?: Next },
): TurnDelta {
  const { brings, round, at = 1_000 } = facts
  const { inbox, messages } = brings
  const reactions = messages.map(({ id, name, payload }, i): Reacted => {
    const isChange = name !== 'x'
    const left = `{"a":1,"state":${HOLE}}`
    const wish = { names: [name], until: null }
    return {
      ...{ no: inbox + i + 1, id, name, payload, at },
      ...{ loop: 'm@', round: round + i, wait: 'wait', opened: { names: [name] } },
      behind: [2, fence.seq + i * ENTRIES_OF_REACTED + 2],
      done: {
        ...{ step: name, label: 'transition', checkpoint: isChange ? round + i : null },
        ...{ state: stateBehind(round + i), value: `[${HOLE},1]`, left, children: [], wish },
        place: isChange ? 'open' : null,
      },
    }
  })
  const { next = park({ seen: inbox + messages.length }) } = facts
  return new ReactedTurn(fence, { ...brings, reactions }, next)
}

export const PLAIN = { resent: false, feed: false }
export const RESENT = { resent: true, feed: false }

/** Commits and gives the answers. */
export async function commit(
  store: Store,
  by: Worker,
  ...deltas: readonly Delta[]
): Promise<readonly Answer[]> {
  return (await store.commit(by, deltas, PLAIN)).answers
}

export async function kinds(
  store: Store,
  by: Worker,
  ...deltas: readonly Delta[]
): Promise<readonly string[]> {
  return (await commit(store, by, ...deltas)).map(({ kind }) => kind)
}

/** A run owned by `by`, at epoch 1 and seq 1. */
export async function ownedRun(
  store: Store,
  by: Worker,
  changes: Partial<NewRun> = {},
): Promise<NewRun> {
  const delta = claimedStart(changes)
  await commit(store, by, delta)
  return delta.run
}

/** A run that waits for a message: epoch 1, seq 2. */
export async function parkedRun(
  store: Store,
  by: Worker,
  changes: Partial<NewRun> = {},
): Promise<NewRun> {
  const run = await ownedRun(store, by, changes)
  await commit(store, by, parked(fenceOf(run, by)))
  return run
}

export async function claimAll(store: Store, by: Worker, places = 100): Promise<Claimed[]> {
  return [...(await store.claim(by, places, places)).claimed]
}

export async function viewOf(store: Store, { workspace, id }: NewRun) {
  const view = await store.read.get(workspace, id)
  if (view === null) throw new Error(`no run ${id}`)
  return view
}

export async function historyOf(store: Store, { uid }: NewRun): Promise<readonly Entry[]> {
  return await store.read.history(uid, { after: null, limit: 1_000, newestFirst: false })
}

export function newDocument(changes: Partial<NewDocument> = {}): NewDocument {
  const [id, content] = [randomUUID(), '{"text":"hello"}']
  return { id, type: 'Note', key: null, tags: [], isHidden: false, content, ...changes }
}

export async function documentsOf(store: Store, { uid }: NewRun): Promise<readonly DocumentRow[]> {
  return await store.read.documents(uid)
}

/** The untaken messages of a run that `fence` owns. */
export async function mailOf(store: Store, fence: Fence): Promise<readonly Message[]> {
  const [loaded] = await store.load([{ fence, fromSeq: 0, fromNo: 0 }])
  return loaded?.messages ?? []
}

// Committer: group commit. Everything that is to be written waits in one queue; while a call is in flight the
// next batch gathers. No artificial delay: idle latency is one round trip, and batches grow by themselves.
//
// Owns:      the queue of starts and messages, the set of frames with something to say, the batches in flight.
// Talks to:  Store.commit (out), frames (takes their deltas, brings the answers), callers (promises).
//
// Invariants
//   C1. A run has one turn delta in flight (its frame gives no second one).
//   C2. A batch whose answer was lost is sent again, unchanged, until it is answered: re-sending is the look-up.
//   C3. A value that the database refuses costs its own delta alone: the batch is halved until it is found.
//   C4. Turn results go before messages, messages before starts.

import type { MessageId, Uid } from '../model/ids.js'
import { BATCH_BYTES_MAX, BATCH_DELTAS_MAX, BATCH_SPLIT_MIN } from '../model/limits.js'
import { bytesOfReacted } from '../model/reacted.js'
import type { Counters } from './counters.js'
import type { Defects } from './defects.js'
import type { RunName } from './events.js'
import type { Meters } from './meters.js'
import type { Ports } from './ports.js'
import type {
  Answer,
  Committed,
  Delta,
  MessageDelta,
  StartDelta,
  Store,
  TurnDelta,
  Worker,
} from './store.js'
import { StoreRefused, StoreUnavailable } from './store.js'

/** Something with a delta to commit. */
interface Item {
  readonly delta: Delta
  readonly bytes: number
  /** An earlier sending may have stored it: busy is no answer to that. */
  readonly resent: boolean
  /** Whose turn it is; or whoever waits for the answer. */
  readonly speaker: Speaker | null
  readonly caller: Caller | null
}

interface Caller {
  answered(answer: Answer): void
  refused(error: StoreRefused): void
}

/** A run that says what it has to say when it is asked. */
export interface Speaker {
  readonly run: RunName
  /** It is in the queue of those that are asked. */
  isQueued: boolean
  takeDelta(): TurnDelta | null
}

export interface CommitterDeps {
  readonly store: Store
  readonly ports: Ports
  readonly counters: Counters
  readonly meters: Meters
  readonly defects: Defects
  readonly connections: number
  worker(): Worker
  /** Somebody listens: what is committed goes to the feed until it is delivered. */
  feed(): boolean
  /** Lets the deltas of this batch take the runs that they make runnable. */
  grant(delta: Delta): Delta
  /** It will never be stored: the places that it was granted are free. */
  ungrant(delta: Delta): void
  /** Before the answers are told, in the order of the commit. */
  committed(deltas: readonly Delta[], committed: Committed, by: Worker): void
  turnAnswered(delta: TurnDelta, answer: Answer, speaker: Speaker): void
  /** Listeners hear of these entries. */
  tell(delta: TurnDelta, run: RunName): void
  reply(delta: TurnDelta): void
  turnRefused(delta: TurnDelta, error: StoreRefused, speaker: Speaker): void
}

const RETRY_MIN_MS = 20
const RETRY_MAX_MS = 1_000

export class Committer {
  private readonly deps: CommitterDeps
  private speakers: Speaker[] = []
  private readonly again: Item[] = []
  private readonly messages: Item[] = []
  private readonly starts: Item[] = []
  /** Runs that a batch in flight is about, as owner or as receiver. */
  private readonly engaged = new Set<Uid>()
  private inFlight = 0
  private scheduled = false
  queuedBytes = 0

  constructor(deps: CommitterDeps) {
    this.deps = deps
  }

  /** This run has something to say. It is asked when the next batch is made. */
  submit(speaker: Speaker): void {
    if (!speaker.isQueued) {
      speaker.isQueued = true
      this.speakers.push(speaker)
    }
    this.schedule()
  }

  send(delta: StartDelta | MessageDelta, caller: Caller): void {
    const bytes = bytesOf(delta)
    this.queuedBytes += bytes
    const item: Item = { delta, bytes, resent: false, speaker: null, caller }
    if (delta.kind === 'start') this.starts.push(item)
    else this.messages.push(item)
    this.schedule()
  }

  /** Nothing is queued or in flight. */
  get idle(): boolean {
    return this.queued === 0 && this.inFlight === 0
  }

  private schedule(): void {
    if (this.scheduled) return
    this.scheduled = true
    this.deps.ports.quiet.next(() => {
      this.scheduled = false
      this.flush()
    })
  }

  private flush(): void {
    while (this.inFlight < this.deps.connections) {
      const batch = this.assemble(this.most())
      if (batch.length === 0) break
      this.inFlight += 1
      for (const item of batch) this.engage(item.delta, true)
      const resent = batch.some((item) => item.resent)
      this.sendBatch(batch, resent, RETRY_MIN_MS)
    }
  }

  private get queued(): number {
    return this.speakers.length + this.again.length + this.messages.length + this.starts.length
  }

  /**
   * With nothing in flight a long queue goes in two parts. As one it would be one for ever: all its runs would wait for the
   * database together, and then the database for all of them.
   */
  private most(): number {
    const { queued } = this
    const isLong = queued >= BATCH_SPLIT_MIN && this.inFlight === 0
    const isSplit = isLong && !this.deps.store.isSingle
    return isSplit ? Math.min(BATCH_DELTAS_MAX, Math.ceil(queued / 2)) : BATCH_DELTAS_MAX
  }

  private assemble(most: number): Item[] {
    const batch: Item[] = []
    let bytes = 0
    const fits = (item: Item): boolean =>
      batch.length === 0 || (batch.length < most && bytes + item.bytes <= BATCH_BYTES_MAX)
    const add = (item: Item): void => {
      batch.push(item)
      bytes += item.bytes
    }
    // A frame that is gone may still have a delta here: two of one run are never in flight.
    const isBusy = (uid: Uid): boolean =>
      this.engaged.has(uid) ||
      this.again.some(({ delta }) => delta.kind === 'turn' && delta.fence.uid === uid)
    const asked = this.speakers
    this.speakers = []
    for (const speaker of asked) {
      const isFull = batch.length >= most || bytes >= BATCH_BYTES_MAX
      if (isFull || isBusy(speaker.run.uid)) {
        this.speakers.push(speaker)
        continue
      }
      speaker.isQueued = false
      const delta = speaker.takeDelta()
      if (delta) add(this.turnItem(delta, speaker))
    }
    for (const queue of [this.again, this.messages, this.starts]) {
      let taken = 0
      for (const item of queue) {
        if (!fits(item)) break
        add(queue === this.again ? item : { ...item, delta: this.deps.grant(item.delta) })
        taken += 1
      }
      queue.splice(0, taken)
    }
    return batch
  }

  private turnItem(taken: TurnDelta, speaker: Speaker): Item {
    const delta = this.deps.grant(taken) as TurnDelta
    if (this.deps.defects.has('event-before-commit')) this.deps.tell(delta, speaker.run)
    if (this.deps.defects.has('reply-before-commit')) this.deps.reply(delta)
    return { delta, bytes: bytesOf(delta), resent: false, speaker, caller: null }
  }

  private engage(delta: Delta, on: boolean): void {
    if (delta.kind !== 'turn') return
    this.engageRun(delta.fence.uid, on)
    for (const { to } of delta.messages) this.engageRun(to, on)
  }

  private engageRun(uid: Uid, on: boolean): void {
    if (on) this.engaged.add(uid)
    else this.engaged.delete(uid)
  }

  private sendBatch(batch: readonly Item[], resent: boolean, retryMs: number): void {
    const { store, ports, counters, meters } = this.deps
    const isNew = resent && this.deps.defects.has('new-id-after-loss')
    const deltas = batch.map(({ delta }) => (isNew ? underNewId(delta) : delta))
    counters['commit.batches'] += 1
    counters['commit.deltas'] += deltas.length
    if (resent) counters['commit.resent'] += 1
    meters.batchDeltas.add(deltas.length)
    const sentAt = ports.clock.monotonic()
    ports.fault('commit.before')
    const by = this.deps.worker()
    store.commit(by, deltas, { resent, feed: this.deps.feed() }).then(
      (committed) => {
        ports.fault('commit.after')
        meters.commitMs.add(ports.clock.monotonic() - sentAt)
        this.answered(batch, committed, { by, resent })
      },
      (error: unknown) => {
        if (error instanceof StoreRefused) return this.halve(batch, error)
        if (this.deps.defects.has('assume-committed')) return this.assume(batch)
        if (!(error instanceof StoreUnavailable)) {
          ports.log.error('A commit failed in a way that should not occur; it is sent again.', {
            error,
          })
        }
        const wait = Math.min(retryMs * 2, RETRY_MAX_MS)
        ports.clock.after(retryMs, () => this.sendBatch(batch, true, wait))
      },
    )
  }

  private answered(
    batch: readonly Item[],
    committed: Committed,
    { by, resent }: { readonly by: Worker; readonly resent: boolean },
  ): void {
    const deltas = batch.map((item) => item.delta)
    this.deps.committed(deltas, committed, by)
    let i = 0
    for (const item of batch) {
      const answer = committed.answers[i]
      i += 1
      if (!answer) continue
      this.count(answer)
      if (answer.kind === 'busy' && this.deps.defects.has('busy-is-done')) {
        this.tell(item, assumed(item))
      } else if (answer.kind === 'busy') this.again.push({ ...item, resent })
      else this.tell(item, answer)
    }
    this.done(batch)
  }

  private tell({ delta, bytes, speaker, caller }: Item, answer: Answer): void {
    if (delta.kind === 'turn' && speaker) this.deps.turnAnswered(delta, answer, speaker)
    if (!caller) return
    this.queuedBytes -= bytes
    caller.answered(answer)
  }

  private refuse({ delta, bytes, speaker, caller }: Item, error: StoreRefused): void {
    this.deps.ungrant(delta)
    if (delta.kind === 'turn' && speaker) this.deps.turnRefused(delta, error, speaker)
    if (!caller) return
    this.queuedBytes -= bytes
    caller.refused(error)
  }

  private count(answer: Answer): void {
    const { counters } = this.deps
    if (answer.kind === 'done') counters['answer.repeated'] += answer.repeated ? 1 : 0
    else counters[`answer.${answer.kind}`] += 1
  }

  private halve(batch: readonly Item[], error: StoreRefused): void {
    const [only] = batch
    if (batch.length === 1 && only) {
      this.refuse(only, error)
      return this.done(batch)
    }
    this.deps.counters['commit.halved'] += 1
    const middle = batch.length >> 1
    this.inFlight += 1
    this.sendBatch(batch.slice(0, middle), true, RETRY_MIN_MS)
    this.sendBatch(batch.slice(middle), true, RETRY_MIN_MS)
  }

  private assume(batch: readonly Item[]): void {
    const answers = batch.map(assumed)
    const sent = { by: this.deps.worker(), resent: false }
    this.answered(batch, { now: 0, answers, claimed: [], feedId: null, isAsking: false }, sent)
  }

  private done(batch: readonly Item[]): void {
    for (const item of batch) this.engage(item.delta, false)
    this.inFlight -= 1
    this.schedule()
  }
}

const NONE: readonly never[] = []

function assumed({ delta }: Item): Answer {
  const uid = delta.kind === 'turn' ? delta.fence.uid : ('' as Uid)
  return { kind: 'done', uid, inbox: 0, stop: null, messageNo: 0, repeated: false }
}

function underNewId(delta: Delta): Delta {
  if (delta.kind !== 'message') return delta
  const id = `${delta.message.id}+` as MessageId
  return { ...delta, message: { ...delta.message, id } }
}

function bytesOf(delta: Delta): number {
  switch (delta.kind) {
    case 'start':
      return 200 + delta.run.input.length
    case 'message':
      return 200 + (delta.message.payload?.length ?? 0)
    case 'turn': {
      let bytes = 200
      const reactions = delta.brings?.reactions
      if (reactions) {
        for (const reacted of reactions) bytes += bytesOfReacted(reacted)
        return bytes
      }
      for (const entry of delta.entries) bytes += 100 + (entry.payload?.length ?? 0)
      for (const start of delta.starts) bytes += 200 + start.run.input.length
      for (const { message } of delta.messages) bytes += 200 + (message.payload?.length ?? 0)
      for (const { document } of delta.documents) bytes += 200 + document.content.length
      for (const { payload } of delta.brings?.messages ?? NONE)
        bytes += 200 + (payload?.length ?? 0)
      return bytes
    }
  }
}

// Resident: a run that waits in this process for messages whose effect can be said at once (Wish.react). Its body and its frame are gone: this
// is all that the next of them needs. What they do is written down as if the body had been heard to do it (model/reacted.ts); for whatever
// else comes the run is loaded.
//
// Invariants
//   S1. It is never the run's owner: each turn is fenced by where the last one has left the run (Brings), and a refusal ends it.
//   S2. One turn is on its way at a time; what comes meanwhile waits in its order.

import {
  BATCH_BYTES_MAX,
  BROUGHT_MARGIN_MS,
  EARLY_ENTRIES_MAX,
  VALUE_BYTES_WARN,
} from '../model/limits.js'
import type { Reaction, Wish } from '../model/program.js'
import {
  bytesOfReacted,
  ENTRIES_OF_REACTED,
  entriesOfReacted,
  filled,
  type Reacted,
} from '../model/reacted.js'
import type { EntryMeta, Instant, RunFacts } from '../model/run.js'
import { waitMeta } from './answers.js'
import type { WaitAsk } from './asks.js'
import type { Frame } from './frame.js'
import type { HolderDeps } from './held-run.js'
import { warnOfLarge } from './large-values.js'
import { ReactedTurn } from './reacted-turn.js'
import type { Behind } from './rounds.js'
import type { Sender } from './sender.js'
import type { Called, Next } from './store.js'
import { limitOf } from './triggers.js'
import { instantOf } from './turn.js'

const REACTED_MAX = EARLY_ENTRIES_MAX / ENTRIES_OF_REACTED
const NONE: readonly never[] = []

/** A turn, and those that are told of it, in the order of its messages. */
interface Said {
  readonly turn: ReactedTurn
  readonly senders: readonly Sender[]
}

export class Resident {
  readonly run: RunFacts
  isQueued = false
  /** Another has the run, or will have; what is on its way may still be stored. */
  isGone = false
  /** Since room was looked for. */
  isUsed = true
  /** What keeping it costs. */
  bytes: number
  private readonly deps: HolderDeps
  private readonly epoch: number
  private readonly loop: string
  private readonly wait: string
  /** When the run needs a look whatever it waits for. */
  private readonly limit: Instant | null
  /** Of the round that waits. */
  private number: number
  private wish: Wish
  private dueAt: Instant | null
  /** Of its last entry. */
  private at: Instant
  /** What is behind the round that waits, as long as that has to be looked for. */
  private before: Behind | null
  private behind: readonly number[] = NONE
  /** As far as it is stored: entries and messages. */
  private seq: number
  private inbox: number
  private senders: Sender[] = []
  private reacted: Reacted[] = []
  private reactedBytes = 0
  private said: Said | null = null
  /** They have come meanwhile. */
  later: Sender[] = []

  /** null: it waits for something else, too; or for the second time in one round, which the body counts. */
  static of(frame: Frame): Resident | null {
    const { questions, mail, deps } = frame
    const [ask] = questions.all()
    if (questions.size !== 1 || ask?.kind !== 'wait' || !ask.wish.react) return null
    if (!ask.scope.parent || ask.occurrence !== 1) return null
    // Where somebody stands between a step and its code, steps are executed.
    return mail.isEmpty && !deps.attempts.execute ? new Resident(frame, ask) : null
  }

  private constructor(frame: Frame, { scope, name, wish, dueAt }: WaitAsk) {
    this.run = frame.run
    this.bytes = frame.run.input.length
    this.deps = frame.deps
    this.epoch = frame.epoch
    this.loop = scope.name.slice(0, scope.name.lastIndexOf('@') + 1)
    this.wait = name.slice(scope.path.length)
    this.limit = limitOf(frame)
    this.number = scope.number
    this.wish = wish
    this.dueAt = dueAt
    this.at = frame.clock()
    this.before = frame.scribe.behind
    this.seq = frame.out.ackedSeq
    this.inbox = frame.mail.seen
  }

  /** Nothing more can be said for now. */
  get isBusy(): boolean {
    return this.isGone || this.said !== null || this.later.length > 0
  }

  /** Something is to be said. */
  get isSpeaking(): boolean {
    return this.reacted.length > 0
  }

  /** It needs nobody's look before that. */
  isQuietUntil(at: Instant): boolean {
    const { dueAt, limit } = this
    return (dueAt === null || dueAt > at) && (limit === null || limit > at)
  }

  /** One that is sent again while it is on its way. */
  find({ message: { id } }: Sender): Sender | null {
    const isSame = (sender: Sender): boolean => sender.message.id === id
    const { senders, said, later } = this
    return senders.find(isSame) ?? said?.senders.find(isSame) ?? later.find(isSame) ?? null
  }

  /** Does what the message does. false: its body is needed for that, or more must not wait to be stored. */
  reacts(sender: Sender): boolean {
    const { wish, reacted, deps, loop, wait, number: round } = this
    const { id, name, payload } = sender.message
    if (reacted.length >= REACTED_MAX || this.reactedBytes > BATCH_BYTES_MAX) return false
    // Two questions of one name in a round are told apart by counting, which the body does.
    if (name === wait || !wish.names.includes(name)) return false
    const at = Math.max(deps.now(), this.at)
    const done = wish.react?.(name, payload, at)
    if (!done) return false
    const { until } = done.wish
    const dueAt = until && instantOf(until, at)
    if (dueAt !== null && dueAt < at + BROUGHT_MARGIN_MS) return false
    const no = this.inbox + reacted.length + 1
    const opened = openedMeta(done.wish, dueAt)
    const behind = this.behindRound(done, this.seq + reacted.length * ENTRIES_OF_REACTED)
    // biome-ignore format: one literal, because one is made for every event
    const one: Reacted = { no, id, name, payload, at, loop, round, wait, done, behind, opened }
    deps.counters['message.reacted'] += 1
    deps.attempts.meters.step(this.run.definition, 'completed', 0)
    this.senders.push(sender)
    reacted.push(one)
    this.reactedBytes += bytesOfReacted(one)
    this.bytes = this.run.input.length + done.state.length + done.left.length
    this.wish = done.wish
    this.dueAt = dueAt
    this.number += 1
    this.at = at
    this.isUsed = true
    this.warn(one)
    return true
  }

  /** What the end of the round says of the entries that no replay needs any more; the first three of the next are among them. */
  private behindRound({ step }: Reaction, seq: number): readonly number[] {
    const { before, at, loop, number, wait } = this
    if (!before) {
      this.behind = this.behind.with(-1, seq + 2)
      return this.behind
    }
    const facts = { occurrence: 1, attempt: 0, at, meta: null, payload: null }
    const round = `${loop}${number}`
    before.noted({ ...facts, kind: 'message.taken', name: `${round}/${wait}` }, seq + 1)
    before.noted({ ...facts, kind: 'step.completed', name: `${round}/${step}` }, seq + 2)
    const { meta } = before.noted({ ...facts, kind: 'round.ended', name: round }, seq + 3)
    const next = `${loop}${number + 1}/${wait}`
    before.noted({ ...facts, kind: 'wait.opened', name: next }, seq + 4)
    this.behind = meta?.behind ?? NONE
    // From there on the last stretch grows; of too many the shortest are left out, and that may be this one.
    if (this.behind.at(-1) === seq + 2) this.before = null
    return this.behind
  }

  private warn(one: Reacted): void {
    const { state, value, left } = one.done
    const chars = Math.max(value.length, left.length) + state.length
    if (Math.max(chars, one.payload?.length ?? 0) < LARGE_CHARS) return
    for (const entry of entriesOfReacted(one)) warnOfLarge(this.deps, this.run, entry)
  }

  // ── towards the database ──────────────────────────────────────────────────────────────────────────────────

  takeDelta(): ReactedTurn | null {
    const { senders, reacted: reactions, run, inbox } = this
    if (this.isGone || this.said || reactions.length === 0) return null
    this.senders = []
    this.reacted = []
    this.reactedBytes = 0
    const fence = { uid: run.uid, owner: this.deps.owner(), epoch: this.epoch, seq: this.seq }
    const messages = senders.map(({ message }) => message)
    const areNew = senders.every(({ isNew }) => isNew)
    const next = this.next(inbox + reactions.length)
    const turn = new ReactedTurn(fence, { inbox, messages, areNew, reactions }, next)
    this.said = { turn, senders }
    return turn
  }

  private next(seen: number): Next {
    const { names, children = NONE } = this.wish
    const { dueAt, limit } = this
    const due = dueAt === null || limit === null ? (dueAt ?? limit) : Math.min(dueAt, limit)
    const reason = names.length === 0 && children.length > 0 ? 'child' : 'signal'
    // biome-ignore format: one literal, because one is made for every event
    return { kind: 'park', reason, dueAt: due, seen, divergedBuild: null, stopSeen: null, keepsSlot: false }
  }

  /** The turn that was on its way has come to its end. */
  answered(isStored: boolean): Said | null {
    const { said } = this
    this.said = null
    if (isStored && said) {
      this.seq += said.senders.length * ENTRIES_OF_REACTED
      this.inbox += said.senders.length
    } else this.isGone = true
    return said
  }

  /** It is not to go on. Whoever must be told at once that nothing was stored; of what is on its way nobody knows. */
  lose(): readonly Sender[] {
    this.isGone = true
    const { senders, said } = this
    this.senders = []
    this.reacted = []
    if (said) {
      // Behind what is on its way, in their order.
      this.later.unshift(...senders)
      return NONE
    }
    const { later } = this
    this.later = []
    return [...senders, ...later]
  }

  get isOnItsWay(): boolean {
    return this.said !== null
  }
}

/** Less than this is no large value, whatever is in it. */
const LARGE_CHARS = VALUE_BYTES_WARN / 3

/** The same for all runs that wait at one place for no time. */
const opened = new WeakMap<readonly string[], EntryMeta>()

function openedMeta(wish: Wish, dueAt: Instant | null): EntryMeta {
  const { names, place } = wish
  const known = dueAt === null ? opened.get(names) : undefined
  if (known && known.place === place) return known
  const meta = waitMeta({ names, dueAt, place: place ?? null, heard: null })
  if (dueAt !== null) return meta
  opened.set(names, meta)
  return meta
}

/** What came of a message. */
export function calledBy({ done: { value, state } }: Reacted): Called {
  return { fate: 'taken', reply: { kind: 'step.completed', payload: filled(value, state) } }
}

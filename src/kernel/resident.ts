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
import type { Wish } from '../model/program.js'
import { ENTRIES_OF_REACTED, filled, type Reacted } from '../model/reacted.js'
import type { EntryMeta, Instant, Message, NewEntry, RunFacts } from '../model/run.js'
import { waitMeta } from './answers.js'
import type { WaitAsk } from './asks.js'
import type { Frame } from './frame.js'
import type { HolderDeps } from './held-run.js'
import { warnOfLarge } from './large-values.js'
import { reactedTurn } from './reacted-turn.js'
import type { Behind } from './rounds.js'
import type { Sender } from './sender.js'
import type { Called, Next, TurnDelta } from './store.js'
import { limitOf } from './triggers.js'
import { instantOf } from './turn.js'

const REACTED_MAX = EARLY_ENTRIES_MAX / ENTRIES_OF_REACTED
const NONE: readonly never[] = []

/** Those that are told of a turn, in the order of its messages. */
interface Said {
  readonly delta: TurnDelta
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
  bytes = 0
  private readonly deps: HolderDeps
  private readonly epoch: number
  private readonly loop: string
  private readonly wait: string
  /** When the run needs a look whatever it waits for. */
  private readonly limit: Instant | null
  /** Of the round that waits. */
  private number: number
  private wish: Pick<Wish, 'names' | 'react' | 'children'>
  private dueAt: Instant | null
  /** Of its last entry. */
  private at: Instant
  /** Until the first message: what is behind the round that waits. */
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

  /** null: it waits for something else, too. */
  static of(frame: Frame): Resident | null {
    const { questions, mail, deps } = frame
    const [ask] = questions.all()
    if (questions.size !== 1 || ask?.kind !== 'wait' || !ask.react || !ask.scope.parent) return null
    // Where somebody stands between a step and its code, steps are executed.
    return mail.isEmpty && !deps.attempts.execute ? new Resident(frame, ask) : null
  }

  private constructor(frame: Frame, ask: WaitAsk) {
    const { scope, name, names, react, children, dueAt } = ask
    this.run = frame.run
    this.deps = frame.deps
    this.epoch = frame.epoch
    this.loop = scope.name.slice(0, scope.name.lastIndexOf('@') + 1)
    this.wait = name.slice(scope.path.length)
    this.limit = limitOf(frame)
    this.number = scope.number
    this.wish = { names, children, ...(react && { react }) }
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
    const { wish, reacted, deps, seq, inbox } = this
    const { message } = sender
    if (!wish.names.includes(message.name)) return false
    if (reacted.length >= REACTED_MAX || this.reactedBytes > BATCH_BYTES_MAX) return false
    const now = deps.now()
    const at = Math.max(now, this.at)
    const { id, kind, name, meta, payload } = message
    const numbered: Message = {
      id,
      kind,
      name,
      meta,
      payload,
      no: inbox + reacted.length + 1,
      at: now,
    }
    const reaction = wish.react?.(numbered, at)
    // Two questions of one name in a round are told apart by counting, which the body does.
    if (!reaction || reaction.step === this.wait) return false
    const { until } = reaction.wish
    const dueAt = until && instantOf(until, at)
    if (dueAt !== null && dueAt < at + BROUGHT_MARGIN_MS) return false
    const { step, label, checkpoint, children, state, value, left, shown } = reaction
    const round = this.loop + this.number
    const next = `${this.loop}${this.number + 1}/${this.wait}`
    const names = { wait: `${round}/${this.wait}`, step: `${round}/${step}`, round, next }
    const behind = this.behindRound(names, seq + reacted.length * ENTRIES_OF_REACTED)
    const opened = openedMeta(reaction.wish, dueAt)
    // biome-ignore format: one literal, because one is made for every event
    const one: Reacted = { message: numbered, at, wait: names.wait, step: names.step, round, next, label, checkpoint, children, behind, opened, state, value, left, shown }
    deps.counters['message.reacted'] += 1
    deps.attempts.meters.step(this.run.definition, 'completed', 0)
    this.senders.push(sender)
    reacted.push(one)
    const bytes = 2 * state.length + value.length + left.length
    this.reactedBytes += bytes
    this.bytes = state.length + left.length
    this.wish = reaction.wish
    this.dueAt = dueAt
    this.number += 1
    this.at = at
    this.isUsed = true
    this.warn(one)
    return true
  }

  /** What the end of the round says of the entries that no replay needs any more; the first three of the next are among them. */
  private behindRound(names: Pick<Reacted, 'wait' | 'step' | 'round' | 'next'>, seq: number) {
    const { before } = this
    if (before) {
      const noted = (kind: NewEntry['kind'], name: string, no: number): NewEntry => {
        const facts = { occurrence: 1, attempt: 0, at: this.at, meta: null, payload: null }
        return before.noted({ kind, name, ...facts }, seq + no)
      }
      noted('message.taken', names.wait, 1)
      noted('step.completed', names.step, 2)
      this.behind = noted('round.ended', names.round, 3).meta?.behind ?? NONE
      noted('wait.opened', names.next, 4)
      this.before = null
    } else this.behind = this.behind.with(-1, seq + 2)
    return this.behind
  }

  private warn(one: Reacted): void {
    const { message, state, value, left, wait, step, round } = one
    const chars = Math.max(
      message.payload?.length ?? 0,
      state.length + Math.max(value.length, left.length),
    )
    if (chars < LARGE_CHARS) return
    const facts = { occurrence: 1, attempt: 0, at: one.at, meta: null }
    const told = (kind: NewEntry['kind'], name: string, payload: string | null) =>
      warnOfLarge(this.deps, this.run, { ...facts, kind, name, payload })
    told('message.taken', wait, message.payload)
    told('step.completed', step, filled(value, state))
    told('round.ended', round, filled(left, state))
  }

  // ── towards the database ──────────────────────────────────────────────────────────────────────────────────

  takeDelta(): TurnDelta | null {
    const { senders, reacted, run, inbox } = this
    if (this.isGone || this.said || reacted.length === 0) return null
    this.senders = []
    this.reacted = []
    this.reactedBytes = 0
    const fence = { uid: run.uid, owner: this.deps.owner(), epoch: this.epoch, seq: this.seq }
    const messages = senders.map(({ message }) => message)
    const areNew = senders.every(({ isNew }) => isNew)
    const brings = { inbox, messages, areNew, reactions: reacted }
    const delta = reactedTurn({ fence, brings, next: this.next(inbox + reacted.length) })
    this.said = { delta, senders }
    return delta
  }

  private next(seen: number): Next {
    const { names, children = NONE } = this.wish
    const { dueAt, limit } = this
    const due = dueAt === null || limit === null ? (dueAt ?? limit) : Math.min(dueAt, limit)
    const reason = names.length === 0 && children.length > 0 ? 'child' : 'signal'
    // biome-ignore format: one literal, because one is made for every event
    return { kind: 'park', reason, dueAt: due, seen, divergedBuild: null, stopSeen: null, keepsSlot: false }
  }

  /** The turn that was on its way has come to its end: whoever waits for it, and what they hear. */
  answered(isStored: boolean): { readonly senders: readonly Sender[]; readonly from: number } {
    const senders = this.said?.senders ?? NONE
    const from = this.inbox
    this.said = null
    if (isStored) {
      this.seq += senders.length * ENTRIES_OF_REACTED
      this.inbox += senders.length
    } else this.isGone = true
    return { senders, from }
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

/** What came of one of the messages of a turn. */
export function calledBy({ brings }: TurnDelta, at: number): Called | null {
  const reacted = brings?.reactions?.[at]
  if (!reacted) return null
  const { value, state } = reacted
  const reply = {
    kind: 'step.completed' as const,
    get payload() {
      return filled(value, state)
    },
  }
  return { fate: 'taken', reply }
}

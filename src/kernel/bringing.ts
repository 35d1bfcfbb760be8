// Bringing: a message for a run that waits in this process needs no commit and no claim of its own. It is told to the kept frame at
// once, and stored with what comes of it, if the run is still where the frame left it. What it does may be known without the frame: then the run is
// a resident from then on (resident.ts).
//
// Owns:      who has sent what is brought and not stored yet, and what has come for the same run meanwhile.
// Talks to:  Frames, the kept Frame, residents; callers (promises). What is written is their delta, as always.
//
// Invariants
//   B1. What is brought is stored by the first delta of the frame, or not at all: then the frame is dropped, and it goes as any message.
//   B2. The messages that come for one run while something is brought to it go in the order in which they have come. One that comes again under its id, while the first is on its
//       way, is that one.
//   B3. What a resident has reacted to may leave nothing behind that knows its id (Brings.reactions). So nobody hears that it is not stored before
//       that is sure, and sends it again: also when the resident is lost meanwhile.

import type { Uid } from '../model/ids.js'
import { BROUGHT_MARGIN_MS, BROUGHT_MAX } from '../model/limits.js'
import type { Message, NewMessage, RunFacts } from '../model/run.js'
import type { Anchor } from './anchor.js'
import type { Address } from './api.js'
import { decisions } from './calls.js'
import type { Counters } from './counters.js'
import type { Frame } from './frame.js'
import type { Frames } from './frames.js'
import type { Programs } from './programs.js'
import { calledBy, Resident } from './resident.js'
import type { Sender } from './sender.js'
import type { TurnDelta } from './store.js'

/** What is brought to one run, and what waits until that is stored. */
interface Line {
  readonly brought: readonly Sender[]
  readonly behind: Sender[]
}

/** The worker, as bringing sees it. */
interface Host {
  /** It executes runs, and its lease is not in doubt. */
  readonly mayTake: boolean
  readonly anchor: Anchor
  readonly programs: Programs
  readonly counters: Counters
  /** It has something to commit. */
  submit(resident: Resident): void
}

export class Bringing {
  private readonly frames: Frames
  private readonly host: Host
  private readonly lines = new Map<Uid, Line>()
  /** Of all that is not stored yet. */
  bytes = 0

  constructor(frames: Frames, host: Host) {
    this.frames = frames
    this.host = host
  }

  /** false: the run does not wait here, or not for this, and nobody is told. */
  bring(sender: Sender): boolean {
    const { to, message, isNew } = sender
    const resident = this.frames.residents.of(to)
    if (resident) return this.toResident(resident, sender)
    const line = this.lineOf(to)
    const same = line && !isNew ? sameIn(line, message) : null
    if (same) {
      sender.joins(same)
      return true
    }
    const kept = line ? null : this.frames.keptOf(to)
    if (!line && !(kept && this.isReady(kept, message))) return false
    this.bytes += sender.bytes
    line?.behind.push(sender)
    if (kept) this.begin(kept, [sender])
    return true
  }

  /** The frame of this run has stored a delta. */
  stored(delta: TurnDelta): void {
    if (!delta.brings) return
    const { uid } = delta.fence
    const line = this.lines.get(uid)
    if (!line) return
    this.lines.delete(uid)
    const decided = decisions(delta)
    let no = delta.brings.inbox
    this.host.counters['message.brought'] += line.brought.length
    for (const sender of line.brought) {
      no += 1
      this.bytes -= sender.bytes
      sender.told({ uid, no, called: decided(no) })
    }
    this.goOn(uid, line.behind)
  }

  /** Its frame is gone: what it was brought is not stored. */
  lost({ uid }: RunFacts): void {
    const line = this.lines.get(uid)
    if (!line) return
    this.lines.delete(uid)
    this.tellNone(line.brought)
    this.tellNone(line.behind)
  }

  private tellNone(senders: readonly Sender[]): void {
    this.host.counters['message.unbrought'] += senders.length
    for (const sender of senders) {
      this.bytes -= sender.bytes
      sender.told(null)
    }
  }

  private lineOf(to: Address): Line | null {
    if (this.lines.size === 0) return null
    const uid = this.frames.uidOf(to)
    return (uid && this.lines.get(uid)) ?? null
  }

  /** What has come meanwhile is brought next, if the run waits again. */
  private goOn(uid: Uid, senders: readonly Sender[]): void {
    const [first] = senders
    if (!first) return
    const kept = this.frames.keptFrame(uid)
    if (kept && this.isReady(kept, first.message)) this.begin(kept, senders)
    else this.tellNone(senders)
  }

  private isReady(frame: Frame, { name }: NewMessage): boolean {
    if (!this.host.mayTake || this.frames.free === 0) return false
    if (this.host.programs.hasLimits(frame.run.definition)) return false
    const due = frame.nextDue()
    if (due !== null && due < this.soon) return false
    return frame.questions.hears(name)
  }

  /** What is due before that is due as good as now, by the database's clock. */
  private get soon(): number {
    return this.host.anchor.now() + BROUGHT_MARGIN_MS
  }

  /** So many at once; the others come behind them. */
  private begin(frame: Frame, all: readonly Sender[]): void {
    if (this.settles(frame, all)) return
    const { mail, run, epoch } = frame
    const inbox = mail.seen
    const at = this.host.anchor.now()
    const brought = all.slice(0, BROUGHT_MAX)
    const messages = brought.map(
      ({ message }, i): Message => ({ ...message, no: inbox + i + 1, at }),
    )
    this.frames.retake(frame)
    this.lines.set(run.uid, { brought, behind: all.slice(brought.length) })
    const areNew = brought.every(({ isNew }) => isNew)
    frame.out.brings({
      inbox,
      messages: brought.map(({ message }) => message),
      areNew,
      reactions: null,
    })
    this.frames.add(frame)
    mail.put(messages)
    frame.resume(epoch)
  }

  // ── residents ─────────────────────────────────────────────────────────────────────────────────────────────

  /** Its frame is not needed any more, if it can be said what the first of these does. */
  private settles(frame: Frame, senders: readonly Sender[]): boolean {
    const resident = this.frames.mayDoWithout(frame.run.definition) ? Resident.of(frame) : null
    const [first] = senders
    if (!resident || !first || !resident.reacts(first)) return false
    this.frames.retake(frame)
    frame.forget()
    this.frames.residents.add(resident)
    resident.later = senders.slice(1)
    this.reactOn(resident)
    return true
  }

  private toResident(resident: Resident, sender: Sender): boolean {
    const same = sender.isNew ? null : resident.find(sender)
    if (same) {
      sender.joins(same)
      return true
    }
    if (!resident.isBusy) {
      const before = resident.bytes
      if (this.isReadyFor(resident) && resident.reacts(sender)) {
        this.bytes += sender.bytes
        this.host.submit(resident)
        this.frames.residents.grown(resident, before)
        return true
      }
      if (!resident.isSpeaking) {
        // At once: what comes next goes behind what is sent on.
        this.frames.dismiss(resident)
        return false
      }
    }
    this.bytes += sender.bytes
    resident.later.push(sender)
    return true
  }

  private isReadyFor(resident: Resident): boolean {
    return this.host.mayTake && resident.isQuietUntil(this.soon)
  }

  /** The turn of a resident has come to its end. */
  answered(resident: Resident, isStored: boolean): void {
    const { uid } = resident.run
    const said = resident.answered(isStored)
    if (said && isStored) {
      const { senders, turn } = said
      this.host.counters['message.brought'] += senders.length
      for (let i = 0; i < senders.length; i += 1) {
        const [sender, reacted] = [senders[i], turn.brings.reactions[i]]
        if (!sender || !reacted) continue
        this.bytes -= sender.bytes
        sender.told({ uid, no: reacted.no, called: calledBy(reacted) })
      }
    } else if (said) this.tellNone(said.senders)
    if (resident.isGone) this.frames.residents.leave(resident)
    else this.reactOn(resident)
  }

  /** What has come meanwhile. */
  private reactOn(resident: Resident): void {
    const { later, bytes: before } = resident
    if (later.length > 0 && this.isReadyFor(resident)) {
      const first = later.findIndex((sender) => !resident.reacts(sender))
      resident.later = first < 0 ? [] : later.slice(first)
    }
    if (resident.isSpeaking) {
      this.host.submit(resident)
      this.frames.residents.grown(resident, before)
    } else if (resident.later.length > 0) this.frames.dismiss(resident)
  }

  /** It is no resident any more. What is on its way may be stored all the same (B3). */
  left(resident: Resident): void {
    this.tellNone(resident.lose())
  }
}

function sameIn({ brought, behind }: Line, { id }: NewMessage): Sender | null {
  const isSame = (sender: Sender): boolean => sender.message.id === id
  return brought.find(isSame) ?? behind.find(isSame) ?? null
}

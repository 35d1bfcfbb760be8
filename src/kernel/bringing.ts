// Bringing: a message for a run that waits in this process needs no commit and no claim of its own. It is told to the kept frame at
// once, and stored with what comes of it, if the run is still where the frame left it.
//
// Owns:      who has sent what is brought and not stored yet, and what has come for the same run meanwhile.
// Talks to:  Frames and the kept Frame; callers (promises). What is written is the frame's delta, as always.
//
// Invariants
//   B1. What is brought is stored by the first delta of the frame, or not at all: then the frame is dropped, and it goes as any message.
//   B2. The messages that come for one run while something is brought to it go in the order in which they have come. One that comes again under its id, while the first is on its
//       way, is that one.
//   B3. What a run reacts to by itself may leave nothing behind that knows its id (Brings.reactions). So nobody hears that it is not stored before
//       that is sure, and sends it again: also when the frame is lost meanwhile.

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
import { react, reactionsTo } from './reacting.js'
import type { Call, Called, Fence, TurnDelta } from './store.js'

/** It is stored. `called`: what came of it in the same commit. */
export interface Brought extends Call {
  readonly called: Called | null
}

const NONE: readonly never[] = []

/** null: it is not stored. */
type Told = (brought: Brought | null) => void

/** Whoever waits to hear of what is brought. */
class Sender {
  readonly message: NewMessage
  /** Its id was made for this call. */
  readonly isNew: boolean
  private readonly hearers: Told[] = []

  constructor(message: NewMessage, isNew: boolean, told: Told) {
    this.message = message
    this.isNew = isNew
    this.hearers.push(told)
  }

  hears(told: Told): void {
    this.hearers.push(told)
  }

  told(brought: Brought | null): void {
    for (const told of this.hearers.splice(0)) told(brought)
  }
}

/** What is brought to one run, and what waits until that is stored. */
interface Line {
  readonly brought: readonly Sender[]
  readonly behind: Sender[]
}

interface Unsure {
  readonly line: Line
  readonly fence: Fence
}

/** The worker, as bringing sees it. */
interface Host {
  /** It executes runs, and its lease is not in doubt. */
  readonly mayTake: boolean
  readonly anchor: Anchor
  readonly programs: Programs
  readonly counters: Counters
}

export class Bringing {
  private readonly frames: Frames
  private readonly host: Host
  private readonly lines = new Map<Uid, Line>()
  /** Of frames that were lost while what was brought to them was on its way, by the names of their runs. */
  private readonly unsure = new Map<string, Unsure>()
  /** Of all that is not stored yet. */
  bytes = 0

  constructor(frames: Frames, host: Host) {
    this.frames = frames
    this.host = host
  }

  /** false: the run does not wait here, or not for this, and nobody is told. */
  bring(to: Address, message: NewMessage, isNew: boolean, told: Told): boolean {
    const line = this.lineOf(to)
    const same = line && !isNew ? sameIn(line, message) : null
    if (same) {
      same.hears(told)
      return true
    }
    const kept = line ? null : this.frames.keptOf(to)
    if (!line && !(kept && this.isReady(kept, message))) return false
    const sender = new Sender(message, isNew, told)
    this.bytes += bytesOf(sender)
    line?.behind.push(sender)
    if (!kept || this.begin(kept, [sender])) return true
    this.bytes -= bytesOf(sender)
    return false
  }

  /** The frame of this run has stored a delta. */
  stored(delta: TurnDelta): void {
    if (!delta.brings) return
    const { uid } = delta.fence
    const line = this.lines.get(uid)
    if (!line) return
    this.lines.delete(uid)
    this.tell(line, delta, delta.brings.inbox)
    this.goOn(uid, line.behind)
  }

  /** Its frame is gone: what it was brought is not stored, unless it is on its way. */
  lost(run: RunFacts, inFlight: TurnDelta | null): void {
    const line = this.lines.get(run.uid)
    if (!line) return
    this.lines.delete(run.uid)
    if (inFlight?.brings?.reactions) this.unsure.set(nameOf(run), { line, fence: inFlight.fence })
    else this.unbrought(line)
  }

  /** What was on its way when its frame was lost has come to its end. */
  arrived(delta: TurnDelta, run: Address, isStored: boolean): void {
    const { line, fence } = this.unsure.get(nameOf(run)) ?? {}
    if (!line || !delta.brings || fence !== delta.fence) return
    this.unsure.delete(nameOf(run))
    if (!isStored) return this.unbrought(line)
    this.tell(line, delta, delta.brings.inbox)
    this.tellNone(line.behind)
  }

  private tell({ brought }: Line, delta: TurnDelta, inbox: number): void {
    const { uid } = delta.fence
    this.host.counters['message.brought'] += brought.length
    const decided = decisions(delta)
    let no = inbox
    for (const sender of brought) {
      no += 1
      this.bytes -= bytesOf(sender)
      sender.told({ uid, no, called: decided(no) })
    }
  }

  private unbrought({ brought, behind }: Line): void {
    this.host.counters['message.unbrought'] += brought.length
    this.tellNone([...brought, ...behind])
  }

  private tellNone(senders: readonly Sender[]): void {
    for (const sender of senders) {
      this.bytes -= bytesOf(sender)
      sender.told(null)
    }
  }

  private lineOf(to: Address): Line | null {
    const unsure = this.unsure.size > 0 ? this.unsure.get(nameOf(to)) : null
    if (unsure) return unsure.line
    if (this.lines.size === 0) return null
    const uid = this.frames.uidOf(to)
    return (uid && this.lines.get(uid)) ?? null
  }

  /** What has come meanwhile is brought next, if the run waits again. */
  private goOn(uid: Uid, senders: readonly Sender[]): void {
    const [first] = senders
    if (!first) return
    const kept = this.frames.keptFrame(uid)
    if (kept && this.isReady(kept, first.message) && this.begin(kept, senders)) return
    this.tellNone(senders)
  }

  private isReady(frame: Frame, { name }: NewMessage): boolean {
    if (!this.host.mayTake || this.frames.free === 0) return false
    if (this.host.programs.hasLimits(frame.run.definition)) return false
    const due = frame.nextDue()
    if (due !== null && due < this.host.anchor.now() + BROUGHT_MARGIN_MS) return false
    return frame.questions.hears(name)
  }

  /**
   * So many at once; the others come behind them. What the run reacts to by itself goes before what its body has to be asked for.
   * false: its body is needed, and is not where the run is.
   */
  private begin(frame: Frame, all: readonly Sender[]): boolean {
    const { mail, run, epoch, body } = frame
    const inbox = mail.seen
    const at = this.host.anchor.now()
    const first = all.slice(0, BROUGHT_MAX)
    const messages = first.map(({ message }, i): Message => ({ ...message, no: inbox + i + 1, at }))
    const mayReact = this.frames.mayOutrun(frame)
    const reactions = mayReact ? reactionsTo(frame, messages, frame.clock()) : NONE
    // At once: what comes next goes behind what is sent on.
    if (body.isOutrun && reactions.length === 0) {
      this.frames.recall(run.uid, frame.out.ackedSeq, epoch)
      return false
    }
    this.frames.retake(frame)
    const brought = reactions.length > 0 ? first.slice(0, reactions.length) : first
    this.lines.set(run.uid, { brought, behind: all.slice(brought.length) })
    const areNew = brought.every(({ isNew }) => isNew)
    frame.out.brings({
      inbox,
      messages: brought.map(({ message }) => message),
      areNew,
      reactions:
        reactions.length > 0 ? reactions.map(({ effect }) => effect.shown?.state ?? null) : null,
    })
    this.frames.add(frame)
    if (reactions.length > 0) react(frame, messages, reactions)
    else {
      mail.put(messages)
      frame.resume(epoch)
    }
    return true
  }
}

const bytesOf = ({ message }: Sender): number => message.payload?.length ?? 0

const nameOf = ({ workspace, id }: Address): string => `${workspace}\u001f${id}`

function sameIn({ brought, behind }: Line, { id }: NewMessage): Sender | null {
  const isSame = (sender: Sender): boolean => sender.message.id === id
  return brought.find(isSame) ?? behind.find(isSame) ?? null
}

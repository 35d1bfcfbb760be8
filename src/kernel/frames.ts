// The runs that this process has in memory: those it executes, and parked ones it may go on with.
//
// Invariants
//   K1. Active frames, runs being loaded and promised places never exceed the concurrency.
//   K2. A kept frame is used only if the journal ends where the frame left it: a foreign entry means replay. A trigger that is refused leaves
//       no entry: a frame that has one in its mailbox is used only if nobody has had the run meanwhile.
//   K3. Kept frames are bounded in number and in bytes; the one parked longest goes first. More are kept of those that wake
//       soon by themselves.

import { ByRun } from '../model/by-run.js'
import type { RunId, Uid } from '../model/ids.js'
import { CRASHES_SUSPECT, FRAME_BYTES_MAX, FRAME_SOON_MS, FRAMES_SOON } from '../model/limits.js'
import type { Instant, RunFacts } from '../model/run.js'
import type { Counters } from './counters.js'
import type { Defects } from './defects.js'
import type { Frame } from './frame.js'
import type { Resident } from './resident.js'
import { Residents } from './residents.js'
import type { Claimed } from './store.js'
import type { Tracing } from './tracing.js'

/** Behind each body that was missed. */
const WARY_EVENTS = 8

export class Frames {
  readonly active = new Map<Uid, Frame>()
  /** Ours, and not yet in a frame. */
  readonly loading = new Map<Uid, Claimed>()
  private readonly names = new ByRun<Uid>()
  /** Those that wake soon by themselves, and those of which nobody knows. */
  private readonly soon = new Map<Uid, Frame>()
  private readonly kept = new Map<Uid, Frame>()
  /** Of both. */
  private readonly keptNames = new ByRun<Frame>()
  private keptBytes = 0
  /** Those whose bodies are not here. */
  readonly residents: Residents
  /** So many events for runs of a definition are their bodies'. */
  private readonly wary = new Map<string, number>()
  private promised = 0
  private readonly concurrency: number
  private readonly keptMax: number
  private readonly counters: Counters
  private readonly defects: Defects
  private readonly tracing: Tracing | null

  constructor(
    concurrency: number,
    keptMax: number,
    more: {
      readonly counters: Counters
      readonly defects: Defects
      readonly tracing: Tracing | null
      /** A resident is not to go on: whoever has sent it something is to be told. */
      readonly left: (resident: Resident) => void
    },
  ) {
    this.concurrency = concurrency
    this.keptMax = keptMax
    this.counters = more.counters
    this.defects = more.defects
    this.tracing = more.tracing
    this.residents = new Residents(keptMax, more.counters, more.left)
  }

  get free(): number {
    return Math.max(0, this.concurrency - this.active.size - this.loading.size - this.promised)
  }

  get suspects(): number {
    let count = 0
    for (const frame of this.active.values()) if (frame.suspect) count += 1
    // One that is being loaded is as good as running: a second would share its fate.
    for (const { crashes } of this.loading.values()) if (crashes >= CRASHES_SUSPECT) count += 1
    return count
  }

  /** Holds a place for a run that is about to be taken. */
  promise(): boolean {
    if (this.free === 0) return false
    this.promised += 1
    return true
  }

  /** Half of what is free: starts and children of this process find a place meanwhile. */
  promiseHalf(most: number): number {
    const places = Math.min(most, Math.ceil(this.free / 2))
    for (let i = 0; i < places; i += 1) this.promise()
    return places
  }

  unpromise(count = 1): void {
    this.promised -= count
  }

  add(frame: Frame): void {
    this.active.set(frame.run.uid, frame)
    this.names.set(frame.run, frame.run.uid)
    this.counters['turn.begun'] += 1
    this.tracing?.begun(frame.run, frame.epoch)
  }

  /** The run is being executed here. */
  near(at: { readonly workspace: string; readonly id: RunId }): boolean {
    return this.names.has(at)
  }

  has(uid: Uid): boolean {
    return this.active.has(uid) || this.loading.has(uid)
  }

  /** The run, if it waits here. */
  parked(uid: Uid): RunFacts | null {
    return this.residents.has(uid)?.run ?? this.keptFrame(uid)?.run ?? null
  }

  uidOf(at: { readonly workspace: string; readonly id: RunId }): Uid | null {
    return this.names.get(at) ?? null
  }

  keptFrame(uid: Uid): Frame | null {
    return this.soon.get(uid) ?? this.kept.get(uid) ?? null
  }

  /** The kept frame of a run, as its callers name it. */
  keptOf(at: { readonly workspace: string; readonly id: RunId }): Frame | null {
    return this.keptNames.get(at) ?? null
  }

  /** The frame has parked or is gone; what it leaves free is free. */
  remove(frame: Frame): void {
    if (this.active.get(frame.run.uid) !== frame) return
    this.active.delete(frame.run.uid)
    this.tracing?.over(frame.run.uid)
    this.names.delete(frame.run)
  }

  /** `now`: the database's time. */
  keep(frame: Frame, now: Instant): void {
    if (this.keptMax === 0) return this.evict(frame)
    this.drop(frame.run.uid)
    const due = frame.nextDue()
    const isSoon = due !== null && due - now < FRAME_SOON_MS
    const among = isSoon ? this.soon : this.kept
    const most = isSoon ? this.keptMax * FRAMES_SOON : this.keptMax
    among.set(frame.run.uid, frame)
    this.keptNames.set(frame.run, frame)
    this.keptBytes += frame.bytes
    for (const oldest of among.values()) {
      if (among.size <= most && this.keptBytes <= FRAME_BYTES_MAX) break
      this.drop(oldest.run.uid)
      this.evict(oldest)
    }
  }

  /** The kept frame of a run, if it stands where the journal ends. `epoch`: that of the claim by which it goes on. */
  recall(uid: Uid, seq: number, epoch: number): Frame | null {
    const resident = this.residents.has(uid)
    if (resident) this.dismiss(resident)
    const frame = this.drop(uid)
    if (!frame) return null
    const isOnlyOurs = frame.mail.triggers.length === 0 || frame.epoch + 1 === epoch
    const isThere = frame.out.ackedSeq === seq && isOnlyOurs
    if (isThere || this.defects.has('frame-without-seq')) {
      this.counters['frame.reused'] += 1
      return frame
    }
    this.counters['frame.outdated'] += 1
    frame.forget()
    return null
  }

  /** A kept frame goes on where it is. */
  retake(frame: Frame): void {
    if (this.drop(frame.run.uid)) this.counters['frame.reused'] += 1
  }

  /** The body of a resident is needed: the run is loaded. */
  dismiss(resident: Resident): void {
    this.wary.set(resident.run.definition, WARY_EVENTS)
    this.counters['frame.outdated'] += 1
    this.residents.leave(resident)
  }

  /** A run may become a resident, unless a body of its kind has been missed lately: loading it costs more than was saved. */
  mayDoWithout(definition: string): boolean {
    const left = this.wary.get(definition) ?? 0
    if (left > 0) this.wary.set(definition, left - 1)
    return left === 0
  }

  /** All of them, for good: this incarnation is over. */
  loseAll(): void {
    for (const uid of this.active.keys()) this.tracing?.over(uid)
    for (const frames of [this.active, this.soon, this.kept]) {
      for (const frame of frames.values()) frame.lose()
      frames.clear()
    }
    this.residents.leaveAll()
    this.names.clear()
    this.keptNames.clear()
    this.keptBytes = 0
  }

  private evict(frame: Frame): void {
    this.counters['frame.evicted'] += 1
    frame.forget()
  }

  private drop(uid: Uid): Frame | null {
    const frame = this.keptFrame(uid)
    if (frame) {
      this.soon.delete(uid)
      this.kept.delete(uid)
      this.keptNames.delete(frame.run)
      this.keptBytes -= frame.bytes
    }
    return frame
  }
}

// Executor: makes a turn of a run that has become ours: recalls its kept frame, or loads its journal and drives
// the body through it.
//
// Owns:      which of our runs are being loaded, and what those that wait for a slot were started with.
// Talks to:  Store.load, Frames, and each Frame it begins.

import type { Uid } from '../model/ids.js'
import { CRASHES_MAX, CRASHES_SUSPECT } from '../model/limits.js'
import type { Message, RunFacts } from '../model/run.js'
import type { StopCause } from './ending.js'
import type { Events } from './events.js'
import { Frame } from './frame.js'
import type { Frames } from './frames.js'
import type { HolderDeps } from './held-run.js'
import type { Programs } from './programs.js'
import { Stopping } from './stopping.js'
import type { Claimed, Fence, Loaded, NewRun, Store } from './store.js'

const LOAD_AGAIN_MS = 50
/** An answer later than so many adoptions is not expected. */
const ADOPTED_MAX = 1_000
/** So many runs that wait for a slot are remembered, and what they were started with if it is no longer than this. */
const ASKING_MAX = 1_000
const ASKING_CHARS_MAX = 16_384

interface Wanted {
  readonly fence: Fence
  readonly fromSeq: number
  readonly fromNo: number
  /** A run to begin or to go on with; null: an active frame wants its new messages. */
  readonly claimed: Claimed | null
  readonly frame: Frame | null
}

type First = Pick<RunFacts, 'version' | 'createdAt' | 'startedAt' | 'deadlineAt'>

export class Executor {
  readonly loading: Map<Uid, Claimed>
  private readonly store: Store
  private readonly frames: Frames
  private readonly events: Events
  private readonly deps: HolderDeps
  private readonly programs: Programs
  /** Runs that were taken before the answer that gave them to us: it may still come. */
  private readonly adopted = new Map<Uid, number>()
  /** Runs that this process has started and that have asked for a slot. */
  private readonly asking = new Map<Uid, NewRun>()
  private wanted: Wanted[] = []

  constructor(
    deps: HolderDeps,
    more: {
      readonly store: Store
      readonly frames: Frames
      readonly events: Events
      readonly programs: Programs
    },
  ) {
    this.deps = deps
    this.store = more.store
    this.frames = more.frames
    this.loading = more.frames.loading
    this.events = more.events
    this.programs = more.programs
  }

  /** A run that was started already claimed: everything about it is known. */
  begin(run: NewRun, now: number): void {
    if (this.frames.active.has(run.uid) || this.loading.has(run.uid)) return
    if (this.isAdopted(run.uid, 1)) return
    const deadlineAt = run.timeoutMs === null ? null : now + run.timeoutMs
    this.first(run, { version: run.version, createdAt: now, startedAt: now, deadlineAt })
  }

  /** Its first turn, by the process that has started it. */
  private first(run: NewRun, times: First): void {
    const { uid, id, workspace, definition, input, order, tags, parent } = run
    const { version, createdAt, startedAt, deadlineAt } = times
    const parentUid = parent?.uid ?? null
    const parentId = parent?.id ?? null
    // biome-ignore format: one literal, because one is made for every run
    const facts: RunFacts = { uid, id, workspace, definition, version, tags, parentUid, parentId, createdAt, startedAt, deadlineAt, input, order, trace: run.trace ?? null }
    const stored = { journal: null, seq: 1, epoch: 1, attempt: 1, suspect: false }
    const frame = new Frame(this.deps, facts, this.programs.get(definition, version), stored)
    this.frames.add(frame)
    frame.body.begin()
  }

  /** A run that was started and waits for a slot: if it comes back as it went, there is nothing to load. */
  remember(run: NewRun): void {
    if (run.parent !== null || run.input.length > ASKING_CHARS_MAX) return
    this.asking.set(run.uid, run)
    const [oldest] = this.asking.keys()
    if (oldest && this.asking.size > ASKING_MAX) this.asking.delete(oldest)
  }

  /** Runs that an answer gives to us. `inHand`: messages of theirs that this process has sent itself. */
  take(claimed: readonly Claimed[], inHand?: ReadonlyMap<Uid, readonly Message[]>): void {
    for (const run of claimed) {
      if (this.isAdopted(run.uid, run.epoch)) continue
      this.takeUp(run, inHand?.get(run.uid))
    }
  }

  /** A run that is ours although no answer has told us so. */
  adopt(run: Claimed): void {
    this.takeUp(run)
    this.adopted.delete(run.uid)
    this.adopted.set(run.uid, run.epoch)
    const [oldest] = this.adopted.keys()
    if (oldest && this.adopted.size > ADOPTED_MAX) this.adopted.delete(oldest)
  }

  takeUp(run: Claimed, messages: readonly Message[] = []): void {
    const known = this.frames.active.get(run.uid)?.epoch ?? this.loading.get(run.uid)?.epoch ?? -1
    if (known >= run.epoch) return
    if (known >= 0) this.forget(run.uid)
    const asked = this.asking.get(run.uid)
    this.asking.delete(run.uid)
    if (asked && run.seq === 1 && run.inbox === 0) {
      return this.isPlain(run) ? this.first(asked, run) : this.replay(run, asStarted(asked, run))
    }
    const fence = { uid: run.uid, owner: this.deps.owner(), epoch: run.epoch, seq: run.seq }
    const frame = this.frames.recall(run.uid, run.seq, run.epoch)
    if (frame?.mail.fits(messages)) frame.mail.put(messages)
    if (frame && frame.mail.seen >= run.inbox) {
      this.frames.add(frame)
      return frame.resume(run.epoch)
    }
    this.loading.set(run.uid, run)
    const fromSeq = frame ? run.seq : 0
    this.want({ fence, fromSeq, fromNo: frame?.mail.seen ?? 0, claimed: run, frame })
  }

  /** Taken for the first time, and nothing but its code has to do with it. */
  private isPlain({ epoch, stop, deadlineAt, definition, version }: Claimed): boolean {
    const isLate = deadlineAt !== null && this.deps.now() >= deadlineAt
    return (
      epoch === 1 && stop === null && !isLate && this.programs.get(definition, version) !== null
    )
  }

  private isAdopted(uid: Uid, epoch: number): boolean {
    return (this.adopted.get(uid) ?? -1) >= epoch
  }

  /** An active frame is behind its mailbox. */
  loadMail(frame: Frame): void {
    if (this.wanted.some((wanted) => wanted.frame === frame)) return
    const { uid } = frame.run
    const fence = { uid, owner: this.deps.owner(), epoch: frame.epoch, seq: 0 }
    const fromSeq = Number.MAX_SAFE_INTEGER
    this.want({ fence, fromSeq, fromNo: frame.mail.seen, claimed: null, frame })
  }

  private want(wanted: Wanted): void {
    this.wanted.push(wanted)
    if (this.wanted.length === 1) this.deps.ports.quiet.next(() => void this.load())
  }

  private async load(): Promise<void> {
    const wanted = this.wanted
    this.wanted = []
    if (wanted.length === 0) return
    try {
      this.deps.ports.fault('load.before')
      const loaded = await this.store.load(wanted.map(forStore))
      this.deps.ports.fault('load.after')
      const byUid = new Map(loaded.map((one) => [one.uid, one]))
      for (const one of wanted) this.arrived(one, byUid.get(one.fence.uid))
    } catch (error) {
      this.deps.ports.log.debug('loading runs failed; trying again', { error })
      this.deps.ports.clock.after(LOAD_AGAIN_MS, () => {
        for (const one of wanted) this.want(one)
      })
    }
  }

  private arrived(wanted: Wanted, loaded: Loaded | undefined): void {
    const { claimed, frame } = wanted
    if (!claimed) {
      if (loaded) frame?.hear(loaded.messages)
      return
    }
    // Ours no more, or taken again meanwhile.
    if (this.loading.get(claimed.uid) !== claimed) return
    this.loading.delete(claimed.uid)
    if (!loaded || wanted.fence.owner !== this.deps.owner()) return
    if (!frame) return this.replay(claimed, loaded)
    if (!frame.mail.isCompletedBy(loaded.messages, claimed.inbox)) return this.anew(wanted, claimed)
    frame.mail.put(loaded.messages)
    this.frames.add(frame)
    frame.resume(claimed.epoch)
  }

  /** A trigger was refused elsewhere, which no entry tells of: the kept frame does not know its mailbox any more. */
  private anew(wanted: Wanted, claimed: Claimed): void {
    this.deps.counters['frame.outdated'] += 1
    this.loading.set(claimed.uid, claimed)
    this.want({ ...wanted, fromSeq: 0, fromNo: 0, frame: null })
  }

  private replay(claimed: Claimed, loaded: Loaded): void {
    const [created] = loaded.entries
    if (!created) return
    const { counters } = this.deps
    const facts: RunFacts = {
      ...claimed,
      input: created.payload ?? '',
      order: created.meta?.order ?? null,
      trace: created.meta?.trace ?? null,
      seed: created.meta?.seed ?? claimed.uid,
    }
    const suspect = claimed.crashes >= CRASHES_SUSPECT
    if (suspect) counters['run.suspect'] += 1
    const { seq, epoch, attempt } = claimed
    const stored = { journal: loaded.entries, seq, epoch, attempt, suspect }
    const program = this.programs.get(claimed.definition, claimed.version)
    const frame = new Frame(this.deps, facts, program, stored)
    frame.mail.put(loaded.messages)
    frame.mail.taken(loaded.taken)
    this.frames.add(frame)
    if (created.meta?.bornWith === seq) this.events.entries(facts, [created], 0)
    const cause = this.endsWithoutCode(claimed, frame)
    if (cause) return frame.endWithoutCode(cause)
    if (!program) return frame.handOver()
    if (claimed.epoch > 1) {
      counters['frame.replayed'] += 1
      const { lastStep: after, stepsDone } = frame.body.history.script
      const at = this.deps.now()
      const id = `${claimed.uid}:resumed:${claimed.epoch}`
      if (seq > 1) this.events.emit({ id, run: facts, kind: 'resumed', after, stepsDone, at })
    }
    frame.body.begin()
  }

  /** Undoing needs the code, whatever stops the run; force does not. */
  private endsWithoutCode(claimed: Claimed, frame: Frame): StopCause | null {
    const { cancel } = frame.mail
    const { script } = frame.body.history
    const needsCode = script.undoable.length > 0 && !cancel?.meta?.force
    if (needsCode && claimed.crashes < CRASHES_MAX) return null
    if (!needsCode && script.stopping) return Stopping.causeOf(frame, script.stopping.entry)
    if (!needsCode && (cancel || claimed.stop === 'cancel')) {
      const reason = cancel?.meta?.reason ?? ''
      return { kind: 'cancel', reason, inside: false, message: cancel, force: true }
    }
    const { deadlineAt, crashes } = claimed
    if (crashes >= CRASHES_MAX) {
      this.deps.counters['run.crashLimit'] += 1
      return { kind: 'crashes', crashes }
    }
    if (deadlineAt !== null && this.deps.now() >= deadlineAt)
      return { kind: 'deadline', deadlineAt }
    return null
  }

  private forget(uid: Uid): void {
    this.loading.delete(uid)
    const frame = this.frames.active.get(uid)
    if (!frame) return
    frame.lose()
    this.frames.remove(frame)
  }
}

/** As it would be loaded. */
function asStarted({ uid, input, order, trace }: NewRun, { createdAt: at }: Claimed): Loaded {
  const meta = { ...(order && { order }), ...(trace && { trace }) }
  const none = { kind: 'run.created', name: '', occurrence: 0, attempt: 0 } as const
  return { uid, entries: [{ ...none, seq: 1, at, meta, payload: input }], messages: [], taken: 0 }
}

function forStore({ fence, fromSeq, fromNo }: Wanted) {
  return { fence, fromSeq: Math.min(fromSeq, 2_000_000_000), fromNo }
}

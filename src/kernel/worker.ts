// Worker: holds the pieces of one process together: what is committed reaches frames, callers and listeners;
// what becomes due or ours reaches the executor.

import { encodeError } from '../model/error-record.js'
import { databaseRefused } from '../model/errors.js'
import { type RunId, type Uid, uuidv7, type WorkerId } from '../model/ids.js'
import { ABORT_GRACE_MS, ASK_SHOWN_AFTER_MS, COMMIT_CONNECTIONS } from '../model/limits.js'
import { type ChildOrder, Failure, type Program } from '../model/program.js'
import type { Entry, Message } from '../model/run.js'
import { isFinal } from '../model/run.js'
import { Anchor } from './anchor.js'
import type { KernelOptions } from './api.js'
import { Claimer } from './claim.js'
import { Committer } from './commit.js'
import { type Counters, newCounters } from './counters.js'
import type { Defects } from './defects.js'
import { Events, type RunName } from './events.js'
import { Executor } from './execute.js'
import type { Frame } from './frame.js'
import type { FrameDeps } from './frame-deps.js'
import { Frames } from './frames.js'
import { Lease } from './lease.js'
import type { Hint } from './ports.js'
import { Results } from './result.js'
import type {
  Answer,
  Claimed,
  Committed,
  Delta,
  NewRun,
  Next,
  Owned,
  StartDelta,
  TurnDelta,
  Worker,
} from './store.js'

export class WorkerHost {
  readonly options: KernelOptions
  readonly counters: Counters
  readonly defects: Defects
  readonly anchor: Anchor
  readonly frames: Frames
  readonly events: Events
  readonly results: Results
  readonly committer: Committer
  readonly lease: Lease
  private readonly claimer: Claimer
  private readonly executor: Executor
  private readonly programs: ReadonlyMap<string, Program>
  private readonly offHints: () => void
  /** Runs that a beat said are ours and that are not here; adopted at the second time. */
  private strangers = new Map<Uid, Claimed>()
  private closing = false

  constructor(options: KernelOptions) {
    this.options = options
    const { store, ports, pollMs, leaseMs } = options
    this.counters = options.counters ?? newCounters()
    this.defects = options.defects ?? new Set()
    const { counters, defects } = this
    this.programs = new Map(options.programs.map((program) => [program.name, program]))
    this.anchor = new Anchor(ports.clock)
    this.frames = new Frames(options.worker ? options.concurrency : 0, options.framesMax, this)
    this.events = new Events(store, ports)
    this.results = new Results(store, ports, pollMs)
    this.lease = new Lease({
      store,
      ports,
      counters,
      leaseMs,
      pollMs,
      newWorker: () => this.newWorker(),
      heard: (now) => this.anchor.heard(now),
      owned: (owned) => this.reconcile(owned),
      lost: () => this.loseAll(),
      overdue: () => {
        for (const frame of this.frames.active.values()) frame.doubt()
      },
      certain: () => {
        for (const frame of this.frames.active.values()) frame.pump()
        this.claimer.poke()
      },
      inherited: (entries, ids) => this.events.inherited(entries, ids),
      freed: () => this.claimer.poke(),
    })
    this.committer = new Committer({
      store,
      ports,
      counters,
      defects,
      connections: COMMIT_CONNECTIONS,
      worker: () => this.lease.worker,
      feed: () => this.events.heard,
      grant: (delta) => this.grant(delta),
      ungrant: (delta) => this.frames.unpromise(claims(delta)),
      committed: (deltas, committed, by) => this.committed(deltas, committed, by),
      turnAnswered: (delta, answer, run) => this.turnAnswered(delta, answer, run),
      tell: (delta, run) => this.events.entries(run, numbered(delta)),
      turnRefused: (delta, error) => {
        const refused = databaseRefused(delta.fence.uid, error.sqlState)
        const failure = new Failure(encodeError(refused, 'the run'))
        this.frames.active.get(delta.fence.uid)?.refused(failure)
      },
    })
    this.claimer = new Claimer(
      {
        store,
        ports,
        pollMs,
        worker: () => this.lease.worker,
        now: () => this.anchor.now(),
        heard: (now) => this.anchor.heard(now),
        promisePlaces: (most) => {
          let places = 0
          while (places < most && this.frames.promise()) places += 1
          return places
        },
        unpromise: (count) => this.frames.unpromise(count),
        mayClaim: () => this.lease.certain && !this.closing,
        suspectsRunning: () => this.frames.suspects,
        take: (claimed) => this.executor.take(claimed),
      },
      !defects.has('no-poll'),
    )
    const { frames, events, programs } = this
    this.executor = new Executor(this.frameDeps(), { store, frames, events, programs })
    this.offHints = ports.hints.subscribe((hint) => this.hinted(hint))
  }

  async open(): Promise<void> {
    await this.lease.join()
    this.upkeep()
    if (this.options.worker) this.claimer.poke()
  }

  /** A process that does not work still ends what it has cancelled and nobody holds. */
  get takesRuns(): boolean {
    return this.options.worker && !this.closing
  }

  newUid(): Uid {
    return uuidv7(Math.max(0, this.anchor.now()), this.options.ports.random.bytes(10)) as Uid
  }

  versionOf(definition: string): string | null {
    return this.programs.get(definition)?.version ?? null
  }

  has(definition: string): boolean {
    return this.programs.has(definition)
  }

  /** Something was made due past the committer. */
  madeDue(): void {
    if (this.options.worker) this.claimer.poke()
    if (this.lease.others > 0) this.options.ports.hints.publish({ kind: 'due', definition: null })
  }

  isNear(workspace: string, id: RunId): boolean {
    for (const { run } of this.frames.active.values()) {
      if (run.id === id && run.workspace === workspace) return true
    }
    return false
  }

  async close(): Promise<void> {
    this.closing = true
    this.claimer.close()
    // What has not begun here is free again when this worker leaves.
    this.executor.loading.clear()
    const { clock } = this.options.ports
    for (const frame of this.frames.active.values()) frame.handOver()
    await new Promise<void>((resolve) => {
      const until = clock.monotonic() + this.options.closeGraceMs
      const look = (): void => {
        if (this.frames.active.size === 0 || clock.monotonic() >= until) return resolve()
        clock.after(5, look)
      }
      look()
    })
    this.frames.loseAll()
    await Promise.race([
      this.committer.drained(),
      new Promise<void>((resolve) => void clock.after(this.options.closeGraceMs, resolve)),
    ])
    this.lease.close()
    this.results.close()
    this.offHints()
    await this.events.flush()
  }

  // ── what the database says ────────────────────────────────────────────────────────────────────────────────

  /** Before the answers are told: the clock, the runs that were taken, the runs that began. */
  private committed(deltas: readonly Delta[], committed: Committed, by: Worker): void {
    this.anchor.heard(committed.now)
    const inHand = new Map<Uid, Message[]>()
    let promised = 0
    for (const [i, delta] of deltas.entries()) {
      const answer = committed.answers[i]
      if (!answer || answer.kind === 'busy') continue
      promised += claims(delta)
      if (answer.kind !== 'done') continue
      if (delta.kind === 'message' && answer.messageNo > 0 && !answer.repeated) {
        const message = { ...delta.message, no: answer.messageNo, at: committed.now }
        inHand.set(answer.uid, [...(inHand.get(answer.uid) ?? []), message])
      }
    }
    if (promised > 0) this.frames.unpromise(promised)
    for (const { run } of started(deltas, committed)) this.events.created(run, committed.now)
    if (committed.feedId !== null) this.events.done([committed.feedId])
    // After the turn answers of this batch, so that a parent that parks in it is kept before it is taken again.
    queueMicrotask(() => {
      this.handOver(inHand)
      // What an incarnation that is over was given belongs to others by now.
      if (!this.closing && by === this.lease.worker) {
        this.executor.take(committed.claimed, inHand)
        this.begin(deltas, committed)
      }
      this.hint(deltas, committed)
    })
  }

  /** The frame that waits for the answer to this delta. */
  private speakerOf({ fence }: TurnDelta): Frame | null {
    const frame = this.frames.active.get(fence.uid)
    const sent = frame?.inFlight?.delta.fence
    return frame && sent?.seq === fence.seq && sent.epoch === fence.epoch ? frame : null
  }

  /** Messages of our own to runs that are here reach them without a question to the database. */
  private handOver(inHand: ReadonlyMap<Uid, readonly Message[]>): void {
    for (const [uid, messages] of inHand) {
      const frame = this.frames.active.get(uid)
      if (frame?.state !== 'active') continue
      if (frame.mail.fits(messages)) frame.hear(messages)
      else this.executor.loadMail(frame)
    }
  }

  private begin(deltas: readonly Delta[], committed: Committed): void {
    for (const [i, delta] of deltas.entries()) {
      const answer = committed.answers[i]
      // Stored by an earlier sending: if it is still ours, it is adopted.
      if (answer?.kind !== 'done' || answer.repeated) continue
      for (const { run, claim } of startsOf(delta)) {
        if (claim) this.executor.begin(run, committed.now)
      }
    }
  }

  /** Whoever else may be waiting for this is told. */
  private hint(deltas: readonly Delta[], committed: Committed): void {
    let due = false
    let ended = false
    for (const [i, delta] of deltas.entries()) {
      if (committed.answers[i]?.kind !== 'done') continue
      if (delta.kind === 'start') due ||= !delta.claim
      else if (delta.kind === 'message') due = true
      else {
        due ||= delta.starts.some((start) => !start.claim) || delta.messages.length > 0
        ended ||= delta.next.kind === 'end'
      }
    }
    if (due && this.options.worker) this.claimer.poke()
    if (this.lease.others === 0) return
    const { hints } = this.options.ports
    if (due) hints.publish({ kind: 'due', definition: null })
    if (ended) hints.publish({ kind: 'ended' })
  }

  private turnAnswered(delta: TurnDelta, answer: Answer, run: RunName): void {
    const frame = this.speakerOf(delta)
    if (!frame) {
      // The run has gone on without this frame; what it has stored is told all the same.
      if (answer.kind === 'done') this.events.entries(run, numbered(delta))
      return
    }
    if (answer.kind === 'stale' && this.defects.has('ignore-stale')) {
      const { uid } = delta.fence
      const inbox = frame.mail.seen
      return frame.answered({ kind: 'done', uid, inbox, stop: null, messageNo: 0, repeated: false })
    }
    frame.answered(answer)
  }

  /** A row that is ours in the database and unknown here was claimed by a call whose answer was lost. */
  private reconcile(owned: readonly Owned[]): void {
    const strangers = new Map<Uid, Claimed>()
    for (const { uid, epoch, inbox, row } of owned) {
      const frame = this.frames.active.get(uid)
      if (frame) {
        if (frame.epoch === epoch && inbox > frame.mail.seen && frame.state === 'active') {
          this.executor.loadMail(frame)
        }
        continue
      }
      if (this.executor.loading.has(uid) || this.closing) continue
      strangers.set(uid, row)
      if (this.strangers.get(uid)?.epoch !== epoch || this.defects.has('no-adoption')) continue
      this.counters['worker.adopted'] += 1
      this.executor.adopt(row)
      strangers.delete(uid)
    }
    this.strangers = strangers
  }

  private loseAll(): void {
    this.frames.loseAll()
    this.executor.loading.clear()
    this.strangers.clear()
  }

  private hinted(hint: Hint): void {
    if (hint.kind === 'ended') this.results.hinted()
    else if (this.options.worker) this.claimer.poke()
  }

  private upkeep(): void {
    if (this.closing) return
    void this.events.flush()
    this.options.ports.clock.after(this.options.pollMs, () => this.upkeep())
  }

  private newWorker(): Worker {
    const { ports, build, leaseMs, programs, worker } = this.options
    const id = uuidv7(Math.max(0, ports.clock.monotonic()), ports.random.bytes(10)) as WorkerId
    const definitions = worker ? programs.map(({ name, version }) => ({ name, version })) : []
    return { id, build, leaseMs, definitions }
  }

  // ── what frames need ──────────────────────────────────────────────────────────────────────────────────────

  /** Whoever makes a run runnable may take it in the same commit: if it has the code and a free place. */
  private grant(delta: Delta): Delta {
    switch (delta.kind) {
      case 'start':
        return { ...delta, claim: this.mayTake(delta.run) }
      case 'message': {
        const cancels = delta.message.kind === 'cancel'
        return { ...delta, claim: cancels || (this.takesRuns && this.frames.promise()) }
      }
      case 'turn': {
        if (delta.starts.length === 0 && delta.messages.length === 0) return delta
        const starts = delta.starts.map((start) => ({ ...start, claim: this.mayTake(start.run) }))
        const messages = delta.messages.map((message) => ({
          ...message,
          claim: this.takesRuns && this.lease.certain && this.frames.promise(),
        }))
        return { ...delta, starts, messages }
      }
    }
  }

  private mayTake(run: NewRun): boolean {
    if (!this.takesRuns || !this.lease.certain || run.delayMs > 0) return false
    const version = this.versionOf(run.definition)
    if (version === null || (run.version !== null && run.version !== version)) return false
    return this.frames.promise()
  }

  private frameDeps(): FrameDeps {
    const { options, counters, defects } = this
    const { store, ports } = options
    return {
      ports,
      defects,
      counters,
      build: options.build,
      askShownAfterMs: ASK_SHOWN_AFTER_MS,
      abortGraceMs: ABORT_GRACE_MS,
      attempts: {
        clock: ports.clock,
        open: (limitMs) => store.open(this.lease.worker, limitMs),
      },
      owner: () => this.lease.worker.id,
      now: () => this.anchor.now(),
      mayStart: () => this.lease.certain,
      newUid: () => this.newUid(),
      childRun: (frame, uid, order) => this.childRun(frame, uid, order),
      resolve: (fence, lastSeq) => store.resolve(fence, lastSeq),
      submit: (frame) => this.committer.submit(frame),
      load: (frame) => this.executor.loadMail(frame),
      feed: () => this.events.heard,
      closed: (delta, committed) => this.transactionClosed(delta, committed),
      committed: (frame, entries, next) => this.turnCommitted(frame, entries, next),
      lost: (frame, reload) => this.turnLost(frame, reload),
      spokeWhileParked: ({ run }, name) =>
        ports.log.warn(
          `Run ${run.id} (${run.definition}) asked for "${name}" while it was parked.`,
          {
            hint: 'the function awaits something that is not a step: wrap it in wf.do',
          },
        ),
    }
  }

  private childRun(frame: Frame, uid: Uid, order: ChildOrder): NewRun {
    const { workspace, tags, uid: parentUid, id } = frame.run
    const { definition, input } = order
    const version = order.version ?? this.versionOf(definition)
    const names = { uid, id: uid as string as RunId, workspace, definition, version, tags }
    const times = { priority: 5, delayMs: 0, timeoutMs: null }
    return { ...names, ...times, input, order: order.order, parent: { uid: parentUid, id } }
  }

  private turnCommitted(frame: Frame, entries: readonly Entry[], next: Next): void {
    const { run } = frame
    this.events.entries(run, entries)
    if (next.kind === 'go') return
    this.frames.remove(frame)
    if (next.kind === 'park' && frame.state === 'parked') {
      this.frames.keep(frame)
      if (next.dueAt !== null) this.claimer.expect(next.dueAt)
      const at = this.anchor.now()
      const id = `${run.uid}:waiting:${frame.epoch}`
      this.events.emit({ id, run, kind: 'waiting', reason: next.reason, at })
    }
    const last = entries.at(-1)
    if (next.kind === 'end' && last && isFinal(next.status)) {
      const { uid, id, workspace } = run
      const reason = last.meta?.reason ?? null
      const { status } = next
      this.results.ended({ workspace, id, uid, status, payload: last.payload, reason })
    }
    this.claimer.roomAgain()
  }

  /** Past the committer: `committed` is null if the answer was lost and the journal has it. */
  private transactionClosed({ starts }: TurnDelta, committed: Committed | null): void {
    if (committed) this.anchor.heard(committed.now)
    for (const { run } of starts) this.events.created(run, committed?.now ?? this.anchor.now())
    const feedId = committed?.feedId ?? null
    if (feedId !== null) this.events.done([feedId])
    if (starts.length > 0) this.madeDue()
  }

  private turnLost(frame: Frame, reload: boolean): void {
    const { run, epoch, attempt } = frame
    this.frames.remove(frame)
    if (!reload || this.closing) return this.claimer.roomAgain()
    this.anchor.ahead()
    // Still ours: its clock was ahead. Begin again from what is stored.
    const seq = frame.out.ackedSeq
    const row = {
      ...run,
      epoch,
      seq,
      inbox: Number.MAX_SAFE_INTEGER,
      stop: null,
      crashes: 0,
      attempt,
    }
    this.executor.takeUp(row)
  }
}

/** The runs that this commit has started, children included. */
function started(deltas: readonly Delta[], committed: Committed): readonly StartDelta[] {
  return deltas.flatMap((delta, i) => {
    return committed.answers[i]?.kind === 'done' ? startsOf(delta) : []
  })
}

function startsOf(delta: Delta): readonly StartDelta[] {
  return delta.kind === 'start' ? [delta] : delta.kind === 'turn' ? delta.starts : []
}

function numbered({ fence, entries }: TurnDelta): readonly Entry[] {
  return entries.map((entry, i) => ({ ...entry, seq: fence.seq + i + 1 }))
}

function claims(delta: Delta): number {
  if (delta.kind === 'turn') {
    return (
      delta.starts.filter((start) => start.claim).length +
      delta.messages.filter((message) => message.claim).length
    )
  }
  if (delta.kind === 'message' && delta.message.kind === 'cancel') return 0
  return delta.claim ? 1 : 0
}

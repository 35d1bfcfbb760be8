// Worker: holds the pieces of one process together: what is committed reaches frames, callers and listeners;
// what becomes due or ours reaches the executor.

import { encodeError } from '../model/error-record.js'
import { databaseRefused } from '../model/errors.js'
import type { Uid } from '../model/ids.js'
import { ABORT_GRACE_MS, ASK_SHOWN_AFTER_MS, COMMIT_CONNECTIONS } from '../model/limits.js'
import { Failure, type Outside } from '../model/program.js'
import { isFinal, type StoredReason } from '../model/run.js'
import { Admitter } from './admit.js'
import { Adoption } from './adoption.js'
import { Anchor } from './anchor.js'
import type { KernelOptions } from './api.js'
import { attemptDeps } from './attempt-deps.js'
import { Bringing } from './bringing.js'
import { Calls } from './calls.js'
import { Claimer } from './claim.js'
import { claimerDeps } from './claimer-deps.js'
import { Committer, type Speaker } from './commit.js'
import { type Counters, newCounters } from './counters.js'
import type { Defects } from './defects.js'
import { Events, type RunName } from './events.js'
import { Executor } from './execute.js'
import { Frames } from './frames.js'
import { Grants } from './grants.js'
import type { HolderDeps } from './held-run.js'
import { Lease } from './lease.js'
import { leaseDeps } from './lease-deps.js'
import { LongSteps } from './long-steps.js'
import { Meters } from './meters.js'
import type { Hint } from './ports.js'
import { Post } from './post.js'
import { Programs } from './programs.js'
import { Publisher } from './publisher.js'
import { Resident } from './resident.js'
import { Results } from './result.js'
import type { Answer, Committed, Delta, TurnDelta, Worker } from './store.js'
import { Tracing, tracedChild } from './tracing.js'
import { Uids } from './uids.js'
import { createdEntry, type WakeDeps, wake } from './wake.js'
import { within } from './within.js'

export class WorkerHost {
  readonly options: KernelOptions
  readonly counters: Counters
  readonly meters = new Meters()
  readonly defects: Defects
  readonly tracing: Tracing | null
  readonly anchor: Anchor
  readonly programs: Programs
  private readonly uids: Uids
  readonly frames: Frames
  readonly events: Events
  readonly results: Results
  readonly calls: Calls
  readonly committer: Committer
  readonly lease: Lease
  readonly post: Post
  readonly publisher: Publisher
  /** Other runs, for steps: the kernel around this worker. */
  outside!: Outside
  readonly claimer: Claimer
  private readonly admitter: Admitter
  readonly executor: Executor
  private readonly grants: Grants
  readonly bringing: Bringing
  readonly adoption: Adoption
  readonly longSteps: LongSteps
  private readonly wakeDeps: WakeDeps
  private readonly offHints: () => void
  closing = false
  private offUpkeep = (): void => {}

  constructor(options: KernelOptions) {
    this.options = options
    const { store, ports, pollMs } = options
    this.counters = options.counters ?? newCounters()
    this.defects = options.defects ?? new Set()
    this.tracing = ports.telemetry ? new Tracing(ports.telemetry) : null
    this.programs = new Programs(options)
    this.anchor = new Anchor(ports.clock)
    this.uids = new Uids(ports.random, () => this.anchor.now())
    const { counters, defects, tracing } = this
    const left = (resident: Resident): void => this.bringing.left(resident)
    const inMemory = { counters, defects, tracing, left }
    this.frames = new Frames(options.worker ? options.concurrency : 0, options.framesMax, inMemory)
    this.events = new Events(store, ports)
    this.results = new Results(store, ports, pollMs, (at) => this.frames.near(at))
    this.calls = new Calls(store, ports, pollMs, (uid) => this.frames.has(uid))
    this.lease = new Lease(leaseDeps(this))
    this.committer = this.makeCommitter()
    this.claimer = new Claimer(claimerDeps(this), !this.defects.has('no-poll'))
    this.admitter = this.makeAdmitter(options)
    const { changed = () => {} } = options
    this.publisher = new Publisher({ store, ports, changed, owner: () => this.lease.worker.id })
    const { frames, events, programs } = this
    this.executor = new Executor(this.holderDeps(), { store, frames, events, programs })
    this.longSteps = new LongSteps(frames, ports.clock)
    this.post = new Post(store, ports.log, (...sent) => this.committer.send(...sent))
    this.adoption = new Adoption(frames, this.executor, () => {
      this.counters['worker.adopted'] += 1
    })
    this.grants = new Grants(frames, {
      has: (definition, version) => programs.get(definition, version) !== null,
      mayTake: () => this.mayTake,
    })
    this.bringing = new Bringing(frames, this)
    this.wakeDeps = {
      frames,
      executor: this.executor,
      hints: ports.hints,
      // What an incarnation that is over was given belongs to others by now.
      mayBegin: (by) => !this.closing && by === this.lease.worker,
      others: () => this.lease.others > 0,
      endsAreTold: this.programs.areEndsTold,
      due: () => this.options.worker && this.claimer.poke(),
      started: (run, now) => this.events.entries(run, [createdEntry(run, now)], 0),
    }
    this.offHints = ports.hints.subscribe((hint) => this.hinted(hint))
  }

  async open(): Promise<void> {
    await this.lease.join()
    this.upkeep()
    if (this.options.worker) this.claimer.poke()
  }

  newUid(): Uid {
    return this.uids.next()
  }

  /** It executes runs, and its lease is not in doubt. */
  get mayTake(): boolean {
    return this.options.worker && !this.closing && this.lease.certain
  }

  submit(resident: Resident): void {
    this.committer.submit(resident)
  }

  /** Something was made due past the committer. */
  madeDue(): void {
    this.admitter.madeDue()
    this.due()
  }

  private due(): void {
    const { worker, ports } = this.options
    if (worker) this.claimer.poke()
    if (this.lease.others > 0) ports.hints.publish({ kind: 'due', definition: null })
  }

  /** Its row says that it is to rest. */
  paused(uid: Uid): void {
    this.frames.active.get(uid)?.handOver('pause')
  }

  async close(): Promise<void> {
    this.closing = true
    this.claimer.close()
    this.admitter.close()
    // What has not begun here is free again when this worker leaves.
    this.frames.loading.clear()
    for (const frame of this.frames.active.values()) frame.handOver()
    await this.within(() => this.frames.active.size === 0)
    this.frames.loseAll()
    // What was brought to them is sent as any message now.
    await new Promise<void>((resolve) => this.options.ports.quiet.next(resolve))
    await this.within(() => this.committer.idle)
    this.publisher.close()
    this.offUpkeep()
    this.longSteps.close()
    this.lease.close()
    this.offHints()
    await this.events.flush()
  }

  /** Resolves when `met`, or when the grace is over. */
  private within(met: () => boolean): Promise<void> {
    return within(this.options.ports.clock, this.options.closeGraceMs, met)
  }

  // ── what the database says ────────────────────────────────────────────────────────────────────────────────

  /** Before the answers are told. */
  private committed(deltas: readonly Delta[], committed: Committed, by: Worker): void {
    this.anchor.heard(committed.now)
    if (committed.feedId !== null) this.events.done([committed.feedId])
    if (committed.isAsking) this.admitter.poke()
    for (let i = 0; i < deltas.length; i += 1) {
      const delta = deltas[i]
      if (delta && committed.answers[i]?.kind !== 'busy') this.grants.settle(delta)
    }
    queueMicrotask(() => wake(this.wakeDeps, deltas, committed, by))
  }

  private turnAnswered(delta: TurnDelta, answer: Answer, speaker: Speaker): void {
    if (speaker instanceof Resident) return this.residentAnswered(speaker, delta, answer.kind)
    const { run } = speaker
    const { fence, entries } = delta
    const frame = this.frames.active.get(fence.uid)
    const sent = frame?.inFlight?.delta.fence
    if (!frame || sent?.seq !== fence.seq || sent.epoch !== fence.epoch) {
      // The run has gone on without this frame; what it has stored is told all the same.
      if (answer.kind === 'done') this.events.entries(run, entries, fence.seq)
      return
    }
    if (answer.kind === 'stale' && this.defects.has('ignore-stale')) {
      const { uid } = delta.fence
      const inbox = frame.mail.seen
      return frame.answered({ kind: 'done', uid, inbox, stop: null, messageNo: 0, repeated: false })
    }
    frame.answered(answer)
  }

  private residentAnswered(resident: Resident, delta: TurnDelta, answer: Answer['kind']): void {
    const isStored = answer === 'done'
    if (isStored) this.residentStored(resident, delta)
    this.bringing.answered(resident, isStored)
  }

  private residentStored({ run }: Resident, delta: TurnDelta): void {
    const { fence, next } = delta
    this.options.changed?.(run.uid)
    this.calls.committed(delta)
    if (next.kind !== 'park') return
    if (next.dueAt !== null) this.claimer.expect(next.dueAt)
    if (!this.events.heard) return
    this.events.entries(run, delta.entries, fence.seq)
    this.parked(run, next.reason, fence.epoch, fence.seq + delta.entries.length)
  }

  /** Listeners hear that it waits. */
  private parked(run: RunName, reason: StoredReason, epoch: number, seq: number): void {
    const id = `${run.uid}:waiting:${epoch}:${seq}`
    this.events.emit({ id, run, kind: 'waiting', reason, at: this.anchor.now() })
  }

  loseAll(): void {
    this.frames.loseAll()
    this.frames.loading.clear()
    this.adoption.forget()
  }

  private hinted(hint: Hint): boolean {
    if (hint.kind === 'watched' || hint.kind === 'changed') return true
    if (hint.kind === 'ended') this.results.hinted()
    else if (this.options.worker) this.claimer.poke()
    return hint.kind !== 'due' || this.grants.areFor(hint)
  }

  private upkeep(): void {
    if (this.closing) return
    const { worker, ports, pollMs } = this.options
    void this.events.flush()
    this.admitter.upkeep()
    if (worker) this.post.carry()
    this.offUpkeep = ports.clock.after(pollMs, () => this.upkeep())
  }

  // ── wiring ────────────────────────────────────────────────────────────────────────────────────────────────

  private makeCommitter(): Committer {
    const { store, ports } = this.options
    const { counters, meters, defects } = this
    return new Committer({
      store,
      ports,
      counters,
      meters,
      defects,
      connections: COMMIT_CONNECTIONS,
      worker: () => this.lease.worker,
      feed: () => this.events.heard,
      grant: (delta) => this.grants.grant(delta),
      ungrant: (delta) => this.grants.settle(delta),
      committed: (deltas, committed, by) => this.committed(deltas, committed, by),
      turnAnswered: (delta, answer, speaker) => this.turnAnswered(delta, answer, speaker),
      tell: ({ entries, fence }, run) => this.events.entries(run, entries, fence.seq),
      reply: (delta) => this.calls.committed(delta),
      turnRefused: (delta, error, speaker) => {
        if (speaker instanceof Resident) return this.bringing.answered(speaker, false)
        if (delta.brings) return this.untaken(delta)
        const refused = databaseRefused(delta.fence.uid, error.sqlState)
        const failure = new Failure(encodeError(refused, 'the run'))
        this.frames.active.get(delta.fence.uid)?.refused(failure)
      },
    })
  }

  private makeAdmitter({ store, ports }: KernelOptions): Admitter {
    const isLimited = () => this.programs.areLimited
    const admit = (isSweep: boolean) => this.claimer.along((...to) => store.admit(isSweep, ...to))
    return new Admitter({ ports, admit, isLimited, admitted: () => this.due() })
  }

  // ── what frames need ──────────────────────────────────────────────────────────────────────────────────────

  private holderDeps(): HolderDeps {
    const { options, counters, defects, tracing } = this
    const { store, ports } = options
    return {
      ports,
      defects,
      counters,
      build: options.build,
      isSingle: store.isSingle ?? false,
      askShownAfterMs: ASK_SHOWN_AFTER_MS,
      abortGraceMs: ABORT_GRACE_MS,
      attempts: attemptDeps(this),
      owner: () => this.lease.worker.id,
      now: () => this.anchor.now(),
      mayStart: () => this.lease.certain,
      newUid: () => this.newUid(),
      childRun: (run, ...order) => tracedChild(tracing, run, this.programs.childRun(run, ...order)),
      took: (uid, message) => tracing?.took(uid, message),
      hasLimits: (definition) => this.programs.hasLimits(definition),
      resolve: (fence, lastSeq) => store.resolve(fence, lastSeq),
      stepStarted: (attempt) => this.longSteps.started(attempt),
      submit: (uid) => {
        const frame = this.frames.active.get(uid)
        if (frame) this.committer.submit(frame)
      },
      load: (uid) => {
        const frame = this.frames.active.get(uid)
        if (frame) this.executor.loadMail(frame)
      },
      feed: () => this.events.heard,
      closed: (delta, committed) => this.transactionClosed(delta, committed),
      committed: (delta) => this.turnCommitted(delta),
      lost: (uid, reload) => this.turnLost(uid, reload),
      forgotten: (run) => this.bringing.lost(run),
      spokeWhileParked: (run, name) =>
        ports.log.warn(
          `Run ${run.id} (${run.definition}) asked for "${name}" while it was parked.`,
          {
            hint: 'the function awaits something that is not a step: wrap it in wf.do',
          },
        ),
    }
  }

  private turnCommitted(delta: TurnDelta): void {
    const { fence, entries, next } = delta
    this.options.changed?.(fence.uid)
    this.calls.committed(delta)
    this.post.committed(delta)
    const frame = this.frames.active.get(fence.uid)
    if (!frame) return
    const { run } = frame
    this.events.entries(run, entries, fence.seq)
    if (next.kind === 'go') return this.bringing.stored(delta)
    this.tracing?.committed(run, delta, this.anchor.now())
    this.frames.remove(frame)
    if (next.kind === 'park' && frame.state === 'parked') {
      this.frames.keep(frame, this.anchor.now())
      if (next.dueAt !== null) this.claimer.expect(next.dueAt)
      this.parked(run, next.reason, frame.epoch, frame.out.ackedSeq)
    }
    const last = entries.at(-1)
    if (next.kind === 'end' && last && isFinal(next.status)) {
      const { uid, id, workspace } = run
      const reason = last.meta?.reason ?? null
      const { status } = next
      this.results.ended({ workspace, id, uid, status, payload: last.payload, reason })
    }
    this.claimer.roomAgain()
    this.bringing.stored(delta)
  }

  /** What it has been brought is refused for its content: as any message it costs whoever has to be blamed. */
  private untaken(delta: TurnDelta): void {
    this.frames.active.get(delta.fence.uid)?.lose()
    this.turnLost(delta.fence.uid, false)
  }

  /** Past the committer: `committed` is null if the answer was lost and the journal has it. */
  private transactionClosed({ starts }: TurnDelta, committed: Committed | null): void {
    const now = committed?.now ?? this.anchor.now()
    if (committed) this.anchor.heard(now)
    for (const { run } of starts) this.events.entries(run, [createdEntry(run, now)], 0)
    const feedId = committed?.feedId ?? null
    if (feedId !== null) this.events.done([feedId])
    if (starts.length > 0 || committed?.isAsking) this.madeDue()
  }

  private turnLost(uid: Uid, reload: boolean): void {
    const frame = this.frames.active.get(uid)
    if (!frame) return
    const { run, epoch, attempt, out } = frame
    this.frames.remove(frame)
    if (!reload || this.closing) return this.claimer.roomAgain()
    this.anchor.ahead()
    // Still ours: its clock was ahead. Begin again from what is stored.
    const unknown = { inbox: Number.MAX_SAFE_INTEGER, stop: null, crashes: 0 }
    this.executor.takeUp({ ...run, epoch, seq: out.ackedSeq, attempt, ...unknown })
  }
}

// The kernel: start, signal, cancel, retry, result. Each is a small value handed to the committer.

import {
  attemptChanged,
  engineClosed,
  idTaken,
  mailboxFull,
  notTakenYet,
  outcomeUnknown,
  overloaded,
  runFinished,
  runNotFound,
  runNotRetryable,
  runUndone,
  valueRefused,
} from '../model/errors.js'
import type { MessageId, RunId, Uid } from '../model/ids.js'
import { OUTCOME_UNKNOWN_MS, QUEUED_BYTES_MAX } from '../model/limits.js'
import type { Program } from '../model/program.js'
import type { Entry, EntryMeta, Instant, NewEntry, NewMessage } from '../model/run.js'
import type {
  Address,
  Kernel,
  KernelEvent,
  KernelOptions,
  Measured,
  StartRequest,
  TriggerCall,
} from './api.js'
import { Operations } from './operations.js'
import { outsideOf } from './outside.js'
import { Patience, Patient } from './patience.js'
import { named, readingFor } from './reading.js'
import { behindReopened } from './replay.js'
import { definitionsFor, schedulingFor, streamsFor, webhooksFor } from './scheduling.js'
import { type Brought, Sender } from './sender.js'
import type {
  Answer,
  Call,
  Called,
  DefinitionStore,
  MessageDelta,
  NewRun,
  RunReader,
  RunView,
  ScheduleStore,
  Settled,
  StartDelta,
  Store,
  StreamStore,
  WebhookStore,
} from './store.js'
import { WorkerHost } from './worker.js'

/** So far back a failure is looked for that a run is re-opened at. */
const REOPENED_PAGE = 500

export async function createKernel(options: KernelOptions): Promise<KernelHost> {
  const kernel = new KernelHost(options)
  await kernel.host.open()
  return kernel
}

/** `host` is for who looks behind it: the test kit. */
export class KernelHost implements Kernel {
  readonly host: WorkerHost
  readonly read: RunReader
  readonly operations: Operations
  readonly schedules: ScheduleStore
  readonly definitions: DefinitionStore
  readonly webhooks: WebhookStore
  readonly streams: StreamStore
  private readonly store: Store
  private readonly patience: Patience
  private closed: Promise<void> | null = null
  /** Nothing runs here any more. Until then what runs may still reach other runs. */
  private isShut = false

  constructor(options: KernelOptions) {
    this.host = new WorkerHost(options)
    this.host.outside = outsideOf(this)
    this.store = options.store
    this.patience = new Patience(options.ports.clock, OUTCOME_UNKNOWN_MS)
    this.read = readingFor(options.store.read)
    this.schedules = schedulingFor(options.store)
    this.definitions = definitionsFor(options.store)
    this.webhooks = webhooksFor(options.store)
    this.streams = streamsFor(options.store)
    this.operations = new Operations(this.host, options.store, this.signal.bind(this))
  }

  async start(request: StartRequest): Promise<{ readonly uid: Uid; readonly id: RunId }> {
    await this.host.programs.ask(request.definition)
    const uid = this.host.newUid()
    const id = request.id ?? (uid as string as RunId)
    const version = request.version ?? this.host.programs.versionOf(request.definition)
    const { workspace, definition, input, tags, priority, delayMs, timeoutMs } = request
    // biome-ignore format: one literal, because one is made for every run
    const run: NewRun = { uid, id, workspace, definition, version, input, tags, priority, delayMs, timeoutMs, order: null, parent: request.parent ?? null, trace: this.telemetry?.started({ id, workspace, definition, version }) ?? null, limits: this.host.programs.countedAt({ definition, version, workspace, input }) }
    if (this.host.defects.has('ack-before-commit')) {
      void this.send({ kind: 'start', run, claim: false }, id).catch(() => {})
      return { uid, id }
    }
    const answer = await this.send({ kind: 'start', run, claim: false }, id)
    if (answer.kind === 'done') return { uid, id }
    if (answer.kind !== 'exists') throw outcomeUnknown(id)
    if (!answer.same) throw idTaken(id, answer.definition, request.definition)
    return { uid: answer.uid, id }
  }

  async signal(
    to: Address,
    name: string,
    payload: string | null,
    id: MessageId | null,
  ): Promise<void> {
    const messageId = id ?? (this.host.newUid() as string as MessageId)
    const meta = this.sent(to, name)
    const message: NewMessage = { id: messageId, kind: 'signal', name, meta, payload }
    const brought = await new Promise<Brought | null>((resolve, reject) => {
      this.bring(new Sender(to, message, id === null, resolve, reject))
    })
    if (brought) return this.host.options.ports.fault('message.after')
    const answer = await this.deliver(to, message)
    if (answer.kind === 'refused') throw refusal(answer, to)
  }

  trigger(to: Address, call: TriggerCall): Promise<Called> {
    const { name, payload, withinMs: within } = call
    const id = call.id ?? (this.host.newUid() as string as MessageId)
    const sent = this.sent(to, name)
    const meta = sent ? { within, ...sent } : { within }
    const message: NewMessage = { id, kind: 'trigger', name, meta, payload }
    return new Promise((resolve, reject) => {
      const hears = (brought: Brought | null): void => {
        if (brought) this.host.options.ports.fault('message.after')
        resolve(brought?.called ?? this.decided(to, message, brought, within))
      }
      this.bring(new Sender(to, message, call.isNew ?? call.id === null, hears, reject))
    })
  }

  private async decided(
    to: Address,
    message: NewMessage,
    brought: Brought | null,
    withinMs: number,
  ): Promise<Called> {
    const { uid, no } = brought ?? (await this.call(to, message))
    const called = await this.host.calls.wait({ uid, no }, withinMs + OUTCOME_UNKNOWN_MS)
    if (called === null) throw notTakenYet(to.id, message.name)
    return called
  }

  private async call(to: Address, message: NewMessage): Promise<Call> {
    const answer = await this.deliver(to, message)
    if (answer.kind === 'refused') throw refusal(answer, to)
    if (answer.kind !== 'done') throw outcomeUnknown(to.id)
    return { uid: answer.uid, no: answer.messageNo }
  }

  async cancel(to: Address, reason: string, id: MessageId | null, force = false): Promise<void> {
    const messageId = id ?? (this.host.newUid() as string as MessageId)
    const message: NewMessage = {
      id: messageId,
      kind: 'cancel',
      name: force ? 'force' : '',
      meta: force ? { reason, force } : { reason },
      payload: null,
    }
    const answer = await this.deliver(to, message)
    // Cancelling what is cancelled already is no error: it is so.
    if (answer.kind === 'refused' && answer.status !== 'cancelled') throw refusal(answer, to)
  }

  async retry(to: Address, expectedAttempt: number | null): Promise<void> {
    this.checkOpen()
    const view = await this.read.get(to.workspace, to.id)
    if (!view) throw runNotFound(to.id)
    if (view.status !== 'failed') throw runNotRetryable(to.id, view.status)
    if (view.end?.meta?.undone) throw runUndone(to.id)
    if (expectedAttempt !== null && expectedAttempt !== view.attempt) {
      throw attemptChanged(to.id, expectedAttempt, view.attempt)
    }
    const chain = await this.failedChain(view)
    const { ports } = this.host.options
    ports.fault('reopen.before')
    const answer = await named(this.store.reopen(chain))
    ports.fault('reopen.after')
    if (answer === 'changed') {
      throw attemptChanged(to.id, view.attempt, view.attempt + 1)
    }
    this.host.madeDue()
  }

  result(to: Address, signal: AbortSignal | null): Promise<Settled> {
    if (signal?.aborted) return Promise.reject(signal.reason)
    return this.host.results.wait(to, signal)
  }

  on(listener: (event: KernelEvent) => unknown): () => void {
    return this.host.events.on(listener)
  }

  async measured(): Promise<Measured> {
    const { counters, meters } = this.host
    return { counters, meters }
  }

  now(): Instant {
    return this.host.anchor.now()
  }

  async learn(programs: readonly Program[]): Promise<void> {
    if (this.closed !== null) return
    this.host.programs.learn(programs)
    await this.host.lease.declare()
    this.host.madeDue()
  }

  close(): Promise<void> {
    this.closed ??= this.shut()
    return this.closed
  }

  private async shut(): Promise<void> {
    const { lease, options } = this.host
    const { ports } = options
    this.host.results.close(engineClosed())
    this.host.calls.close(engineClosed())
    ports.fault('close.before')
    await this.host.close()
    this.isShut = true
    this.patience.end()
    try {
      ports.fault('leave.before')
      await this.store.leave(lease.worker)
      ports.fault('leave.after')
    } catch {
      // The database is away: the lease will run out by itself.
    }
    await ports.hints.close()
    await this.store.close()
    ports.fault('close.after')
  }

  private get telemetry() {
    return this.host.options.ports.telemetry
  }

  /** What a message says of whoever sends it. */
  private sent(to: Address, name: string): EntryMeta | null {
    const trace = this.telemetry?.sent(to, name) ?? null
    return trace === null ? null : { trace }
  }

  private checkOpen(): void {
    if (this.isShut) throw engineClosed()
  }

  /** Without a claim, if the run waits in this process; else its sender hears at once that it is to be sent as any message. */
  private bring(sender: Sender): void {
    const { bringing, options } = this.host
    this.checkOpen()
    if (bringing.bytes > QUEUED_BYTES_MAX) throw overloaded()
    if (!bringing.bring(sender)) return sender.told(null)
    if (!sender.isTold) this.patience.wait(sender)
    options.ports.fault('message.before')
  }

  private deliver(to: Address, message: NewMessage): Promise<Answer> {
    return this.send({ kind: 'message', to, message, claim: false }, to.id)
  }

  /** Resolves with the database's answer. Unknown after half a minute: the caller may repeat it with the same id. */
  private send(delta: StartDelta | MessageDelta, id: RunId): Promise<Answer> {
    this.checkOpen()
    const { committer, options } = this.host
    if (committer.queuedBytes > QUEUED_BYTES_MAX) throw overloaded()
    const { ports } = options
    return new Promise((resolve, reject) => {
      const patient = new Caller(id, reject)
      this.patience.wait(patient)
      ports.fault(delta.kind === 'start' ? 'start.before' : 'message.before')
      committer.send(delta, {
        answered: (answer) => {
          patient.over()
          ports.fault(delta.kind === 'start' ? 'start.after' : 'message.after')
          resolve(answer)
        },
        refused: (error) => {
          patient.over()
          reject(valueRefused(id, error.sqlState))
        },
      })
    })
  }

  /** The run, and below it the children whose failure became its own: deepest first. */
  private async failedChain(top: RunView) {
    const chain: { uid: Uid; attempt: number; entry: NewEntry; due: boolean }[] = []
    for (let view: RunView | null = top; view; ) {
      const failed: Question | null = questionOf(view.end?.meta ?? {})
      const page = { after: view.seq + 1, limit: REOPENED_PAGE, newestFirst: true }
      const newest = await this.read.history(view.uid, page)
      const child: RunView | null = failed && (await this.failedChild(view, newest, failed))
      const entry = this.reopenedEntry(view, child, failed, behindReopened(newest, failed))
      chain.unshift({ uid: view.uid, attempt: view.attempt, entry, due: child === null })
      view = child
    }
    return chain
  }

  private reopenedEntry(
    view: RunView,
    child: RunView | null,
    failed: Question | null,
    behind: readonly number[],
  ): NewEntry {
    const left = behind.length > 0 ? { behind } : null
    const meta = failed ? { ...failed, ...(child && { uid: child.uid }), ...left } : left
    const attempt = view.attempt + 1
    const at = this.host.anchor.now()
    return { kind: 'run.reopened', name: '', occurrence: 0, attempt, at, meta, payload: null }
  }

  private async failedChild(
    view: RunView,
    newest: readonly Entry[],
    { name, occurrence }: Question,
  ): Promise<RunView | null> {
    const entry = newest.find((one) => one.name === name && one.occurrence === occurrence)
    if (entry?.kind !== 'child.ended' || !entry.meta?.uid) return null
    const child = await this.read.get(view.workspace, entry.meta.uid as string as RunId)
    // What has been undone does not go on: it is started anew.
    const goesOn = child?.status === 'failed' && !child.end?.meta?.undone
    return goesOn ? child : null
  }
}

class Caller extends Patient {
  private readonly id: RunId
  private readonly reject: (error: Error) => void

  constructor(id: RunId, reject: (error: Error) => void) {
    super()
    this.id = id
    this.reject = reject
  }

  giveUp(): void {
    this.reject(outcomeUnknown(this.id))
  }
}

interface Question {
  readonly name: string
  readonly occurrence: number
}

function questionOf({ name, occurrence }: EntryMeta): Question | null {
  return name === undefined || occurrence === undefined ? null : { name, occurrence }
}

function refusal(answer: Answer & { readonly kind: 'refused' }, to: Address): Error {
  switch (answer.code) {
    case 'RUN_NOT_FOUND':
      return runNotFound(to.id)
    case 'RUN_FINISHED':
      return runFinished(to.id, answer.status ?? 'finished')
    case 'MAILBOX_FULL':
      return mailboxFull(to.id)
  }
}

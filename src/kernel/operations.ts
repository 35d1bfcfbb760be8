// What people and their own transactions do to runs, past the group commit.
//
// Owns:      the callers' transactions that are open through engine.transaction.
// Talks to:  the operating half of the store; the worker, which is told what was made due or is to rest.

import { idTaken, outcomeUnknown, runFinished, runNotFound, valueRefused } from '../model/errors.js'
import type { MessageId, RunId, Uid } from '../model/ids.js'
import { TRANSACTION_MAX_MS } from '../model/limits.js'
import { type Entry, type EntryMeta, isFinal, type NewMessage, type Stored } from '../model/run.js'
import type { Address, FirstMessage, Kernel, OperatingKernel, StartRequest } from './api.js'
import { type ForkOrder, planFork } from './fork.js'
import { runInside } from './inside.js'
import { named } from './reading.js'
import {
  type Client,
  type LoneStart,
  type NewEvent,
  type NewRun,
  type Store,
  StoreRefused,
  StoreUnavailable,
  type Within,
} from './store.js'
import type { WorkerHost } from './worker.js'

const JOURNAL_PAGE = 1_000

export class Operations implements OperatingKernel {
  private readonly host: WorkerHost
  private readonly store: Store
  private readonly signal: Kernel['signal']
  private readonly open = new WeakSet<Client>()

  constructor(host: WorkerHost, store: Store, signal: Kernel['signal']) {
    this.host = host
    this.store = store
    this.signal = signal
  }

  madeDue(): void {
    this.host.madeDue()
  }

  async start(request: StartRequest, message: FirstMessage | null, client: Client | null) {
    const run = await this.newRun(request)
    const { uid, id } = run
    const first = message && this.newMessage(message)
    const answer = await this.startAlone({ run, meta: bornAlone(run), message: first }, client)
    if (answer.kind === 'done') {
      if (!client) this.host.madeDue()
      return { uid, id }
    }
    if (!answer.same) throw idTaken(id, answer.definition, request.definition)
    if (first && !client) await this.signal({ ...request, id }, first.name, first.payload, first.id)
    return { uid: answer.uid, id }
  }

  async debounce(request: StartRequest, key: string) {
    const run = await this.newRun(request)
    const start = { run, meta: bornAlone(run), message: null }
    const answer = await this.refusals(run.id, this.store.debounce(start, key))
    if (answer.kind === 'exists') {
      if (!answer.same) throw idTaken(run.id, answer.definition, request.definition)
      return { uid: answer.uid, id: run.id }
    }
    this.host.madeDue()
    return { uid: answer.uid, id: answer.id }
  }

  async startOnce(request: StartRequest): Promise<boolean> {
    const run = await this.newRun(request)
    const answer = await this.refusals(run.id, this.store.startByWebhook(run))
    if (answer === 'started') this.host.madeDue()
    return answer === 'started'
  }

  async lookWithin(client: Client, to: Address) {
    const found = await this.store.lookWithin(this.within(client), to)
    if (!found) throw runNotFound(to.id)
    if (isFinal(found.status)) throw runFinished(to.id, found.status)
    return found
  }

  async signalWithin(
    client: Client,
    to: Address,
    name: string,
    payload: Stored | null,
    id: MessageId | null,
  ): Promise<void> {
    const message = this.newMessage({ name, payload, id })
    await this.refusals(to.id, this.store.post(this.within(client), { to, ...message }))
  }

  async transaction<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const transaction = await named(this.store.begin(TRANSACTION_MAX_MS))
    this.open.add(transaction)
    let value: T
    try {
      value = await runInside(() => transaction.inside(() => work(transaction)))
    } catch (error) {
      await transaction.rollback()
      throw error
    } finally {
      this.open.delete(transaction)
    }
    await named(transaction.commit())
    // Whatever was started inside is due, and letters are carried at once.
    this.host.madeDue()
    this.host.post.carry()
    return value
  }

  async emit(workspace: string, event: NewEvent, client: Client | null): Promise<void> {
    const within = client && this.within(client)
    await this.refusals(event.id as RunId, this.store.emit(workspace, event, within))
    if (client) return
    void this.host.post.fanOut.look()
    // It may have started runs.
    this.host.madeDue()
  }

  async pause(to: Address): Promise<void> {
    this.host.paused(await this.setPaused(to, true))
  }

  async resume(to: Address): Promise<void> {
    await this.setPaused(to, false)
    this.host.madeDue()
  }

  async fork(to: Address, order: ForkOrder) {
    const view = await named(this.store.read.get(to.workspace, to.id))
    if (!view) throw runNotFound(to.id)
    const { uid: of, definition } = view
    const uid = this.host.newUid()
    const id = order.id ?? (uid as string as RunId)
    const plan = planFork(await this.journal(of), order, { of, uid, id })
    const answer = await this.refusals(id, this.store.fork(plan))
    if (answer.kind === 'gone') throw runNotFound(to.id)
    if (answer.kind === 'exists' && !answer.same) throw idTaken(id, answer.definition, definition)
    this.host.madeDue()
    return { id, definition }
  }

  private async newRun(request: StartRequest): Promise<NewRun> {
    await this.host.programs.ask(request.definition)
    const uid = this.host.newUid()
    const id = request.id ?? (uid as string as RunId)
    const { programs } = this.host
    const version = request.version ?? programs.versionOf(request.definition)
    const limits = programs.countedAt({ ...request, version })
    const { telemetry } = this.host.options.ports
    const trace = telemetry?.started({ ...request, id, version }) ?? null
    return { ...request, uid, id, version, order: null, parent: null, trace, limits }
  }

  /** Append only: what is read in parts is a beginning of it. */
  private async journal(uid: Uid): Promise<readonly Entry[]> {
    const entries: Entry[] = []
    for (let isMore = true; isMore; ) {
      const page = { after: entries.length, limit: JOURNAL_PAGE, newestFirst: false }
      const part = await named(this.store.read.history(uid, page))
      entries.push(...part)
      isMore = part.length === JOURNAL_PAGE
    }
    return entries
  }

  private async setPaused(to: Address, isPaused: boolean) {
    const answer = await named(this.store.setPaused(to, isPaused))
    if (answer.kind === 'done') return answer.uid
    throw answer.code === 'RUN_NOT_FOUND'
      ? runNotFound(to.id)
      : runFinished(to.id, answer.status ?? 'finished')
  }

  private startAlone(start: LoneStart, client: Client | null) {
    const within = client && this.within(client)
    return this.refusals(start.run.id, this.store.startAlone(start, within))
  }

  private async refusals<T>(id: RunId, answer: Promise<T>): Promise<T> {
    try {
      return await answer
    } catch (error) {
      if (error instanceof StoreRefused) throw valueRefused(id, error.sqlState)
      throw error instanceof StoreUnavailable ? outcomeUnknown(id) : error
    }
  }

  private newMessage({ name, payload, id }: FirstMessage): NewMessage {
    const messageId = id ?? (this.host.newUid() as string as MessageId)
    return { id: messageId, kind: 'signal', name, meta: null, payload }
  }

  private within(client: Client): Within {
    return { client, isOurs: this.open.has(client) }
  }
}

function bornAlone({ trace }: NewRun): EntryMeta {
  return trace ? { bornWith: 1, trace } : { bornWith: 1 }
}

// Callers from outside: they start, signal, cancel, retry and wait through any process that lives, repeat
// themselves, and remember what they were promised.

import { RETRY } from '../../src/authoring/machine/waiting.js'
import type { Kernel } from '../../src/kernel/api.js'
import type { Reply } from '../../src/kernel/store.js'
import { encode } from '../../src/model/codec.js'
import { PerdureError } from '../../src/model/errors.js'
import type { MessageId, RunId } from '../../src/model/ids.js'
import { isFinal } from '../../src/model/run.js'
import { openQuestions } from './fold.js'
import { graphOps } from './graphs.js'
import { CHILD_ENDED, machineOps } from './machines.js'
import { EVENTS, KEYS, makeOps, NAMES, type Op, POISON, type Taste } from './programs.js'
import type { World } from './world.js'

const WORKSPACE = 'default'
/** The input of a machine that an event creates. */
const NOTHING = encode(undefined, 'nothing')

/** Trying again what has failed at an error place could go on for ever, and the end of a child is its own to tell. */
const firstOf = (names: readonly string[]): readonly string[] =>
  names.filter((name) => name !== RETRY && name !== CHILD_ENDED).slice(0, 1)

/** In a crowd callers come together, so often. */
const BURST_MS = 300

export interface Started {
  readonly id: RunId
  readonly uid: string
  readonly input: string
}

const STYLES = ['flow', 'machine', 'graph'] as const
type Style = (typeof STYLES)[number]
const AS: Readonly<Record<Style, (ops: readonly Op[]) => readonly Op[]>> = {
  flow: (ops) => ops,
  machine: machineOps,
  graph: graphOps,
}

export class Clients {
  readonly started: Started[] = []
  readonly signalled: { readonly id: RunId; readonly messageId: MessageId }[] = []
  readonly cancelled: RunId[] = []
  readonly emitted: string[] = []
  readonly triggered: {
    readonly id: RunId
    readonly messageId: MessageId
    readonly fate: string
    readonly reply: Reply | null
  }[] = []
  /** Sent to event machines. */
  private readonly events: {
    readonly id: RunId
    readonly messageId: MessageId
    readonly payload: string
  }[] = []
  readonly results: { readonly id: RunId; readonly status: string; readonly attempt: number }[] = []
  /** The ids of all messages. */
  readonly sent = new Set<string>()
  /** Events under ids that only their senders know: nobody sends them again. */
  readonly unnamed = new Set<string>()
  readonly codes = new Map<string, number>()
  private readonly world: World
  private readonly taste: Taste
  private readonly ids: RunId[] = []
  private readonly inputs = new Map<RunId, string>()
  private readonly definitions = new Map<RunId, Style>()
  private messages = 0
  plans = 0

  constructor(world: World) {
    this.world = world
    const { poison, bombs } = world.options.faults
    const { scopes, others, reaches, waits } = world.options
    this.taste = { poison, bombs, scopes, others: others > 0, reaches, waits, named: 0 }
  }

  /** Spreads the work of this world over its chaos. */
  plan(): void {
    const { starts, signals, cancels, retries, closes, rests, chaosMs, crowdMs } =
      this.world.options
    const { rng } = this.world.scheduler
    const at = (most: number): number => {
      const ms = rng.int(chaosMs * most)
      return crowdMs === 0 ? ms : ms - (ms % BURST_MS)
    }
    for (let i = 0; i < starts; i += 1) this.planned(at(0.5), 'start', () => this.start(`r${i}`))
    for (let i = 0; i < starts / 2; i += 1) {
      this.planned(at(0.9), 'start again', () => this.start(`r${rng.int(starts)}`))
    }
    for (let i = 0; i < signals; i += 1) this.planned(at(1), 'signal', () => this.signal())
    for (let i = 0; i < this.world.options.others; i += 1) {
      this.planned(at(1), 'emit', () => this.emit())
      this.planned(at(1), 'trigger', () => this.trigger())
    }
    for (let i = 0; i < this.world.options.machines; i += 1) {
      this.planned(at(1), 'retry of a transition', () => this.retryTransition())
      this.planned(at(1), 'trigger', () => this.trigger())
      this.planned(at(1), 'send', () => this.sendEvent())
      this.planned(at(1), 'send', () => this.sendEvent())
    }
    for (let i = 0; i < cancels; i += 1) this.planned(at(1), 'cancel', () => this.cancel())
    for (let i = 0; i < retries; i += 1) this.planned(at(1), 'retry', () => this.retry())
    for (let i = 0; i < rests; i += 1) this.planned(at(1), 'pause', () => this.rest())
    for (let i = 0; i < this.world.options.races; i += 1) {
      this.planned(at(1), 'race', () => this.race())
    }
    for (let i = 0; i < closes; i += 1) {
      this.planned(at(1), 'close', () => {
        const { open } = this.world
        if (open.length > 0) this.world.close(rng.pick(open))
      })
    }
  }

  private planned(ms: number, label: string, run: () => void): void {
    this.plans += 1
    if (this.world.mayPlan(this.plans - 1)) this.at(ms, label, run)
  }

  private at(ms: number, label: string, run: () => void): void {
    this.world.scheduler.after(null, ms, `client: ${label}`, run)
  }

  private kernel(): Kernel | null {
    const { open, scheduler } = this.world
    return open.length === 0 ? null : scheduler.rng.pick(open).kernel
  }

  private start(name: string): void {
    const { rng } = this.world.scheduler
    const kernel = this.kernel()
    if (!kernel) return
    const id = name as RunId
    const known = this.inputs.get(id)
    const definition = this.definitionOf(id)
    const input = known && rng.chance(0.7) ? known : this.newInput(definition)
    const delayMs = rng.chance(0.15) ? 300 : 0
    const timeoutMs = rng.chance(0.15) ? rng.pick([100, 1_000]) : null
    const more = { version: null, tags: {}, priority: rng.pick([1, 5, 9]), delayMs, timeoutMs }
    if (!known) {
      this.inputs.set(id, input)
      this.ids.push(id)
    }
    const request = { id, workspace: WORKSPACE, definition, input, ...more }
    const message = this.firstMessage()
    const starting = message
      ? kernel.operations.start(request, message, null)
      : kernel.start(request)
    starting.then(
      ({ uid }) => {
        this.started.push({ id, uid, input })
        if (message) this.signalled.push({ id, messageId: message.id })
        if (rng.chance(0.6)) this.await(id)
      },
      (error: unknown) => this.refused(error),
    )
  }

  private firstMessage() {
    const { rng } = this.world.scheduler
    if (this.world.options.messages === 0 || !rng.chance(this.world.options.messages)) return null
    this.messages += 1
    const id = `m${this.messages}` as MessageId
    this.sent.add(id)
    return { name: rng.pick(NAMES), payload: JSON.stringify(`signal ${id}`), id }
  }

  /** Pauses a run, and resumes it through another process some time later. */
  private rest(): void {
    const { rng } = this.world.scheduler
    const id = this.target()
    const kernel = this.kernel()
    if (!id || !kernel) return
    const to = { workspace: WORKSPACE, id }
    kernel.operations.pause(to).then(
      () => {
        this.at(rng.int(1_500), 'resume', () => {
          this.kernel()
            ?.operations.resume(to)
            .catch((error: unknown) => this.refused(error))
        })
      },
      (error: unknown) => this.refused(error),
    )
  }

  /** In a world with machines a third of the programs are machines, and a third graphs. */
  private definitionOf(id: RunId): Style {
    const { options, scheduler } = this.world
    const known = this.definitions.get(id)
    if (known) return known
    const drawn = options.machines > 0 ? scheduler.rng.pick(STYLES) : 'flow'
    this.definitions.set(id, drawn)
    return drawn
  }

  private newInput(definition: Style): string {
    const { rng } = this.world.scheduler
    const made = makeOps(rng, this.world.options.depth, this.taste)
    const ops = JSON.stringify(AS[definition](made))
    return rng.chance(this.taste.poison) ? `${ops} ${POISON}` : ops
  }

  private await(id: RunId): void {
    const kernel = this.kernel()
    kernel?.result({ workspace: WORKSPACE, id }, null).then(
      ({ status }) => {
        const row = this.world.memory.find(WORKSPACE, id)
        if (!row) return
        const { attempt } = row
        this.results.push({ id, status, attempt })
        const ended = row.journal.some((entry) => entry.kind === `run.${status}`)
        if (!ended) this.world.scheduler.fail('invariant 13', `${id} was said to be ${status}`)
      },
      () => {},
    )
  }

  /** To a run that somebody started, or to one of its children. */
  private target(): RunId | null {
    const { rng } = this.world.scheduler
    const known = [...this.world.memory.runs.values()]
    if (known.length > 0 && rng.chance(0.5)) return rng.pick(known).run.id
    return this.ids.length === 0 ? null : rng.pick(this.ids)
  }

  private signal(): void {
    const { rng } = this.world.scheduler
    const id = this.target()
    const kernel = this.kernel()
    if (!id || !kernel) return
    const repeats = this.signalled.length > 0 && rng.chance(0.25)
    if (repeats) {
      const { id: to, messageId } = rng.pick(this.signalled)
      return this.send(kernel, to, rng.pick(NAMES), messageId)
    }
    this.messages += 1
    this.send(kernel, id, rng.pick(NAMES), `m${this.messages}` as MessageId)
  }

  private send(kernel: Kernel, id: RunId, name: string, messageId: MessageId): void {
    const { rng } = this.world.scheduler
    const poison = rng.chance(this.taste.poison) ? ` ${POISON}` : ''
    const payload = JSON.stringify(`signal ${messageId}${poison}`)
    this.sent.add(messageId)
    kernel.signal({ workspace: WORKSPACE, id }, name, payload, messageId).then(
      () => this.signalled.push({ id, messageId }),
      (error: unknown) => this.refused(error),
    )
  }

  private emit(): void {
    const { rng } = this.world.scheduler
    const kernel = this.kernel()
    if (!kernel) return
    this.messages += 1
    const id = `e${this.messages}`
    const event = { id, name: rng.pick(EVENTS), keys: [rng.pick(KEYS)], payload: `"${id}"` }
    kernel.operations.emit(WORKSPACE, event, null).then(
      () => this.emitted.push(id),
      (error: unknown) => this.refused(error),
    )
  }

  private trigger(): void {
    const { rng } = this.world.scheduler
    const id = this.target()
    const kernel = this.kernel()
    if (!id || !kernel) return
    this.messages += 1
    const messageId = `m${this.messages}` as MessageId
    const withinMs = rng.pick([0, 0, 100, 2_000])
    this.sent.add(messageId)
    const call = { name: rng.pick(NAMES), payload: `"${messageId}"`, id: messageId, withinMs }
    kernel.trigger({ workspace: WORKSPACE, id }, call).then(
      ({ fate, reply }) => this.triggered.push({ id, messageId, fate, reply }),
      (error: unknown) => this.refused(error),
    )
  }

  /** A person tries again what has failed, where the run has gone then. */
  private retryTransition(): void {
    const { memory, scheduler } = this.world
    const waiting = [...memory.runs.values()].filter(
      (row) =>
        !isFinal(row.status) &&
        openQuestions(row).waits.some(({ meta }) => meta?.names?.includes(RETRY)),
    )
    const kernel = this.kernel()
    if (!kernel || waiting.length === 0) return
    const { id } = scheduler.rng.pick(waiting).run
    this.messages += 1
    const messageId = `m${this.messages}` as MessageId
    this.sent.add(messageId)
    const call = { name: RETRY, payload: 'null', id: messageId, withinMs: 0 }
    kernel.trigger({ workspace: WORKSPACE, id }, call).then(
      ({ fate, reply }) => this.triggered.push({ id, messageId, fate, reply }),
      (error: unknown) => this.refused(error),
    )
  }

  /** As engine.send: to a machine that its first event creates. One that is not answered, or for fun, is sent again. */
  private sendEvent(): void {
    const { rng } = this.world.scheduler
    const id = `c${rng.int(2)}` as RunId
    const again = this.events.length > 0 && rng.chance(0.3)
    const known = again ? rng.pick(this.events) : null
    if (known && this.unnamed.has(known.messageId)) return
    if (known) return void this.sendTo(known.id, known.messageId, known.payload)
    for (let left = rng.pick([1, 1, 2, 6]); left > 0; left -= 1) {
      this.messages += 1
      const messageId = `m${this.messages}` as MessageId
      const event = { id: messageId, fails: rng.chance(0.2), ms: rng.pick([0, 0, 5, 60]) }
      const payload = JSON.stringify(event)
      this.events.push({ id, messageId, payload })
      void this.sendTo(id, messageId, payload)
    }
  }

  private async sendTo(id: RunId, messageId: MessageId, payload: string): Promise<void> {
    const to = { workspace: WORKSPACE, id }
    const number = Number(messageId.slice(1))
    const isNew = number % 4 < 2
    this.sent.add(messageId)
    if (isNew) this.unnamed.add(messageId)
    try {
      const name = number % 3 === 0 ? 'ADD' : 'TICK'
      const call = { name, payload, id: messageId, withinMs: 0, isNew }
      const start = { id, workspace: WORKSPACE, definition: 'counter', input: NOTHING }
      const more = { version: null, tags: {}, priority: 5, delayMs: 0, timeoutMs: null }
      const called = await this.kernel()
        ?.trigger(to, call)
        .catch(async (error: unknown) => {
          if (!PerdureError.is(error, 'RUN_NOT_FOUND')) throw error
          await this.kernel()?.start({ ...start, ...more })
          return this.kernel()?.trigger(to, { ...call, isNew: false })
        })
      if (called) this.triggered.push({ id, messageId, ...called })
    } catch (error) {
      this.refused(error)
    }
  }

  private cancel(): void {
    const id = this.target()
    if (id) this.cancelRun(id)
  }

  private cancelRun(id: RunId): void {
    const kernel = this.kernel()
    if (!kernel) return
    const row = this.world.memory.find(WORKSPACE, id)
    const wasFinal = row !== undefined && isFinal(row.status)
    kernel.cancel({ workspace: WORKSPACE, id }, 'from outside', null).then(
      () => !wasFinal && this.cancelled.push(id),
      (error: unknown) => this.refused(error),
    )
  }

  /** At the worst moment: a cancel while the run commits, a signal at the deadline of the wait for it. */
  private race(): void {
    const { memory, scheduler } = this.world
    const { rng } = scheduler
    const committing = this.world.processes.flatMap(({ store }) => [...store.committing.keys()])
    if (committing.length > 0 && rng.chance(this.world.options.waits > 0 ? 0.03 : 0.3)) {
      const row = memory.runs.get(rng.pick(committing))
      if (row) return this.cancelRun(row.run.id)
    }
    const waits = [...memory.runs.values()].flatMap((row) =>
      isFinal(row.status) ? [] : openQuestions(row).waits.map((wait) => ({ row, wait })),
    )
    const timed = waits.filter(({ wait }) => wait.meta?.dueAt !== undefined && wait.meta.names?.[0])
    if (timed.length === 0) return
    const { row, wait } = rng.pick(timed)
    const [name = 'x'] = wait.meta?.names ?? []
    const ms = (wait.meta?.dueAt ?? 0) - this.world.dbNow() + rng.between(-5, 3)
    this.messages += 1
    const messageId = `m${this.messages}` as MessageId
    this.at(Math.max(0, ms), 'signal at a deadline', () => {
      const kernel = this.kernel()
      if (kernel) this.send(kernel, row.run.id, name, messageId)
    })
  }

  private retry(): void {
    const { rng } = this.world.scheduler
    const failed = [...this.world.memory.runs.values()].filter((row) => row.status === 'failed')
    const kernel = this.kernel()
    if (!kernel || failed.length === 0) return
    const row = rng.pick(failed)
    const expected = rng.chance(0.5) ? row.attempt : null
    kernel.retry({ workspace: WORKSPACE, id: row.run.id }, expected).catch((error: unknown) => {
      this.refused(error)
    })
  }

  /** Answers everything that waits for the outside. */
  answerAll(): void {
    const kernel = this.kernel()
    if (!kernel) return
    for (const row of this.world.memory.runs.values()) {
      if (isFinal(row.status)) continue
      if (row.stop === 'pause') {
        const to = { workspace: WORKSPACE, id: row.run.id }
        kernel.operations.resume(to).catch((error: unknown) => this.refused(error))
      }
      if (row.inbox - row.taken >= this.world.options.mailboxMax) {
        const to = { workspace: WORKSPACE, id: row.run.id }
        kernel.cancel(to, 'its mailbox is full', null).catch((e: unknown) => this.refused(e))
        continue
      }
      const wanted = new Set(
        openQuestions(row).waits.flatMap((wait) => firstOf(wait.meta?.names ?? [])),
      )
      for (const name of wanted) {
        this.messages += 1
        const messageId = `m${this.messages}` as MessageId
        const isEvent = row.run.definition === 'counter'
        const payload = isEvent ? '{}' : JSON.stringify(`signal ${messageId}`)
        this.sent.add(messageId)
        const to = { workspace: WORKSPACE, id: row.run.id }
        kernel.signal(to, name, payload, messageId).then(
          () => this.signalled.push({ id: row.run.id, messageId }),
          (error: unknown) => this.refused(error),
        )
      }
    }
  }

  private refused(error: unknown): void {
    const code = error instanceof PerdureError ? error.code : null
    if (code === null && !(error instanceof Error && error.name === 'StoreUnavailable')) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
      return this.world.scheduler.fail('a caller', `got an error without a code: ${text}`)
    }
    const key = code ?? 'StoreUnavailable'
    this.codes.set(key, (this.codes.get(key) ?? 0) + 1)
  }
}

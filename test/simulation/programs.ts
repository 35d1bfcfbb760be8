// Random programs. A run's input is its program: a list of operations that its body interprets through the seam.
// The output tells everything that the body has heard, in order, so that a replay that differs is seen.

import { type RunId, shownName, type Uid } from '../../src/model/ids.js'
import {
  type Attempt,
  type ChildOrder,
  Failure,
  type Heard,
  type Program,
  type StepOrder,
  type Turn,
} from '../../src/model/program.js'
import type { RetryPolicy } from '../../src/model/run.js'
import { Rng } from './scheduler.js'

export interface StepSpec {
  readonly name: string
  /** The first so many attempts fail. */
  readonly fails: number
  readonly retries: number
  readonly delayMs: number
  readonly backoff: 'fixed' | 'exponential'
  readonly ms: number
  readonly transaction: boolean
  /** Kills the process that executes it. */
  readonly bomb: boolean
  /** Its value is one that the database refuses. */
  readonly poison: boolean
  readonly obedient: boolean
  readonly timeoutMs: number | null
  /** It can be undone: so long that takes, and the first so many attempts fail. */
  readonly undo?: { readonly ms: number; readonly fails: number }
}

export type Op =
  | { readonly op: 'step'; readonly step: StepSpec }
  | { readonly op: 'sleep'; readonly name: string; readonly ms: number }
  | {
      readonly op: 'wait'
      readonly name: string
      readonly names: readonly string[]
      readonly ms: number | null
    }
  | {
      readonly op: 'child'
      readonly name: string
      readonly definition: 'flow' | 'task' | 'machine' | 'graph'
      readonly input: string
      readonly retries: number
      readonly poison: boolean
      readonly undo?: StepSpec['undo']
    }
  | { readonly op: 'all' | 'race'; readonly branches: readonly (readonly Op[])[] }
  | {
      readonly op: 'scope'
      readonly name: string
      readonly ms: number | null
      readonly ops: readonly Op[]
    }
  | { readonly op: 'first'; readonly name: string; readonly branches: readonly (readonly Op[])[] }
  | {
      readonly op: 'loop'
      readonly name: string
      readonly rounds: number
      readonly ops: readonly Op[]
    }
  | { readonly op: 'try'; readonly ops: readonly Op[] }
  | { readonly op: 'record' | 'mark'; readonly name: string }
  | { readonly op: 'stop' | 'throw' }
  /** Waits for an event, or (`of`) for the end of a run. */
  | {
      readonly op: 'hear'
      readonly name: string
      readonly heard: Heard
      readonly ms: number
    }
  | { readonly op: 'emit'; readonly event: string; readonly isAwaited: boolean }
  /** A step that does something to another run; `isChild`: one that it starts is its child. */
  | {
      readonly op: 'reach'
      readonly what: 'start' | 'signal' | 'cancel'
      readonly id: string
      readonly isChild: boolean
    }

export const POISON = 'POISON'
export const NAMES = ['x', 'y', 'z']
/** Waits of these names also end when the run is told to stop. */
const OBEDIENT = ['e', 'f']

// ── making one ──────────────────────────────────────────────────────────────────────────────────────────────

export interface Taste {
  readonly poison: number
  /** How many steps may still be bombs. */
  bombs: number
  /** Scopes, races, loops and undo. */
  readonly scopes: boolean
  /** Events and other runs. */
  readonly others: boolean
  /** Steps that start, signal and cancel other runs. */
  readonly reaches: boolean
  readonly waits: number
  /** Children that have an id of their own. */
  named: number
}

/** A program of waits has so many. */
const WAITS = 10
const NO_TASTE: Taste = {
  poison: 0,
  bombs: 0,
  scopes: false,
  others: false,
  reaches: false,
  waits: 0,
  named: 0,
}

export function makeOps(rng: Rng, depth: number, taste: Taste): readonly Op[] {
  const ops: Op[] = []
  const length = taste.waits > 0 ? WAITS : rng.between(1, depth > 1 ? 4 : 3)
  for (let i = 0; i < length; i += 1) ops.push(makeOp(rng, depth, taste))
  return ops
}

export const EVENTS = ['E1', 'E2']
export const KEYS = ['k=1', 'k=2']

function makeOther(rng: Rng): Op {
  if (rng.chance(0.4)) {
    return { op: 'emit', event: rng.pick(EVENTS), isAwaited: rng.chance(0.5) }
  }
  const ms = rng.pick([50, 400, 1_500, 3_000])
  if (rng.chance(0.3)) {
    const run = `r${rng.int(4)}` as RunId
    return { op: 'hear', name: `result of ${run}`, heard: { run }, ms }
  }
  const event = rng.pick(EVENTS)
  const match = rng.chance(0.5) ? [rng.pick(KEYS)] : []
  return { op: 'hear', name: `event:${event}`, heard: { event, match }, ms }
}

function makeReach(rng: Rng, taste: Taste): Op {
  const what = rng.pick(['start', 'start', 'signal', 'cancel'] as const)
  const isChild = what === 'start' && rng.chance(0.6)
  if (isChild) taste.named += 1
  // A run starts each child once; others are found again.
  const id = isChild ? `n${9 + taste.named}` : `${rng.chance(0.6) ? 'n' : 'r'}${rng.int(4)}`
  return { op: 'reach', what, id: what === 'start' ? id.replace('r', 'n') : id, isChild }
}

/** What a run does that a step starts under this id: the same whoever starts it. */
function inputOf(id: string): string {
  const step = makeStep(new Rng(id.charCodeAt(1)), 'a', { ...NO_TASTE })
  const ops: readonly Op[] = [
    { op: 'step', step },
    { op: 'wait', name: 'b', names: ['x'], ms: 400 },
  ]
  return JSON.stringify(ops)
}

function makeOp(rng: Rng, depth: number, taste: Taste): Op {
  if (taste.reaches && rng.chance(0.15)) return makeReach(rng, taste)
  if (taste.others && rng.chance(0.2)) return makeOther(rng)
  const name = rng.pick(['a', 'b', 'c', 'd', 'e', 'f'])
  if (rng.chance(taste.waits))
    return { op: 'wait', name: 'a', names: ['x'], ms: rng.pick([50, 200]) }
  const roll = rng.int(100)
  if (roll < 36) return { op: 'step', step: makeStep(rng, name, taste) }
  if (roll < 44) return { op: 'sleep', name, ms: rng.pick([0, 1, 20, 100, 700]) }
  if (roll < 56) {
    const names = rng.chance(0.3) ? ['x', 'y'] : [rng.pick(NAMES)]
    return { op: 'wait', name, names, ms: rng.pick([null, 50, 400, 1_500]) }
  }
  if (roll < 60) return { op: rng.pick(['record', 'mark'] as const), name }
  if (roll < 61) return { op: 'stop' }
  if (roll < 63) return { op: 'throw' }
  if (depth <= 1) return { op: 'step', step: makeStep(rng, name, taste) }
  if (taste.scopes && rng.chance(0.4)) return makeScoped(rng, depth, taste)
  if (roll < 72) return { op: 'try', ops: makeOps(rng, depth - 1, taste) }
  if (roll < 84) return makeChild(rng, name, depth, taste)
  const branches: (readonly Op[])[] = []
  const width = rng.between(2, 3)
  for (let i = 0; i < width; i += 1) branches.push(makeOps(rng, depth - 1, taste))
  return { op: rng.chance(0.6) ? 'all' : 'race', branches }
}

function makeScoped(rng: Rng, depth: number, taste: Taste): Op {
  const name = rng.pick(['s', 't'])
  const inside = (): readonly Op[] => makeOps(rng, depth - 1, taste)
  const roll = rng.int(10)
  if (roll < 4) {
    const scope: Op = { op: 'scope', name, ms: rng.pick([null, null, 30, 400]), ops: inside() }
    return rng.chance(0.6) ? { op: 'try', ops: [scope] } : scope
  }
  if (roll < 7) return { op: 'first', name: `${name}-race`, branches: [inside(), inside()] }
  // A round that starts a child under an id would start it again in the next one.
  const ops = taste.reaches ? makeOps(rng, depth - 1, { ...taste, reaches: false }) : inside()
  return { op: 'loop', name: `${name}-loop`, rounds: rng.between(1, 3), ops }
}

function makeChild(rng: Rng, name: string, depth: number, taste: Taste): Op {
  const definition = rng.chance(0.4) ? 'task' : 'flow'
  const retries = rng.pick([0, 0, 1, 2])
  const poison = rng.chance(taste.poison * 0.3)
  const input =
    definition === 'task'
      ? JSON.stringify(makeStep(rng, 'run', taste))
      : JSON.stringify(makeOps(rng, depth - 1, taste))
  // Without a roll of its own: every other world stays what it was.
  const undo = taste.scopes && input.length % 2 === 0 ? { undo: { ms: 5, fails: 0 } } : {}
  return { op: 'child', name, definition, input, retries, poison, ...undo }
}

function makeStep(rng: Rng, name: string, taste: Taste): StepSpec {
  const bomb = taste.bombs > 0 && rng.chance(0.3)
  if (bomb) taste.bombs -= 1
  const fails = rng.pick([0, 0, 0, 1, 2, 3])
  return {
    name,
    fails,
    retries: rng.chance(0.75) ? fails : rng.int(3),
    delayMs: rng.pick([0, 5, 40, 300]),
    backoff: rng.chance(0.5) ? 'fixed' : 'exponential',
    ms: rng.pick([0, 0, 5, 60, 350]),
    transaction: rng.chance(0.3),
    bomb,
    poison: rng.chance(taste.poison),
    obedient: rng.chance(0.6),
    timeoutMs: rng.chance(0.1) ? rng.pick([30, 200]) : null,
    ...(taste.scopes && rng.chance(0.5)
      ? { undo: { ms: rng.pick([0, 5, 60]), fails: rng.pick([0, 0, 0, 1, 2]) } }
      : {}),
  }
}

// ── carrying one out ────────────────────────────────────────────────────────────────────────────────────────

/** What a body has been told. */
export interface Told {
  readonly name: string
  readonly occurrence: number
  readonly text: string | null
}

export interface Dispatch {
  readonly uid: string
  readonly name: string
  readonly occurrence: number
  readonly attempt: number
  readonly idempotencyKey: string
  readonly transaction: boolean
  readonly retry: RetryPolicy
  /** What the body had been told when it asked. */
  readonly told: readonly Told[]
  /** Of a transition: what it was given. */
  readonly machine?: {
    readonly state: string
    readonly place: string
    /** null: it has no fields. */
    readonly tries: number | null
  }
}

/** What user code can do in the process that it runs in. */
export interface Stage {
  /** Gives back what is to be called when it is over. */
  dispatched(dispatch: Dispatch, signal: AbortSignal): () => void
  /** Takes so long; rejects when `signal` aborts. */
  work(ms: number, signal: AbortSignal | null): Promise<void>
  explode(): Promise<never>
  /** It has had its effect, whoever hears of that. */
  did(what: Dispatch): void
  /** Never the same twice. */
  fresh(): number
}

export const policyOf = (step: {
  retries: number
  delayMs: number
  backoff: 'fixed' | 'exponential'
}): RetryPolicy => ({
  attempts: step.retries,
  delayMs: step.delayMs,
  backoff: step.backoff,
  maxDelayMs: 500,
  jitter: false,
  stopOn: [],
})

export function flowProgram(stage: Stage): Program {
  return {
    name: 'flow',
    version: '1',
    style: 'function',
    body: async (turn) => {
      const body = new Body(stage, turn)
      const results = await body.series(JSON.parse(turn.run.input) as readonly Op[])
      return JSON.stringify({ results, told: body.told, now: body.times })
    },
  }
}

export function taskProgram(stage: Stage): Program {
  return {
    name: 'task',
    version: '1',
    style: 'task',
    body: async (turn) => {
      const spec = JSON.parse(turn.run.input) as StepSpec
      const told = new Body(stage, turn).step(spec, turn.run.order?.retry ?? policyOf(spec))
      return (await told) ?? ''
    },
  }
}

class Body {
  readonly told: Told[]
  readonly times: number[]
  private readonly stage: Stage
  private readonly turn: Turn
  private readonly counts: Map<string, number>

  constructor(stage: Stage, turn: Turn, around?: Around) {
    this.stage = stage
    this.turn = turn
    this.told = around?.told ?? []
    this.times = around?.times ?? []
    this.counts = around?.counts ?? new Map()
  }

  private inside(turn: Turn): Body {
    const { told, times, counts } = this
    return new Body(this.stage, turn, { told, times, counts })
  }

  /** A replay begins with the current round: what the ones before have heard is not heard again. */
  private insideRound(turn: Turn): Body {
    const { told, counts } = this
    return new Body(this.stage, turn, { told: told.slice(), times: [], counts })
  }

  async series(ops: readonly Op[]): Promise<unknown[]> {
    const results: unknown[] = []
    for (const op of ops) {
      results.push(await this.one(op))
      this.times.push(this.turn.now())
    }
    return results
  }

  private one(op: Op): Promise<unknown> {
    const { turn } = this
    switch (op.op) {
      case 'step':
        return this.step(op.step, policyOf(op.step))
      case 'sleep':
        return this.hear(
          op.name,
          turn.sleep(op.name, { afterMs: op.ms }).then(() => null),
        )
      case 'wait': {
        const until = op.ms === null ? null : { afterMs: op.ms }
        const got = turn.receive(op.name, { names: op.names, until })
        const heard = this.hear(
          op.name,
          got.then((message) => message?.payload || null),
        )
        return OBEDIENT.includes(op.name) ? Promise.race([heard, this.stopped()]) : heard
      }
      case 'hear': {
        const wish = { names: [], until: { afterMs: op.ms }, heard: op.heard }
        const got = turn.receive(op.name, wish)
        return this.hear(
          op.name,
          got.then((message) => message?.payload || null),
        )
      }
      case 'emit':
        return this.emit(op)
      case 'reach':
        return this.reach(op)
      case 'child':
        return this.child(op)
      case 'all':
        return Promise.all(op.branches.map((branch) => this.series(branch)))
      case 'race':
        return Promise.race(op.branches.map((branch) => this.series(branch)))
      case 'scope': {
        const until = op.ms === null ? null : { afterMs: op.ms }
        const scoped = turn.scope(op.name, { until }, async (inner) =>
          JSON.stringify(await this.inside(inner).series(op.ops)),
        )
        return this.hear(op.name, scoped)
      }
      case 'first':
        return this.first(op)
      case 'loop':
        return this.loop(op)
      case 'try':
        return this.series(op.ops).catch((error: unknown) => `caught ${textOf(error)}`)
      case 'record': {
        const value = JSON.stringify(`record ${this.stage.fresh()}`)
        return this.hear(op.name, turn.record(op.name, { value }))
      }
      case 'mark':
        return Promise.resolve(turn.mark(`mark-${op.name}`))
      case 'stop':
        return turn.stop('by itself')
      case 'throw':
        return Promise.reject(plain('thrown by the body'))
    }
  }

  private async first(op: Op & { op: 'first' }): Promise<string | null> {
    const branches = op.branches.map((ops, i) => {
      const key = `b${i}`
      const body = async (inner: Turn): Promise<string> =>
        JSON.stringify({ winner: key, results: await this.inside(inner).series(ops) })
      return [key, body] as const
    })
    const raced = this.turn.race(op.name, new Map(branches))
    return this.hear(
      op.name,
      raced.then(({ value }) => value),
    )
  }

  private async loop(op: Op & { op: 'loop' }): Promise<string> {
    const full = this.turn.path + op.name
    const occurrence = this.count(op.name)
    const key = shownName(full, occurrence)
    const left = (state: string): Told => {
      const { round } = JSON.parse(state) as { readonly round: number }
      return { name: `${key}@${round}`, occurrence: 1, text: state }
    }
    try {
      const last = await this.turn.loop(op.name, '{"round":0}', async (inner, state) => {
        const body = this.insideRound(inner)
        const round = (JSON.parse(state) as { readonly round: number }).round + 1
        // The round before has left this: the journal must say so when a step of this one starts.
        if (round > 1) body.told.push(left(state))
        const results = await body.series(op.ops)
        return { done: round === op.rounds, value: JSON.stringify({ round, results }) }
      })
      this.told.push(left(last))
      return last
    } catch (error) {
      const text = error instanceof Failure ? error.error : null
      this.told.push({ name: full, occurrence, text })
      throw error
    }
  }

  /** A body that obeys when it is told to stop. What it says then has no effect. */
  private stopped(): Promise<never> {
    const { turn } = this
    return new Promise((_, reject) => {
      turn.stopping.addEventListener('abort', () => {
        turn.mark('told to stop')
        reject(plain('told to stop'))
      })
    })
  }

  /** What is not awaited may be the last thing that is said. */
  private emit({ event, isAwaited }: Op & { op: 'emit' }): Promise<unknown> {
    const name = `emit:${event}`
    const n = this.stage.fresh()
    const payload = JSON.stringify(`event ${n}`)
    const events = [{ name: event, keys: [`k=${n % 3}`], payload }]
    const heard = this.hear(name, this.turn.record(name, { value: payload, events }))
    if (isAwaited) return heard
    heard.catch(() => {})
    return Promise.resolve(null)
  }

  private child(op: Op & { op: 'child' }): Promise<string | null> {
    const retry = policyOf({ retries: op.retries, delayMs: 20, backoff: 'fixed' })
    const order: ChildOrder = {
      definition: op.definition,
      version: null,
      input: op.poison ? `${op.input} ${POISON}` : op.input,
      order: null,
      isTask: op.definition === 'task',
      retry,
      timeoutMs: null,
      ...(op.undo ? { undo: (_, attempt) => this.undo(op, retry, attempt) } : {}),
    }
    return this.hear(op.name, this.turn.child(op.name, order))
  }

  /** As wf.start under an id, and the calls of a handle. */
  private async reach(op: Op & { op: 'reach' }): Promise<string | null> {
    const { uid, id } = this.turn.run
    const name = `${op.what} ${op.id}`
    const to = { workspace: 'default', id: op.id as RunId }
    const child = { definition: 'flow', version: null, input: inputOf(op.id), timeoutMs: null }
    const call = async ({ outside, idempotencyKey: key }: Attempt): Promise<string> => {
      if (op.what === 'signal') await outside.signal(to, 'x', JSON.stringify(key), key)
      if (op.what === 'cancel') await outside.cancel(to, 'by another run', key)
      if (op.what !== 'start') return JSON.stringify({ key })
      const parent = op.isChild ? { uid, id, startedBy: key } : null
      const started = await outside.start({ ...to, ...child, tags: {}, parent })
      return JSON.stringify({ uid: started.uid, isOurs: started.isOurs })
    }
    const none = policyOf({ retries: 0, delayMs: 0, backoff: 'fixed' })
    const value = await this.hear(name, this.outsideStep(name, op.what, none, call))
    const { isOurs, uid: adopts } = JSON.parse(value ?? '{}') as { isOurs?: boolean; uid?: Uid }
    if (!isOurs || !adopts) return value
    const order = { ...child, order: null, isTask: false, retry: none, adopts }
    return this.hear(`${name} ended`, this.turn.child(`${name} ended`, order))
  }

  private outsideStep(
    name: string,
    label: string,
    retry: RetryPolicy,
    call: (attempt: Attempt) => Promise<string>,
  ): Promise<string> {
    const told = this.told.slice()
    const full = this.turn.path + name
    const occurrence = (this.counts.get(full) ?? 0) + 1
    const execute = async (attempt: Attempt) => {
      const { number, idempotencyKey } = attempt
      const names = { uid: this.turn.run.uid, name: full, occurrence, idempotencyKey }
      const what = { ...names, attempt: number, transaction: false, retry, told }
      const isOver = this.stage.dispatched(what, attempt.signal)
      const refused = (error: unknown) => Promise.reject(plain(textOf(error)))
      return { value: await call(attempt).catch(refused).finally(isOver) }
    }
    return this.turn.step(name, { label, retry, timeoutMs: null, execute })
  }

  step(spec: StepSpec, retry: RetryPolicy): Promise<string | null> {
    const told = this.told.slice()
    const name = this.turn.path + spec.name
    const occurrence = (this.counts.get(name) ?? 0) + 1
    const order: StepOrder = {
      label: spec.transaction ? 'transaction' : 'inline',
      retry,
      timeoutMs: spec.timeoutMs,
      execute: async (attempt) => {
        const { number, idempotencyKey } = attempt
        const { uid } = this.turn.run
        const { transaction } = spec
        const names = { uid, name, occurrence, idempotencyKey }
        const what = { ...names, attempt: number, transaction, retry, told }
        const isOver = this.stage.dispatched(what, attempt.signal)
        const effect = await this.execute(spec, attempt).finally(isOver)
        // A transaction has it when it is stored; what is past its time is not waited for.
        if (spec.undo && !transaction && spec.timeoutMs === null) this.stage.did(what)
        return effect
      },
      ...(spec.undo ? { undo: (_, attempt) => this.undo(spec, retry, attempt) } : {}),
    }
    return this.hear(spec.name, this.turn.step(spec.name, order))
  }

  private async undo(
    spec: { readonly undo?: StepSpec['undo'] },
    retry: RetryPolicy,
    attempt: Attempt,
  ) {
    const { number, idempotencyKey } = attempt
    const { uid } = this.turn.run
    const [, occurrence = '', ...rest] = idempotencyKey.split('/')
    const names = { uid, name: rest.join('/'), occurrence: Number(occurrence), idempotencyKey }
    const what = { ...names, attempt: number, transaction: false, retry, told: [] }
    const isOver = this.stage.dispatched(what, attempt.signal)
    await this.stage.work(spec.undo?.ms ?? 0, null).finally(isOver)
    if (number <= (spec.undo?.fails ?? 0)) throw plain(`cannot undo ${idempotencyKey}`)
    return { value: '' }
  }

  private async execute(spec: StepSpec, attempt: Attempt): Promise<{ readonly value: string }> {
    const { stage } = this
    const id = `${attempt.idempotencyKey} ${stage.fresh()}`
    const signal = spec.obedient ? attempt.signal : null
    if (spec.bomb) await stage.explode()
    if (spec.transaction) {
      await attempt.transaction(5_000, async (sql) => {
        await sql.query('insert', [attempt.idempotencyKey])
        await stage.work(spec.ms, signal)
        if (attempt.number <= spec.fails) throw plain(`fails ${id}`)
      })
    } else {
      await stage.work(spec.ms, signal)
      if (attempt.number <= spec.fails) throw plain(`fails ${id}`)
    }
    return { value: JSON.stringify(spec.poison ? `${id} ${POISON}` : id) }
  }

  private count(name: string): number {
    const full = this.turn.path + name
    const occurrence = (this.counts.get(full) ?? 0) + 1
    this.counts.set(full, occurrence)
    return occurrence
  }

  private async hear(name: string, asked: Promise<string | null>): Promise<string | null> {
    const occurrence = this.count(name)
    const full = this.turn.path + name
    try {
      const text = await asked
      this.told.push({ name: full, occurrence, text })
      return text
    } catch (error) {
      this.told.push({
        name: full,
        occurrence,
        text: error instanceof Failure ? error.error : null,
      })
      throw error
    }
  }
}

/** What a body shares with the one around it. */
interface Around {
  readonly told: Told[]
  readonly times: number[]
  readonly counts: Map<string, number>
}

/** Without a stack, which tells of more than the program. */
export function plain(message: string): Error {
  const error = new Error(message)
  error.stack = message
  return error
}

function textOf(error: unknown): string {
  if (error instanceof Failure) return error.error
  return error instanceof Error ? error.message : String(error)
}

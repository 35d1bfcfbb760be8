// The random programs as machines: each operation is a place and the transitions that leave it. The same program is a
// function, too (programs.ts), and both must have the same effects.

import { madeOf, type Surroundings } from '../../src/authoring/definition.js'
import type {
  Call,
  Machine,
  Moved,
  Place,
  Transition,
} from '../../src/authoring/machine/description.js'
import { machine } from '../../src/authoring/machine/machine.js'
import { machineProgram } from '../../src/authoring/machine/program.js'
import type { MachineMade } from '../../src/authoring/machine/scene.js'
import { typed } from '../../src/authoring/schema.js'
import type { Program } from '../../src/model/program.js'
import { NO_RETRY } from '../../src/model/retry.js'
import { type Op, POISON, plain, policyOf, type Stage, type StepSpec } from './programs.js'

/** What a machine has recorded of itself: one line for each transition that has succeeded. */
export interface MachineState {
  readonly log: readonly string[]
}

/** `this` of a transition. */
class Self {
  /** Attempts that have an outcome, failed ones too. */
  tries = 0
}

const END = 'end'
/** Hears of a child. */
export const CHILD_ENDED = 'ended'
const silent = (): void => {}
export const AROUND: Surroundings = {
  log: { debug: silent, info: silent, warn: silent, error: silent },
  valueBytesMax: 1_000_000,
  throwRecorded: (error) => {
    throw error
  },
  tx: (client) => client,
  isStateless: false,
  transitionTimeoutMs: null,
  events: null,
  nodeTypes: new Map(),
  http: () => Promise.reject(new Error('nobody is called here')),
  find: () => undefined,
}

// ── what a machine can do of a program ──────────────────────────────────────────────────────────────────────

/** Without what only functions have. What is left means the same as a function and as a machine. */
export function machineOps(ops: readonly Op[]): readonly Op[] {
  return ops.flatMap((op): readonly Op[] => {
    switch (op.op) {
      case 'step': {
        const { undo: _, ...step } = op.step
        return [{ op: 'step', step }]
      }
      case 'child':
        return [childOf(op)]
      case 'all':
        return [{ op: 'all', branches: op.branches.map(machineOps) }]
      case 'try':
        // Behind what may fail a person has time to try it again.
        return [
          { op: 'try', ops: machineOps(op.ops) },
          { op: 'wait', name: 'a', names: ['x'], ms: 1_500 },
        ]
      case 'race':
      case 'first':
        return [{ op: 'try', ops: machineOps(op.branches[0] ?? []) }]
      case 'scope':
        return machineOps(op.ops)
      case 'loop':
        return Array.from({ length: op.rounds }, () => machineOps(op.ops)).flat()
      case 'stop':
      case 'hear':
      case 'reach':
        return []
      default:
        return [op]
    }
  })
}

function childOf({ undo: _, ...op }: Op & { op: 'child' }): Op {
  if (op.definition === 'task') {
    const { undo: __, ...step } = JSON.parse(op.input) as StepSpec
    return { ...op, retries: 0, input: JSON.stringify(step) }
  }
  const input = JSON.stringify(machineOps(JSON.parse(op.input) as readonly Op[]))
  const definition = op.name < 'd' ? 'machine' : 'flow'
  return { ...op, definition, retries: 0, input }
}

/** The same program, all of it as functions. */
export function functionOps(ops: readonly Op[]): readonly Op[] {
  return ops.map((op): Op => {
    if (op.op === 'try') return { ...op, ops: functionOps(op.ops) }
    if (op.op === 'all') return { ...op, branches: op.branches.map(functionOps) }
    if (op.op !== 'child' || op.definition === 'task') return op
    const input = JSON.stringify(functionOps(JSON.parse(op.input) as readonly Op[]))
    return { ...op, definition: 'flow', input }
  })
}

// ── the program as a machine ────────────────────────────────────────────────────────────────────────────────

export function opsProgram(stage: Stage): Program {
  return {
    name: 'machine',
    version: '1',
    style: 'machine',
    // What a run of it is made of is its input.
    body: async (turn) => {
      const described = machineOf(JSON.parse(turn.run.input) as readonly Op[], stage)
      return machineProgram(madeFrom('machine', described), AROUND).body(turn)
    },
  }
}

const madeFrom = (name: string, described: Machine): MachineMade => ({
  ...{
    name,
    version: '1',
    description: null,
    input: null,
    signals: {},
    limits: null,
    state: null,
    stream: null,
  },
  ...{ timeoutMs: null, triggers: [], kind: 'machine', machine: described, source: '' },
})

export function machineOf(ops: readonly Op[], stage: Stage): Machine {
  const builder = new Builder(stage)
  const last = builder.series(ops, builder.place(), null)
  builder.leave(last, {
    automatic: [builder.transition('finish', END, null, NO_RETRY, async () => {})],
  })
  builder.places.set(END, { ...EMPTY, name: END, isFinal: true })
  return {
    initial: 'p1',
    places: builder.places,
    state: null,
    output: null,
    begin: (): MachineState => ({ log: [] }),
    self: () => new Self(),
    end: (_, state) => state,
    takesEvents: false,
  }
}

type Code = (call: Call, mark: (text: string) => void) => Promise<void>
type Exits = Partial<Pick<Place, 'automatic' | 'waiting' | 'late'>>
const EMPTY = { isFinal: false, automatic: [], waiting: new Map<string, Transition>(), late: [] }

class Builder {
  readonly places = new Map<string, Place>()
  private readonly stage: Stage
  private count = 0

  constructor(stage: Stage) {
    this.stage = stage
  }

  place(): string {
    this.count += 1
    return `p${this.count}`
  }

  leave(name: string, exits: Exits): void {
    this.places.set(name, { ...EMPTY, name, ...exits })
  }

  /** Gives back where the run is behind them. */
  series(ops: readonly Op[], from: string, onError: string | null): string {
    let at = from
    for (const op of ops) {
      const to = this.place()
      this.one(op, at, to, onError)
      at = to
    }
    return at
  }

  private one(op: Op, at: string, to: string, onError: string | null): void {
    const does = (name: string, code: Code): Transition =>
      this.transition(name, to, onError, NO_RETRY, code)
    const atOnce = (name: string, code: Code): void =>
      this.leave(at, { automatic: [does(name, code)] })
    const nothing: Code = async () => {}
    switch (op.op) {
      case 'step':
        return this.leave(at, { automatic: [this.step(op.step, to, onError)] })
      case 'sleep':
        return this.leave(at, { late: [{ afterMs: op.ms, transition: does('slept', nothing) }] })
      case 'wait': {
        const waiting = new Map(op.names.map((name) => [name, does(name, nothing)]))
        const late = op.ms === null ? [] : [{ afterMs: op.ms, transition: does('late', nothing) }]
        return this.leave(at, { waiting, late })
      }
      case 'child':
        return this.childAt(op, at, to, onError)
      case 'all':
        return this.allAt(op.branches, at, to, onError)
      case 'try': {
        const last = this.series(op.ops, at, to)
        return this.leave(last, {
          automatic: [this.transition('tried', to, to, NO_RETRY, nothing)],
        })
      }
      case 'record':
        return atOnce('record', async ({ context }) => {
          await context.documents.save('record', { n: this.stage.fresh() }, { key: 'record' })
        })
      case 'mark': {
        // A guard that says no, at once or after a while, before one that is not asked.
        const guard = op.name < 'd' ? () => false : async () => false
        const never = { ...does('never', nothing), guard }
        return this.leave(at, { automatic: [never, does('mark', nothing)] })
      }
      case 'throw':
        return atOnce('throw', () => Promise.reject(plain('thrown by the machine')))
      case 'emit':
        return atOnce(`emit:${op.event}`, async ({ context }) => {
          context.emit(op.event, { n: this.stage.fresh() })
        })
      default:
        return atOnce('mark', nothing)
    }
  }

  private childAt(op: Op & { op: 'child' }, at: string, to: string, onError: string | null): void {
    const input: unknown = op.poison ? `${op.input} ${POISON}` : JSON.parse(op.input)
    const begin: Code = async ({ context }) => {
      await context.start(
        op.definition as never,
        input as never,
        { callback: CHILD_ENDED } as never,
      )
    }
    this.heardOf(begin, at, to, onError)
  }

  private allAt(
    branches: readonly (readonly Op[])[],
    at: string,
    to: string,
    onError: string | null,
  ): void {
    const begin: Code = async ({ context }) => {
      const children = branches.map((ops) => ['machine', ops])
      await context.all(children as never, { callback: CHILD_ENDED } as never)
    }
    this.heardOf(begin, at, to, onError)
  }

  private heardOf(begin: Code, at: string, to: string, onError: string | null): void {
    const waits = this.place()
    this.leave(at, { automatic: [this.transition('begin', waits, onError, NO_RETRY, begin)] })
    const ended = this.transition(CHILD_ENDED, to, onError, NO_RETRY, async ({ payload }) => {
      const { status } = payload as { readonly status: string }
      if (status !== 'completed') throw plain(`the child is ${status}`)
    })
    this.leave(waits, { waiting: new Map([[CHILD_ENDED, ended]]) })
  }

  private step(spec: StepSpec, to: string, onError: string | null): Transition {
    const { stage } = this
    const code: Code = async ({ context }, mark) => {
      const signal = spec.obedient ? context.signal : null
      const id = `${context.key} ${stage.fresh()}`
      if (spec.bomb) await stage.explode()
      const work = async (): Promise<void> => {
        await stage.work(spec.ms, signal)
        if (context.attempt <= spec.fails) throw plain(`fails ${id}`)
      }
      if (spec.transaction) {
        await context.transaction(async (tx) => {
          await tx.query('insert', [context.key])
          await work()
        })
      } else await work()
      if (spec.poison) mark(`${id} ${POISON}`)
    }
    const made = this.transition(spec.name, to, onError, policyOf(spec), code, spec.transaction)
    return { ...made, timeoutMs: spec.timeoutMs }
  }

  transition(
    name: string,
    to: string,
    errorPlace: string | null,
    retry: Transition['retry'],
    code: Code,
    transaction = false,
  ): Transition {
    const { stage } = this
    const run = async (call: Call): Promise<Moved> => {
      const { context } = call
      const self = call.self as Self
      const state = call.state as { log: string[] }
      const isOver = stage.dispatched(
        {
          ...namesOf(context),
          ...{ attempt: context.attempt, transaction, retry, told: [] },
          machine: { state: JSON.stringify(state), tries: self.tries, place: context.place },
        },
        context.signal,
      )
      try {
        self.tries += 1
        // Before it may fail: what a failed attempt has done to its state must not be seen again.
        state.log.push(`${context.key} ${context.attempt} ${stage.fresh()}`)
        await context.documents.save('part', { key: context.key, attempt: context.attempt })
        await code(call, (text) => state.log.push(text))
      } finally {
        isOver()
      }
      return { place: to, state, moves: [{ from: context.place, to, event: name }] }
    }
    const rules = { guard: null, schema: null, retry, errorPlace, timeoutMs: null, targets: [to] }
    return { name, ...rules, run }
  }
}

/** Under which its outcome stands in the journal. */
function namesOf({ key, run }: Call['context']) {
  const [uid = run.id, occurrence = '', ...rest] = key.split('/')
  return { uid, name: rest.join('/'), occurrence: Number(occurrence), idempotencyKey: key }
}

// ── a machine that takes events ─────────────────────────────────────────────────────────────────────────────

export interface CounterState {
  readonly count: number
  readonly log: readonly string[]
}

interface Added {
  readonly id: string
  readonly fails: boolean
  readonly ms: number
}

/** The events of a counter. */
export const ADDS = ['ADD', 'TICK']

export function counterProgram(stage: Stage): Program {
  const counter = machine('counter', {
    initial: 'counting',
    context: { count: 0, log: [] as string[] },
    events: { STOP: typed<object>(), ADD: typed<Added>(), TICK: typed<Added>() },
    states: {
      counting: {
        on: {
          // First: what answers everybody at the end of a world ends it.
          STOP: 'stopped',
          // Gives back no promise: it may run before what came before it is stored.
          TICK: {
            actions: ({ context, event }) => {
              context.count += 1
              context.log.push(`${event.id} ${stage.fresh()}`)
              if (event.fails) throw plain(`fails ${event.id}`)
            },
          },
          ADD: {
            actions: async ({ context, event, ...ctx }) => {
              const { key, attempt, signal, run } = ctx
              const names = namesOf({ key, run } as Call['context'])
              const of = { attempt, transaction: false, retry: NO_RETRY, told: [] }
              const machine = { state: JSON.stringify(context), tries: null, place: 'counting' }
              const isOver = stage.dispatched({ ...names, ...of, machine }, signal)
              context.count += 1
              context.log.push(`${event.id} ${stage.fresh()}`)
              await stage.work(event.ms, null).finally(isOver)
              if (event.fails) throw plain(`fails ${event.id}`)
            },
          },
        },
      },
      stopped: { final: true },
    },
  })
  const made = madeOf(counter)
  if (made?.kind !== 'machine') throw new Error('a machine was made of something else')
  return machineProgram(made, AROUND)
}

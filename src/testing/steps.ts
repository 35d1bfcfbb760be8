// What stands between the steps of a test engine and their code: stubs, counts, and crashes beside a step.
//
// A stub takes the place of the code and of nothing else. The kernel records its result, retries and replays it as it
// would those of the code.

import { type Made, madeOf } from '../authoring/definition.js'
import { executed } from '../authoring/recorded.js'
import { parse } from '../authoring/schema.js'
import { runRef, stepOf } from '../authoring/step.js'
import type { Log, Step } from '../authoring/types.js'
import type { Execution } from '../kernel/attempt.js'
import type { Delta } from '../kernel/store.js'
import { decode } from '../model/codec.js'
import { didYouMean, nameInvalid, optionInvalid } from '../model/errors.js'
import { isStepName, shownName, type Uid } from '../model/ids.js'
import type { Effect, Program, Turn } from '../model/program.js'
import { NO_RETRY } from '../model/retry.js'
import type { RunFacts } from '../model/run.js'
import { childIsNoStep, notInEngine, stepNotReached } from './errors.js'

type When = 'before' | 'after'
type Stub = { readonly fn: (...args: unknown[]) => unknown; readonly calls: unknown[] }
/** The step that a stubbed definition consists of; a task has one of that name anyway. */
const RUN = 'run'

export interface StepsDeps {
  readonly definitions: ReadonlyMap<string, Made>
  readonly log: Log
  readonly valueBytesMax: number
}

export class Steps {
  private readonly deps: StepsDeps
  private readonly wholes = new Map<string, Stub>()
  private readonly stubs = new Map<string, Stub>()
  private readonly counts = new Map<string, number>()
  private readonly seen = new Set<string>()
  private readonly lasts = new Map<Uid, string>()
  /** Runs that are steps of others. */
  private readonly parents = new Map<Uid, { readonly id: string; readonly name: string }>()
  private readonly plans = new Set<{ readonly step: string; readonly when: When }>()

  constructor(deps: StepsDeps) {
    this.deps = deps
  }

  // ── what the test asks for ────────────────────────────────────────────────────────────────────────────────

  stub(target: unknown, ...args: readonly unknown[]): { readonly calls: readonly unknown[] } {
    const made = madeOf(target)
    if (!made || this.deps.definitions.get(made.name) !== made) {
      throw notInEngine(made?.name ?? target, [...this.deps.definitions.keys()])
    }
    const [step, fn] = args.length > 1 ? args : [null, args[0]]
    if (step !== null && !isStepName(step)) throw nameInvalid('step', step)
    if (typeof fn !== 'function') throw optionInvalid('fn', 'stub', fn, 'a function')
    const stub: Stub = { fn: fn as Stub['fn'], calls: [] }
    if (step === null) this.wholes.set(made.name, stub)
    else this.stubs.set(keyOf(made.name, step), stub)
    return stub
  }

  crashAt(step: unknown, when: unknown = 'after'): void {
    if (!isStepName(step)) throw nameInvalid('step', step)
    if (when !== 'before' && when !== 'after') {
      throw optionInvalid('when', 'crashAt', when, "'before' or 'after'")
    }
    this.plans.add({ step, when })
  }

  executions(runId: string, step: string): number {
    return this.counts.get(keyOf(runId, step)) ?? 0
  }

  /** A crash that never came would make a test say what it does not show. */
  checkReached(): void {
    const [plan] = this.plans
    this.plans.clear()
    if (!plan) return
    const seen = [...this.seen]
    throw stepNotReached(plan.step, plan.when, seen, didYouMean(plan.step, seen))
  }

  /** The step of that run whose code ran last. */
  lastOf(run: RunFacts): string | null {
    return this.lasts.get(run.uid) ?? null
  }

  // ── what happens ──────────────────────────────────────────────────────────────────────────────────────────

  saw(delta: Delta): void {
    if (delta.kind !== 'turn') return
    for (const { run } of delta.starts) {
      const entry = delta.entries.find(({ meta }) => meta?.uid === run.uid)
      if (entry && run.parent) this.parents.set(run.uid, { id: run.parent.id, name: entry.name })
    }
  }

  /** `crash` ends the life that executes it; null: nobody would go on with it. */
  async execute(execution: Execution, crash: (() => Promise<never>) | null): Promise<Effect> {
    const names = this.namesOf(execution)
    for (const name of names) this.seen.add(name)
    if (crash && this.isDue(names, 'before')) return crash()
    this.count(execution)
    try {
      return await this.codeOf(execution)
    } finally {
      if (crash && this.isDue(names, 'after')) await crash()
    }
  }

  /** The program with its body replaced, if the whole definition is stubbed when a run of it is called. */
  stubbed(program: Program): Program {
    const instead = async (turn: Turn) =>
      turn.step(RUN, {
        label: 'inline',
        retry: NO_RETRY,
        timeoutMs: null,
        execute: () => Promise.reject(new Error('the stub is called in its place')),
      })
    const isWhole = () => program.style !== 'task' && this.wholes.has(program.name)
    const body = (turn: Turn) => (isWhole() ? instead(turn) : program.body(this.guarded(turn)))
    return { ...program, body }
  }

  /** A stub for a step that is a run of its own would never be called. */
  private guarded(turn: Turn): Turn {
    const child: Turn['child'] = (name, order) => {
      const { definition } = turn.run
      if (this.stubs.has(keyOf(definition, name))) {
        throw childIsNoStep(definition, name, order.definition)
      }
      return turn.child(name, order)
    }
    return Object.assign(Object.create(turn) as Turn, { child })
  }

  private codeOf(execution: Execution): Promise<Effect> {
    const { run, name, attempt, order } = execution
    const whole = name === RUN ? this.wholes.get(run.definition) : undefined
    const stub = whole ?? this.stubs.get(keyOf(run.definition, name))
    if (!stub) return order.execute(attempt)
    const made = this.deps.definitions.get(run.definition)
    const { log, valueBytesMax } = this.deps
    const around = { run: runRef(run, made?.version ?? '') }
    const step = stepOf(attempt, name, around, log)
    const call = async (): Promise<unknown> => {
      const args: [unknown, Step?] = whole ? [await inputOf(made, run), step] : [step]
      stub.calls.push(args[0])
      return stub.fn(...args)
    }
    const { stopOn } = order.retry
    return executed(call, undefined, { name, valueBytesMax, undone: false, stopOn, run: null })
  }

  private count({ run, name, occurrence }: Execution): void {
    const parent = this.parents.get(run.uid)
    const keys = new Set([keyOf(run.id, name), keyOf(run.id, shownName(name, occurrence))])
    if (parent && name === RUN) keys.add(keyOf(parent.id, parent.name))
    for (const key of keys) this.counts.set(key, (this.counts.get(key) ?? 0) + 1)
    this.lasts.set(run.uid, shownName(name, occurrence))
  }

  private namesOf({ run, name, occurrence }: Execution): ReadonlySet<string> {
    const parent = name === RUN ? this.parents.get(run.uid) : undefined
    return new Set([name, shownName(name, occurrence), ...(parent ? [parent.name] : [])])
  }

  private isDue(names: ReadonlySet<string>, when: When): boolean {
    for (const plan of this.plans) {
      if (plan.when !== when || !names.has(plan.step)) continue
      return this.plans.delete(plan)
    }
    return false
  }
}

/** As the code would get it: what a parent hands over is parsed here. */
function inputOf(made: Made | undefined, run: RunFacts): unknown {
  const input = decode(run.input)
  if (!made?.input || run.parentUid === null) return input
  return parse(made.input, input, 'INPUT_INVALID', `The input of ${made.kind} "${made.name}"`)
}

const keyOf = (one: string, other: string): string => `${one}\u001f${other}`

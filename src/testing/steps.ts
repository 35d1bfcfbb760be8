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
import { answersTo } from './names.js'
import type { StepName, Trouble } from './trouble.js'

type When = 'before' | 'after'
type Stub = { readonly fn: (...args: unknown[]) => unknown; readonly calls: unknown[] }
type StepStub = Stub & { readonly step: string }
/** The step that a stubbed definition consists of; a task has one of that name anyway. */
const RUN = 'run'

export interface StepsDeps {
  readonly definitions: ReadonlyMap<string, Made>
  readonly log: Log
  readonly valueBytesMax: number
  readonly trouble: Trouble | null
}

export class Steps {
  private readonly deps: StepsDeps
  /** By the name of the definition. */
  private readonly wholes = new Map<string, Stub>()
  private readonly stubs = new Map<string, StepStub[]>()
  /** By the id of the run. */
  private readonly executed = new Map<string, StepName[]>()
  private readonly lasts = new Map<Uid, string>()
  /** Runs that are steps of others. */
  private readonly parents = new Map<Uid, StepName & { readonly id: string }>()
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
    // The last one counts.
    else this.stubs.set(made.name, [{ ...stub, step }, ...(this.stubs.get(made.name) ?? [])])
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
    const names = this.executed.get(runId) ?? []
    return names.filter(({ name, occurrence }) => answersTo(name, occurrence, step)).length
  }

  /** A crash that never came would make a test say what it does not show. */
  checkReached(): void {
    const [plan] = this.plans
    this.plans.clear()
    if (!plan) return
    const names = [...this.executed.values()].flat()
    const seen = [...new Set(names.map(({ name, occurrence }) => shownName(name, occurrence)))]
    throw stepNotReached(plan.step, plan.when, seen, didYouMean(plan.step, seen))
  }

  /** The step of that run whose code ran last. */
  lastOf(run: RunFacts): string | null {
    return this.lasts.get(run.uid) ?? null
  }

  // ── what happens ──────────────────────────────────────────────────────────────────────────────────────────

  saw(delta: Delta): void {
    this.deps.trouble?.saw(delta)
    if (delta.kind !== 'turn') return
    for (const { run } of delta.starts) {
      const entry = delta.entries.find(({ meta }) => meta?.uid === run.uid)
      if (!entry || !run.parent) continue
      const { name, occurrence } = entry
      this.parents.set(run.uid, { id: run.parent.id, name, occurrence })
    }
  }

  /** `crash` ends the life that executes it; null: nobody would go on with it. */
  async execute(execution: Execution, crash: (() => Promise<never>) | null): Promise<Effect> {
    const names = this.namesOf(execution)
    if (crash && this.isDue(names, 'before')) return crash()
    this.count(execution)
    try {
      return await this.troubled(execution, names, crash)
    } finally {
      if (crash && this.isDue(names, 'after')) await crash()
    }
  }

  private troubled(
    execution: Execution,
    names: readonly StepName[],
    die: (() => Promise<never>) | null,
  ): Promise<Effect> {
    const { trouble } = this.deps
    if (trouble === null || die === null) return this.codeOf(execution)
    return trouble.execute({
      execution,
      names,
      isStub: this.stubFor(execution) !== undefined,
      code: (attempt) => this.codeOf({ ...execution, attempt }),
      die,
    })
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
    const own = (turn: Turn) => (isWhole() ? instead(turn) : program.body(this.guarded(turn)))
    const { trouble } = this.deps
    const body = (turn: Turn) => trouble?.body(turn.run, () => own(turn)) ?? own(turn)
    return { ...program, body }
  }

  /** A stub for a step that is a run of its own would never be called. */
  private guarded(turn: Turn): Turn {
    const child: Turn['child'] = (name, order) => {
      const { definition } = turn.run
      if (this.stubOf(definition, { name, occurrence: 1 })) {
        throw childIsNoStep(definition, name, order.definition)
      }
      return turn.child(name, order)
    }
    return Object.assign(Object.create(turn) as Turn, { child })
  }

  private codeOf(execution: Execution): Promise<Effect> {
    const { run, name, attempt, order } = execution
    const whole = this.wholeFor(execution)
    const stub = this.stubFor(execution)
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
    const of = { name, valueBytesMax, undone: false, stopOn, run: null }
    return executed(call, undefined, of)
  }

  private stubFor(execution: Execution): Stub | undefined {
    return this.wholeFor(execution) ?? this.stubOf(execution.run.definition, execution)
  }

  private wholeFor({ run, name }: Execution): Stub | undefined {
    return name === RUN ? this.wholes.get(run.definition) : undefined
  }

  private stubOf(definition: string, { name, occurrence }: StepName): Stub | undefined {
    const stubs = this.stubs.get(definition)
    return stubs?.find(({ step }) => answersTo(name, occurrence, step))
  }

  private count({ run, name, occurrence }: Execution): void {
    const parent = name === RUN ? this.parents.get(run.uid) : undefined
    this.executedIn(run.id).push({ name, occurrence })
    if (parent) this.executedIn(parent.id).push(parent)
    this.lasts.set(run.uid, shownName(name, occurrence))
  }

  private executedIn(runId: string): StepName[] {
    const names = this.executed.get(runId) ?? []
    this.executed.set(runId, names)
    return names
  }

  /** Of a task also that of the step which it is. */
  private namesOf({ run, name, occurrence }: Execution): StepName[] {
    const parent = name === RUN ? this.parents.get(run.uid) : undefined
    return [{ name, occurrence }, ...(parent ? [parent] : [])]
  }

  private isDue(names: readonly StepName[], when: When): boolean {
    for (const plan of this.plans) {
      if (plan.when !== when) continue
      if (!names.some(({ name, occurrence }) => answersTo(name, occurrence, plan.step))) continue
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

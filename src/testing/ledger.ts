// What the steps of one life of a simulation did, and whether they may do it again: the judge of effects.
//
// A step is executed at least once. If its code has run twice, the outside must be able to tell the second time from a
// new one: by a key that is the same for both. Where the test has wrapped what the code calls (`effect`), the calls
// themselves are compared; elsewhere all that can be seen is whether the code asked for its key.

import { inspect } from 'node:util'
import { shownName } from '../model/ids.js'
import type { RunFacts } from '../model/run.js'
import { keyIn } from './key-in.js'
import { answersTo } from './names.js'
import type { Called } from './trouble.js'

/** One execution of the code of a step. */
export interface Executed {
  readonly run: RunFacts
  /** As people call it: of a task the name of the task. */
  readonly step: string
  readonly names: Called['names']
  /** The same for all executions of the step. */
  readonly key: string
  readonly attempt: number
  readonly worker: number
  /** By a worker that was stopped for so long that another has taken its place. */
  readonly isLate: boolean
  readonly isStub: boolean
  usesKey: boolean
  isTransactional: boolean
  end: 'none' | 'completed' | 'failed'
  readonly calls: Call[]
}

interface Call {
  readonly effect: string
  /** null: nothing in it tells it from another one. */
  readonly key: string | null
  readonly shown: string
  isApplied: boolean
}

/** An effect that happened twice. */
export interface Repeated {
  readonly kind: 'repeated' | 'other-key' | 'unkeyed-step'
  readonly executed: Executed
  readonly effect: string | null
  /** One of the two was done by a worker that had lost the run. */
  readonly isLate: boolean
}

/** A call of a wrapped function. */
interface Watched {
  readonly name: string
  readonly args: readonly unknown[]
  readonly fn: () => unknown
  /** null: the key of the step is looked for in the arguments. */
  readonly key: (() => unknown) | null
}

export interface LedgerDeps {
  /** Steps and effects that may happen any number of times; true: all that are not wrapped. */
  readonly repeatable: readonly string[] | true
  found(what: Repeated): void
  foundOutside(effect: string, run: RunFacts): void
}

const SHOWN_MAX = 80

export class Ledger {
  private readonly deps: LedgerDeps
  private readonly bySteps = new Map<string, Executed[]>()
  /** By step, effect and key: what the outside said at first. */
  private readonly answers = new Map<string, unknown>()

  constructor(deps: LedgerDeps) {
    this.deps = deps
  }

  begin(
    { execution, names, isStub }: Called,
    by: { readonly worker: number; readonly isLate: boolean },
  ): Executed {
    const { run, attempt } = execution
    const key = attempt.idempotencyKey
    const executed: Executed = {
      run,
      step: stepOf(execution),
      names,
      key,
      attempt: attempt.number,
      ...by,
      isStub,
      usesKey: false,
      isTransactional: false,
      end: 'none',
      calls: [],
    }
    this.bySteps.set(key, [...(this.bySteps.get(key) ?? []), executed])
    return executed
  }

  ended(executed: Executed, end: 'completed' | 'failed'): void {
    executed.end = end
    this.judge(executed)
  }

  /** A call of a wrapped function. One with a key that was heard before gets the first answer, as it would outside. */
  call(
    { run, executed }: { readonly run: RunFacts; readonly executed: Executed | null },
    { name, args, fn, key: keyOf }: Watched,
  ): unknown {
    if (executed === null) {
      this.deps.foundOutside(name, run)
      return fn()
    }
    const key = keyOf ? textOf(keyOf()) : keyIn(args, executed.key)
    const call: Call = { effect: name, key, shown: shownCall(name, args), isApplied: false }
    executed.calls.push(call)
    const at = `${executed.key} ${name} ${key}`
    const applied = <T>(value: T): T => {
      call.isApplied = true
      // It was not awaited.
      if (executed.end !== 'none') this.judge(executed)
      return value
    }
    if (key !== null && this.answers.has(at)) return applied(this.answers.get(at))
    const value = fn()
    if (key !== null) this.answers.set(at, value)
    if (!(value instanceof Promise)) return applied(value)
    value.then(applied, () => this.answers.delete(at))
    return value
  }

  // ── the judge ─────────────────────────────────────────────────────────────────────────────────────────────

  private judge(executed: Executed): void {
    if (this.isRepeatable(executed)) return
    for (const other of this.bySteps.get(executed.key) ?? []) {
      if (other === executed || other.end === 'none') continue
      const what = this.repeatedIn(other, executed)
      if (!what) continue
      this.deps.found({ ...what, executed, isLate: other.isLate || executed.isLate })
    }
  }

  private repeatedIn(first: Executed, again: Executed): Pick<Repeated, 'kind' | 'effect'> | null {
    const effects = new Set(again.calls.map(({ effect }) => effect))
    for (const effect of effects) {
      if (this.isNamed([effect])) continue
      const [before, now] = [keysOf(first, effect), keysOf(again, effect)]
      if (before.size === 0 || now.size === 0) continue
      if (before.has(null) || now.has(null)) return { kind: 'repeated', effect }
      const isOther = isBeyond(now, before) && isBeyond(before, now)
      if (isOther) return { kind: 'other-key', effect }
    }
    return isBlind(first) && isBlind(again) && this.deps.repeatable !== true
      ? { kind: 'unkeyed-step', effect: null }
      : null
  }

  private isRepeatable({ run, step, names }: Executed): boolean {
    if (this.isNamed([step, ...(names[0]?.name === 'run' ? [run.definition] : [])])) return true
    const { repeatable } = this.deps
    if (repeatable === true) return false
    return names.some(({ name, occurrence }) =>
      repeatable.some((asked) => answersTo(name, occurrence, asked)),
    )
  }

  private isNamed(names: readonly string[]): boolean {
    const { repeatable } = this.deps
    return repeatable !== true && names.some((name) => repeatable.includes(name))
  }
}

/** It came to its end, and nothing that can be seen of it would stand a second time. */
function isBlind({ end, usesKey, isTransactional, isStub, calls }: Executed): boolean {
  return end === 'completed' && !usesKey && !isTransactional && !isStub && calls.length === 0
}

function keysOf({ calls }: Executed, effect: string): ReadonlySet<string | null> {
  const own = calls.filter((call) => call.isApplied && call.effect === effect)
  return new Set(own.map(({ key }) => key))
}

/** Code that was cut off has called less, and that is fine. */
function isBeyond(keys: ReadonlySet<string | null>, others: ReadonlySet<string | null>): boolean {
  return [...keys].some((key) => !others.has(key))
}

function stepOf({ run, name, occurrence }: Called['execution']): string {
  return name === 'run' ? run.definition : shownName(name, occurrence)
}

function textOf(key: unknown): string | null {
  return key === undefined || key === null || key === '' ? null : String(key)
}

function shownCall(name: string, args: readonly unknown[]): string {
  const shown = args.map((arg) => inspect(arg, { breakLength: Number.POSITIVE_INFINITY, depth: 3 }))
  const text = `${name}(${shown.join(', ')})`
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX - 2)}…)` : text
}

// What a run has done that can be undone, in the order in which it was answered.

import { encodeError, errorRecord } from '../model/error-record.js'
import { undoFailed } from '../model/errors.js'
import { shownName } from '../model/ids.js'
import { type Attempt, type Effect, Failure, type StepOrder } from '../model/program.js'
import type { NewEntry, RetryPolicy, Stored } from '../model/run.js'
import type { Ask, Doing, Undoable } from './asks.js'
import type { Defects } from './defects.js'
import type { Scoped } from './scope.js'

interface Undoing extends Scoped {
  readonly parent: Undoing | null
  readonly isOver: boolean
  contains(scope: Scoped): boolean
}

const NONE: readonly never[] = []

/** How a step or a child says what undoes it. */
export interface CanUndo {
  readonly retry: RetryPolicy
  readonly timeoutMs: number | null
  undo?(value: Stored, attempt: Attempt): Promise<Effect>
}

export const UNDO = 'undo'

export const undoName = (name: string, occurrence: number): string =>
  `${UNDO}:${shownName(name, occurrence)}`

export class Undos {
  private all: Undoable[] = []
  /** Asked for and not answered: when it has ended there may be one more to undo. */
  /** Made when the first can be undone: most runs undo nothing. */
  private begun: Set<Doing> | null = null
  /** Scopes that are being undone, and what waits for that: nothing ends well around them before. */
  private undoing: Set<Undoing> | null = null
  private waiting: { readonly within: Undoing; readonly goOn: () => void }[] = []
  private readonly defects: Defects
  /** How many the row says are open. */
  private told = 0
  /** What was noted since the row was told will never be stored. */
  isUnsaid = false

  constructor(defects: Defects) {
    this.defects = defects
  }

  begins(ask: Ask): void {
    if ((ask.kind !== 'step' && ask.kind !== 'child') || !ask.order.undo) return
    this.begun ??= new Set()
    this.begun.add(ask)
  }

  /**
   * A scope ends. What has begun in it and could be undone gets its last answer first, whatever it is, so that a replay waits
   * for the same; what is in `kept` is given up instead.
   */
  leave(scope: { contains(scope: Scoped): boolean }, kept: typeof scope | null): Promise<unknown> {
    const left: Promise<void>[] = []
    for (const ask of [...(this.begun ?? [])]) {
      if (!scope.contains(ask.scope)) continue
      // Whoever waited for it until now is inside what ends: nobody waits for that.
      ask.leaving = null
      if (kept?.contains(ask.scope) || this.defects.has('scope-without-leaving'))
        this.begun?.delete(ask)
      else left.push(new Promise((resolve) => (ask.leaving = resolve)))
    }
    return Promise.all(left)
  }

  /** This scope is being undone, until it `hasEnded`, or until one around it is over: that undoes what is left. */
  undoes(scope: Undoing): void {
    this.undoing ??= new Set()
    for (const one of this.undoing) if (one.parent?.isOver) this.undoing.delete(one)
    this.undoing.add(scope)
  }

  hasEnded(scope: Undoing): void {
    this.undoing?.delete(scope)
  }

  /** Is something inside it being undone? Perhaps nobody waits for that. */
  isUndoing(within: Undoing): boolean {
    for (const scope of this.undoing ?? NONE) {
      if (scope !== within && within.contains(scope) && !scope.parent?.isOver) return true
    }
    return false
  }

  undone(within: Undoing): Promise<void> {
    return new Promise((goOn) => {
      this.waiting.push({ within, goOn })
    })
  }

  /** The body is quiet: what has ended has been heard of. false: nobody goes on. */
  goOn(): boolean {
    const ready = this.waiting.filter(({ within }) => !this.isUndoing(within))
    if (ready.length === 0) return false
    this.waiting = this.waiting.filter((one) => !ready.includes(one))
    for (const { goOn } of ready) goOn()
    return true
  }

  /** An answer is there: something can be undone from now on, or has been undone. */
  note(ask: Ask, entry: NewEntry): void {
    if (ask.kind !== 'step' && ask.kind !== 'child') return
    this.begun?.delete(ask)
    if (ask.kind === 'step' && ask.undoes && entry.kind === 'undo.completed') {
      ask.undoes.isDone = true
    } else if (ask.order.undo && isSuccess(entry) && !entry.meta?.inherited)
      this.all.push(undoableOf(ask, entry))
  }

  /** Those inside `scope` that are not inside `except`, newest first. */
  open(
    scope: { contains(scope: Scoped): boolean },
    except: typeof scope | null,
  ): readonly Undoable[] {
    const open = this.all.filter(
      (one) => !one.isDone && scope.contains(one.scope) && !except?.contains(one.scope),
    )
    return this.defects.has('undo-oldest-first') ? open : open.reverse()
  }

  /** Of the whole run, the newest. */
  get next(): Undoable | null {
    const isOpen = (one: Undoable): boolean => !one.isDone
    const { all } = this
    const isOldest = this.defects.has('undo-oldest-first')
    return (isOldest ? all.find(isOpen) : all.findLast(isOpen)) ?? null
  }

  get openCount(): number {
    if (this.all.length === 0) return 0
    let count = 0
    for (const one of this.all) if (!one.isDone) count += 1
    return count
  }

  /** How many are open, if that has changed; null: as many as before. `more`: by an answer that is not noted yet. */
  news(more: number): number | null {
    if (this.isUnsaid || this.defects.has('undo-open-not-stored')) return null
    const open = this.openCount + more
    return open === this.told ? null : open
  }

  /** The row knows of so many. */
  stored(open: number | null): void {
    if (open !== null) this.told = open
  }

  /** What is decided is not stored, and nothing more is noted here. Gives back how many are open by what is stored. */
  unsay(): number {
    this.isUnsaid = true
    return this.told
  }

  /** Only in a race whose losers are forgotten on purpose. */
  get isForgetful(): boolean {
    return this.defects.has('loser-not-undone')
  }

  get openNames(): readonly string[] {
    return this.all.filter((one) => !one.isDone).map(({ name }) => name)
  }

  get someDone(): boolean {
    return this.all.some((one) => one.isDone)
  }

  find(name: string): Undoable | null {
    return this.all.findLast((one) => one.name === name) ?? null
  }

  /** A round has ended well: what it did stays done. */
  forget(scope: { contains(scope: Scoped): boolean }): void {
    if (this.defects.has('round-not-forgotten')) return
    this.all = this.all.filter((one) => !scope.contains(one.scope))
  }
}

export function isSuccess({ kind, meta }: NewEntry): boolean {
  return kind === 'step.completed' || (kind === 'child.ended' && meta?.status === 'completed')
}

function undoableOf(ask: Ask & { readonly order: CanUndo }, { payload }: NewEntry): Undoable {
  const { order, scope } = ask
  const name = undoName(ask.name, ask.occurrence)
  const execute = (attempt: Attempt): Promise<Effect> =>
    order.undo?.(payload ?? '', attempt) ?? Promise.resolve({ value: '' })
  const undo: StepOrder = {
    label: UNDO,
    retry: order.retry,
    timeoutMs: ask.kind === 'step' ? order.timeoutMs : null,
    execute,
  }
  return { name, scope, order: undo, isDone: false, undone: null }
}

/** What ends a run whose undo has failed for good; `cause` is why it was to be undone. */
export function undoFailure(
  runId: string,
  undo: string,
  failed: Failure | null,
  cause: Failure | null,
): Failure {
  const message = (failure: Failure | null) => (failure ? errorRecord(failure.error).message : '')
  const told = undoFailed(runId, undo, message(failed), message(cause))
  const question = failed?.question ? { question: failed.question } : {}
  return new Failure(encodeError(told, 'an undo'), { ...question, isFinal: true })
}

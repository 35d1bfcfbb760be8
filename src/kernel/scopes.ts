// How scopes, races and loops run. All of it is code of the body's side: it asks, and on replay asks the same again.

import { encodeError } from '../model/error-record.js'
import { scopeTimedOut } from '../model/errors.js'
import { shownName } from '../model/ids.js'
import { type Due, Failure, type Round, type Turn } from '../model/program.js'
import type { Stored } from '../model/run.js'
import type { Undoable } from './asks.js'
import { Scope } from './scope.js'
import { type Undos, undoFailure } from './undos.js'

const LIMIT = '(timeout)'

/** A turn, as its scopes see it. */
export interface ScopeTurn extends Turn {
  /** The scope around is over: nothing of it goes on, and nothing of it is undone by what was inside. */
  readonly isOver: boolean
  readonly undos: Undos
  open(name: string): Scope
  inside(scope: Scope): Turn
  /** It has ended well: what it left open is given up, and that is warned of. */
  withdraw(scope: Scope): void
  /** It has not, or only the branch `kept` of it: what could be undone may end, and has ended then. */
  leave(scope: Scope, kept: Scope | null): Promise<void>
  /** Settles as the scope did, once that is written down. */
  scopeEnded(scope: Scope, end: End<Stored>): Promise<Stored>
  /** The number of the last answer given. */
  readonly lastSeq: number
  roundEnded(round: RoundEnd): Promise<Stored>
  lastRound(key: string): number
  /** What a round that is in the history has left. */
  recall(round: string): Promise<{ readonly value: Stored; readonly isDone: boolean }>
  /** Asked by the run itself: an undo that has begun is withdrawn by nobody. */
  undo(undoable: Undoable): Promise<Stored>
  /** Whatever the body does now. */
  fail(failure: Failure): void
}

export interface RoundEnd extends Round {
  readonly scope: Scope
  /** The last answer before it began. */
  readonly sinceSeq: number
}

type End<T> = { readonly value: T } | { readonly failure: Failure }

export async function runScope(
  turn: ScopeTurn,
  name: string,
  until: Due | null,
  body: (inner: Turn) => Promise<Stored>,
): Promise<Stored> {
  const scope = turn.open(name)
  const inner = turn.inside(scope)
  const end = await endOf(until === null ? body(inner) : limited(inner, scope, until, body))
  if ('failure' in end) await undone(turn, scope, end.failure)
  else {
    if (turn.undos.isUndoing(scope)) await turn.undos.undone(scope)
    turn.withdraw(scope)
  }
  return ended(turn, scope, end)
}

export async function runRace(
  turn: ScopeTurn,
  name: string,
  branches: ReadonlyMap<string, (inner: Turn) => Promise<Stored>>,
): Promise<{ readonly winner: string; readonly value: Stored }> {
  const scope = turn.open(name)
  const racing = [...branches].map(async ([key, body]) => {
    const branch = new Scope(scope, { name: key, occurrence: 1, path: `${scope.path}${key}/` })
    const end = await endOf(body(turn.inside(branch)))
    if ('value' in end && turn.undos.isUndoing(branch)) await turn.undos.undone(branch)
    return { key, branch, end }
  })
  const { key, branch, end } = await Promise.race(racing)
  const failure = 'failure' in end ? end.failure : null
  // What the losers have done is undone; of a race that failed, everything.
  await undone(turn, scope, failure, failure ? null : branch)
  return { winner: key, value: await ended(turn, scope, end) }
}

export async function runLoop(
  turn: ScopeTurn,
  name: string,
  initial: Stored,
  round: (inner: Turn, state: Stored) => Promise<Round>,
): Promise<Stored> {
  const scope = turn.open(name)
  const key = scope.path.slice(0, -1)
  let number = turn.lastRound(key)
  let state = initial
  if (number > 0) {
    // Earlier rounds are behind the run: only what the last one left is asked for.
    const last = await turn.recall(`${key}@${number}`)
    if (last.isDone) return last.value
    state = last.value
  }
  for (;;) {
    number += 1
    // The end of the round before is behind the run when this one has ended.
    const sinceSeq = turn.lastSeq - (number > 1 ? 1 : 0)
    const inside = Scope.ofRound(scope, number)
    const end = await endOf(round(turn.inside(inside), state))
    if ('failure' in end) {
      await undone(turn, inside, end.failure, null, scope)
      return ended(turn, scope, end)
    }
    if (turn.undos.isUndoing(inside)) await turn.undos.undone(inside)
    turn.withdraw(inside)
    const left = await turn.roundEnded({ ...end.value, scope: inside, sinceSeq })
    if (end.value.done) return left
    state = left
  }
}

/** Whatever is thrown here has been written down as a failure of the scope before anybody hears of it. */
async function ended(turn: ScopeTurn, scope: Scope, end: End<Stored>): Promise<Stored> {
  try {
    return await turn.scopeEnded(scope, end)
  } catch (error) {
    const question = 'failure' in end ? end.failure.question : null
    throw error instanceof Failure && question ? new Failure(error.error, { question }) : error
  } finally {
    turn.undos.hasEnded(scope)
  }
}

/** Nothing of a scope is left: what ran in it has ended, and all of it but `kept` is undone. `ends`: what ends so, if not itself. */
async function undone(
  turn: ScopeTurn,
  scope: Scope,
  cause: Failure | null,
  kept: Scope | null = null,
  ends = scope,
): Promise<void> {
  turn.undos.undoes(ends)
  await turn.leave(scope, kept)
  if (cause || !turn.undos.isForgetful) await undo(turn, turn.undos.open(scope, kept), cause)
}

/** Newest first, each as a step. One that fails for good ends the run: nobody may take what is left for undone. */
async function undo(
  turn: ScopeTurn,
  undoables: readonly Undoable[],
  cause: Failure | null,
): Promise<void> {
  for (const undoable of undoables) {
    // Whoever ended the scope around undoes what is left.
    if (turn.isOver) await new Promise<never>(() => {})
    undoable.undone ??= turn.undo(undoable)
    try {
      await undoable.undone
    } catch (error) {
      const failed = error instanceof Failure ? error : null
      turn.fail(undoFailure(turn.run.id, undoable.name, failed, cause))
      await new Promise<never>(() => {})
    }
  }
}

function limited(
  inner: Turn,
  scope: Scope,
  until: Due,
  body: (inner: Turn) => Promise<Stored>,
): Promise<Stored> {
  const limit = inner.sleep(LIMIT, until).then((): never => {
    const error = scopeTimedOut(shownName(scope.name, scope.occurrence), inner.run.id)
    throw new Failure(encodeError(error, 'a scope'))
  })
  return Promise.race([body(inner), limit])
}

async function endOf<T>(settling: Promise<T>): Promise<End<T>> {
  try {
    return { value: await settling }
  } catch (error) {
    const failure =
      error instanceof Failure ? error : new Failure(encodeError(error, 'the error of a scope'))
    return { failure }
  }
}

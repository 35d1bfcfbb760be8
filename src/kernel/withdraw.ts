// What a scope leaves open when it ends: waits and timers are forgotten, running code gets its AbortSignal and loses the
// right to write, children are cancelled. What its scope waits for (`leaving`) stays until its last answer.

import { scopeEnded } from '../model/errors.js'
import { shownName } from '../model/ids.js'
import { asLast, leftOutcome } from './answers.js'
import type { Ask, Doing } from './asks.js'
import type { Withdrawn } from './conversation.js'
import { toldByParent } from './ending.js'
import type { HeldRun } from './held-run.js'
import type { Outcome } from './look.js'
import type { Questions } from './questions.js'
import type { Scope } from './scope.js'
import { rollBack } from './transaction.js'

interface Leaving extends HeldRun {
  readonly ready: Outcome[]
}

/** `live`: others are told. In a history that is repeated they have been. */
export function withdraw(frame: Leaving, over: readonly Withdrawn[], live: boolean): void {
  for (const { scope, isExpected } of over) {
    const name = shownName(scope.name, scope.occurrence)
    const running: string[] = []
    for (const ask of [...frame.questions.all()]) {
      if (!endsWith(scope, ask)) continue
      const left = leaving(ask)
      // In a history its end is recorded, or made when that is over.
      if (left && live) leave(frame, left)
      if (left) continue
      frame.questions.remove(ask)
      dropReady(frame, ask)
      if (ask.kind === 'step' && ask.running) {
        running.push(shownName(ask.name, ask.occurrence))
        const attempt = ask.running
        ask.running = null
        attempt.giveUp(scopeEnded(name, frame.run.id))
      }
      if (ask.kind === 'child' && ask.uid && live) cancelChild(frame, ask.uid, name)
    }
    if (isExpected || running.length === 0) continue
    frame.deps.ports.log.warn(
      `Scope "${name}" of run ${frame.run.id} ended while ${running.join(', ')} still ran.`,
      { hint: 'await every step, or put them into wf.race' },
    )
  }
}

/** In a history that is only read: what ends with these scopes is open no more. */
export function forget(questions: Questions, over: readonly Withdrawn[]): void {
  for (const { scope } of over)
    for (const ask of [...questions.all()])
      if (endsWith(scope, ask) && !leaving(ask)) questions.remove(ask)
}

/** What was emitted goes out, also as the last word of a scope. */
function endsWith(scope: Scope, ask: Ask): boolean {
  return scope.contains(ask.scope) && !(ask.kind === 'record' && ask.effect.events)
}

/** The history is over: whatever was to end and has not, will not be executed any more. */
export function leaveBehind(frame: Leaving): void {
  for (const ask of frame.questions.all()) {
    const left = leaving(ask)
    // A child that was started has been told.
    if (left && !(left.kind === 'child' && left.uid)) leave(frame, left)
  }
}

/** It, if its scope waits for it. */
function leaving(ask: Ask): Doing | null {
  return (ask.kind === 'step' || ask.kind === 'child') && ask.leaving ? ask : null
}

function leave(frame: Leaving, ask: Doing): void {
  const { run, ready, deps } = frame
  const name = shownName(ask.scope.name, ask.scope.occurrence)
  if (ask.kind === 'child' && ask.uid) return cancelChild(frame, ask.uid, name)
  if (ask.kind === 'step' && ask.running)
    return ask.running.leave(scopeEnded(name, run.id), deps.abortGraceMs)
  const at = ready.findIndex((outcome) => outcome.ask === ask)
  const known = ready[at]
  if (known) ready[at] = asLast(known)
  else ready.push(leftOutcome(ask, run.id))
}

function dropReady({ ready }: { readonly ready: Outcome[] }, ask: Ask): void {
  const at = ready.findIndex((outcome) => outcome.ask === ask)
  const [dropped] = at < 0 ? [] : ready.splice(at, 1)
  if (dropped?.transaction) rollBack(dropped.transaction)
}

function cancelChild(
  frame: HeldRun,
  to: NonNullable<(Ask & { kind: 'child' })['uid']>,
  scope: string,
) {
  const id = toldByParent(frame.run)
  const meta = { reason: `scope "${scope}" of its parent ${frame.run.id} has ended` }
  const message = { id, kind: 'cancel', name: '', meta, payload: null } as const
  frame.out.sends({ to, message, claim: false })
}

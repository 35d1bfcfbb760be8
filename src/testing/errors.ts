// What the test kit says: each wording once.

import { PerdureError, shown } from '../model/errors.js'
import type { Difference } from './outcome.js'
import { failedText } from './simulate-text.js'
import type { Finding } from './simulate-types.js'

export const notInEngine = (target: unknown, known: readonly string[]): PerdureError =>
  new PerdureError(
    'DEFINITION_UNKNOWN',
    `stub: ${typeof target === 'string' ? `"${target}"` : shown(target)} is not a definition of this engine.`,
    {
      hint: `give one of the workflows of createTestEngine: ${known.join(', ') || 'it has none'}`,
    },
  )

export const childIsNoStep = (definition: string, step: string, child: string): PerdureError =>
  new PerdureError(
    'DEFINITION_INVALID',
    `The stub of step "${step}" of "${definition}" cannot be called: the step is a run of "${child}".`,
    {
      hint: `stub that definition instead: engine.stub(definition of "${child}", (input) => …)`,
      step,
    },
  )

export const stepNotReached = (
  step: string,
  when: string,
  seen: readonly string[],
  near: string | null,
): PerdureError =>
  new PerdureError(
    'STEP_NOT_REACHED',
    `crashAt(${shown(step)}, '${when}') never happened: no step of that name ran.`,
    {
      hint: near
        ? `did you mean "${near}"?`
        : seen.length > 0
          ? `steps that ran: ${seen.join(', ')}`
          : 'no step ran at all: start a run, then call settle() or advance()',
      step,
      details: { seen },
    },
  )

export const stepUnsettled = (
  run: { readonly id: string; readonly definition: string },
  step: string,
  ms: number,
): PerdureError =>
  new PerdureError(
    'NOT_SETTLED',
    `Step "${step}" of run ${run.id} ("${run.definition}") still runs after ${ms} ms of real time.`,
    {
      hint: 'stub it with engine.stub, or give the step a timeout; if it is only slow, raise `patience` of createTestEngine',
      runId: run.id,
      step,
    },
  )

export const bodyUnsettled = (
  run: { readonly id: string; readonly definition: string },
  last: string | null,
  ms: number,
): PerdureError =>
  new PerdureError(
    'FOREIGN_AWAIT',
    `Run ${run.id}: the function of "${run.definition}" has awaited something that is not a step of it for ${ms} ms of real time, ${last === null ? 'before its first step' : `behind step "${last}"`}.`,
    {
      hint: 'wrap what it awaits in wf.do, so that its result is recorded; use wf.sleep instead of a timer',
      runId: run.id,
      ...(last !== null && { step: last }),
    },
  )

export const neverQuiet = (ids: readonly string[], ms: number): PerdureError =>
  new PerdureError(
    'NOT_SETTLED',
    `The engine does not come to rest: something still happens after ${ms} ms of real time${ids.length > 0 ? `, in run ${ids.join(', ')}` : ''}.`,
    {
      hint: 'look for a loop without a wait, or a transaction that does not end',
      details: { ids },
    },
  )

export const outcomeChanged = (
  where: string,
  { expected, found, cause }: Difference,
): PerdureError =>
  new PerdureError(
    'OUTCOME_CHANGED',
    `A crash ${where} changes the outcome. Without it: ${expected}. With it: ${found}.`,
    {
      hint: 'look for what is done outside of a step, or for a step that must not run twice and has no key',
      cause,
    },
  )

export const notATestEngine = (value: unknown): PerdureError =>
  new PerdureError(
    'OPTION_INVALID',
    `crashEverywhere opened ${shown(value)}: it must be given a function that opens a test engine.`,
    { hint: 'write crashEverywhere(() => createTestEngine({ … }), async (engine) => { … })' },
  )

export const notADefinition = (value: unknown): PerdureError =>
  new PerdureError(
    'DEFINITION_INVALID',
    `simulate was given ${shown(value)}: it must be given a workflow or a task.`,
    { hint: 'write simulate(order, { input: … }), with what workflow() or task() has returned' },
  )

export const needsScenario = (definition: string, sentence: string): PerdureError =>
  new PerdureError(
    'OPTION_INVALID',
    `simulate cannot bring a run of "${definition}" to its end: ${sentence}`,
    {
      hint: 'give a scenario that does what the run waits for: scenario: async (engine) => { … return run.result() }',
    },
  )

export const simulationFailed = (finding: Finding): PerdureError =>
  new PerdureError('SIMULATION_FAILED', failedText(finding), {
    hint: `mend it and run that life alone: ${finding.repeat}`,
    runId: finding.runId ?? undefined,
    step: finding.step ?? undefined,
    details: finding,
  })

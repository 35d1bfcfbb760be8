// What a simulation says: each wording once.

import { simulationFailed } from './errors.js'
import type { Repeated } from './ledger.js'
import type { Difference } from './outcome.js'
import { failedText } from './simulate-text.js'
import type { Finding, SimulationReport } from './simulate-types.js'
import type { Found, SimulatedLife } from './simulated-life.js'
import type { TestEngine } from './types.js'
import type { Ended } from './until-it-ends.js'

/** Lines of what happened that are shown. */
const TRACE_MAX = 14

interface Context {
  readonly seed: number
  readonly engine: TestEngine
  readonly definition: string
}

type What = Pick<Finding, 'kind' | 'message' | 'hint'> &
  Partial<Pick<Finding, 'workflow' | 'runId' | 'step' | 'attempt' | 'effect'>>

/** What the judge of effects has found comes first: it is the cause. */
export async function findingOf(
  life: SimulatedLife,
  difference: Difference | null,
  context: Context,
): Promise<Finding | null> {
  const { found } = life
  const what = found ? await whatOf(found, context) : difference && changed(difference, context)
  if (!what) return null
  const { seed, definition } = context
  const lines = life.traceOfFound.map((line) => line())
  const left = lines.length - TRACE_MAX
  return {
    seed,
    workflow: definition,
    runId: null,
    step: null,
    attempt: null,
    effect: null,
    ...what,
    trace: left > 0 ? [`… ${left} more before`, ...lines.slice(left)] : lines,
    repeat: `simulate(${definition}, { …, seeds: [${seed}] })`,
  }
}

async function whatOf(found: Found, { engine }: Context): Promise<What> {
  if (found.kind === 'outside-step') {
    const { kind, effect, run } = found
    return {
      kind,
      effect,
      workflow: run.definition,
      runId: run.id,
      message: `"${effect}" is called by the function of "${run.definition}" itself, outside of its steps: it happens again at every replay.`,
      hint: `put it into a step: wf.do("${effect}", (step) => …), and give it step.key`,
    }
  }
  if (found.kind === 'diverged') {
    const { kind, run } = found
    const said = run && (await engine.explain(run.id).catch(() => null))
    return {
      kind,
      ...(run && { workflow: run.definition, runId: run.id }),
      message: `The function of "${run?.definition}" asked something else when it was replayed.${said ? ` ${said.sentence}` : ''}`,
      hint: 'let nothing but its input and the results of its steps decide what it does: use wf.random(), wf.uuid() and wf.now(), or put what can come out differently into wf.do',
    }
  }
  const { kind, effect } = found
  const { run, step, attempt } = found.executed
  const place = { workflow: run.definition, runId: run.id, step, attempt, effect }
  return { kind, ...place, ...repeatedOf(found) }
}

function repeatedOf({
  kind,
  executed,
  effect,
  isLate,
}: Repeated): Pick<Finding, 'message' | 'hint'> {
  const { run, step, names } = executed
  const whose =
    names[0]?.name === 'run' ? `Task "${step}"` : `Step "${step}" of "${run.definition}"`
  const late = isLate ? ', once by a worker that had lost the run' : ''
  const harmless = (name: string | null): string =>
    `if doing it twice is harmless, say so: repeatable: ["${name}"]`
  switch (kind) {
    case 'repeated':
      return {
        message: `${whose} did "${effect}" twice${late}, and nothing tells the second time from a new one.`,
        hint: `hand step.key to "${effect}" as its idempotency key, or write into your own database in wf.transaction; ${harmless(effect)}`,
      }
    case 'other-key':
      return {
        message: `${whose} did "${effect}" twice${late}, with another key the second time.`,
        hint: `make the key of "${effect}" out of step.key: it is the same however often the step runs`,
      }
    case 'unkeyed-step':
      return {
        message: `${whose} ran twice${late}, and its code does not use its key.`,
        hint: `hand step.key to what it changes outside, or write into your own database in wf.transaction; ${harmless(step)}`,
      }
  }
}

function changed({ expected, found }: Difference, { seed }: Context): What {
  const both = `Without: ${expected}. With: ${found}.`
  if (seed === 0) {
    return {
      kind: 'unstable',
      message: `Two lives in which nothing goes wrong end differently. One: ${expected}. The other: ${found}.`,
      hint: 'look for Math.random, new Date() or a variable outside of the workflow; let the scenario return what must not change: no ids, no times',
    }
  }
  return {
    kind: 'outcome',
    message: `What went wrong changes the outcome. ${both}`,
    hint: 'look for what is done outside of a step, or for a step that must not run twice and has no key; if both are right, let the scenario return what must not change',
  }
}

// ── the report ──────────────────────────────────────────────────────────────────────────────────────────────

type Counts = Omit<SimulationReport, 'ok' | 'text' | 'orThrow'>

/** `ended`: how the run ended when nothing went wrong; null: the scenario knows. */
export function reportOf(
  definition: string,
  ended: Ended | null,
  counts: Counts,
): SimulationReport {
  const { finding } = counts
  const report: SimulationReport = {
    ok: finding === null,
    ...counts,
    text: finding ? failedText(finding) : passedText(definition, ended, counts),
    orThrow: () => {
      if (finding) throw simulationFailed(finding)
      return report
    },
  }
  return report
}

function passedText(
  definition: string,
  ended: Ended | null,
  { seeds, crashPoints, crashes, faults }: Counts,
): string {
  const how = ended ? ` (${ended.status}${ended.error ? `: ${ended.error.message}` : ''})` : ''
  const points = crashPoints > 0 ? ` (one at each of ${crashPoints} points)` : ''
  const met = Object.entries(faults).map(([fault, count]) => `${count} ${fault.replace('-', ' ')}`)
  return [
    `"${definition}" ended the same way${how} with every seed, and nothing was done twice that must be done once.`,
    `${seeds} seeds: ${crashes} crashes${points}, ${met.join(', ')}.`,
  ].join('\n')
}

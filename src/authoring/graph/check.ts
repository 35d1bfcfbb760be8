// What is wrong with the JSON of a graph, all of it at once. Nothing is thrown, and nothing is executed.

import { PerdureError } from '../../model/errors.js'
import { GRAPH_BYTES_MAX } from '../../model/limits.js'
import { readFacts } from '../definition.js'
import { readLimits } from '../limits.js'
import { readTriggers } from '../triggers.js'
import { graphMade } from './graph.js'
import type { GraphMade } from './graph-made.js'
import { type Problem, said } from './problems.js'
import { readGraph } from './read.js'

export interface CheckedGraph {
  readonly problems: readonly Problem[]
  /** As it is stored; '' if it cannot be. */
  readonly text: string
  readonly bytes: number
  /** null: there are problems. */
  readonly made: GraphMade | null
}

const WHOLE = 'the graph'
const LIMITS = ['concurrency', 'perWorkspace', 'perKey', 'rate'] as const

/** `types`: the types of nodes that users have registered. */
export function checkGraph(given: unknown, types: ReadonlySet<string>): CheckedGraph {
  const text = written(given)
  if (text === null) return wrong({ text: '', bytes: 0 }, 'cannot be written as JSON')
  const bytes = Buffer.byteLength(text)
  if (bytes > GRAPH_BYTES_MAX) {
    return wrong({ text, bytes }, `takes ${bytes} bytes, and ${GRAPH_BYTES_MAX} are allowed`)
  }
  try {
    // As whoever opens it will read it.
    const json: unknown = JSON.parse(text)
    const problems = [...readProblems(json, types), ...factProblems(json)]
    const made = problems.length === 0 ? graphMade(json) : null
    return { problems, text, bytes, made }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return wrong({ text, bytes }, 'is nested too deeply')
  }
}

function wrong(of: Pick<CheckedGraph, 'text' | 'bytes'>, message: string): CheckedGraph {
  return { ...of, problems: [{ path: WHOLE, message }], made: null }
}

/** null: it has no text, it goes round in a circle, or it is nested too deeply. */
function written(given: unknown): string | null {
  try {
    return JSON.stringify(given) ?? null
  } catch {
    return null
  }
}

function readProblems(json: unknown, types: ReadonlySet<string>): readonly Problem[] {
  try {
    readGraph(json, types)
    return []
  } catch (error) {
    if (!PerdureError.is(error, 'GRAPH_INVALID')) throw error
    return error.details.problems
  }
}

/** What stands beside nodes and edges, each on its own: the first mistake must not hide the second. */
function factProblems(json: unknown): readonly Problem[] {
  if (typeof json !== 'object' || json === null) return []
  const { version, description, triggers, settings } = json as Readonly<Record<string, unknown>>
  const problems: Problem[] = []
  const check = (path: string, read: () => unknown): void => {
    try {
      read()
    } catch (error) {
      if (!PerdureError.is(error)) throw error
      problems.push({ path, message: said(error) })
    }
  }
  check('version', () => readFacts('', WHOLE, { version }))
  check('description', () => readFacts('', WHOLE, { description }))
  if (Array.isArray(triggers)) {
    for (const [i, one] of triggers.entries()) {
      check(`triggers[${i}]`, () => readTriggers([one], WHOLE))
    }
  } else check('triggers', () => readTriggers(triggers, WHOLE))
  if (typeof settings !== 'object' || settings === null) return problems
  for (const name of LIMITS) {
    const limit = (settings as Readonly<Record<string, unknown>>)[name]
    if (limit !== undefined) check(`settings.${name}`, () => readLimits({ [name]: limit }, WHOLE))
  }
  return problems
}

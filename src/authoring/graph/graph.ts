// graph(): a definition made of nodes and edges, written as JSON or with a builder.

import { checkOptions, nameInvalid, optionInvalid } from '../../model/errors.js'
import { DEFINITION_NAME } from '../../model/ids.js'
import { branded, readFacts } from '../definition.js'
import type { Definition, Dict, With } from '../types.js'
import { buildGraph } from './builder.js'
import type { GraphMade } from './graph-made.js'
import { readGraph } from './read.js'
import type { GraphBuilder, GraphDefinition, GraphJson, GraphOptions, Unref } from './types.js'

const OPTIONS = ['version', 'description', 'timeout', 'input', 'triggers', 'limits', 'settings']

/** Throws GRAPH_INVALID with everything that is wrong. */
export function graph<const Id extends string>(
  json: GraphJson<Id>,
): Definition<string, With<{ input: Dict | undefined; parsed: Dict; output: Dict }>> & {
  readonly json: GraphJson
}
/** The same JSON written in TypeScript: what a node gives is a typed reference. `.json` is what is stored. */
export function graph<N extends string, O, I = Dict, R = I>(
  name: N,
  options: GraphOptions<R, I>,
  build: (g: GraphBuilder<I>) => O,
): GraphDefinition<N, I, R, Unref<O>>
export function graph(...args: readonly unknown[]): Definition & { readonly json: GraphJson } {
  return args.length > 1 ? fromBuilder(args) : definitionOf(graphMade(args[0]))
}

/** Throws GRAPH_INVALID, or what is wrong with its facts. */
export function graphMade(given: unknown): GraphMade {
  const plan = readGraph(given)
  const json = structuredClone(given) as GraphJson
  const { id, version, description, triggers } = json
  const facts = readFacts(id, `graph("${id}")`, {
    ...{ version, description, triggers },
    limits: limitsOf(json.settings),
  })
  return { ...facts, kind: 'graph', plan, json }
}

function fromBuilder(args: readonly unknown[]): Definition & { readonly json: GraphJson } {
  const [name, options, build] = args
  if (typeof name !== 'string' || !DEFINITION_NAME.test(name)) throw nameInvalid('graph', name)
  const where = `graph("${name}")`
  if (typeof options !== 'object' || options === null) {
    throw optionInvalid('options', where, options, 'an object')
  }
  if (typeof build !== 'function') {
    throw optionInvalid('build', where, build, 'a function: (g) => { … }')
  }
  checkOptions(options, where, OPTIONS)
  const { triggers, limits: limited, settings: set, timeout, ...given } = options as Dict
  const settings = limited || set ? { ...(limited as object), ...(set as object) } : undefined
  const limits = limitsOf(settings as GraphJson['settings'])
  const facts = readFacts(name, where, { ...given, triggers, limits })
  const { version, description } = facts
  const json: GraphJson = {
    id: name,
    version,
    ...(description !== null && { description }),
    ...(triggers !== undefined && { triggers: triggers as NonNullable<GraphJson['triggers']> }),
    ...((settings !== undefined || timeout !== undefined) && {
      settings: {
        ...(settings as object),
        ...(timeout !== undefined && { timeout }),
      } as NonNullable<GraphJson['settings']>,
    }),
    ...buildGraph(build as (g: GraphBuilder<unknown>) => unknown),
  }
  return definitionOf({ ...facts, kind: 'graph', plan: readGraph(json), json })
}

/** What a graph says of them, and else ten runs of it and fifty of a workspace at once. */
function limitsOf(settings: GraphJson['settings']): object {
  const { concurrency = 10, perWorkspace = 50, perKey, rate } = settings ?? {}
  return { concurrency, perWorkspace, ...(perKey && { perKey }), ...(rate && { rate }) }
}

function definitionOf(made: GraphMade): Definition & { readonly json: GraphJson } {
  return branded(made, { json: made.json })
}

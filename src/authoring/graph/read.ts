// From the JSON of a graph to its plan. Everything wrong is said at once; nothing is executed.

import { didYouMean, shown } from '../../model/errors.js'
import { DEFINITION_NAME } from '../../model/ids.js'
import type { RetryPolicy } from '../../model/run.js'
import { type Duration, durationMs } from '../../model/time.js'
import { readRetry } from '../options.js'
import { ConfigOf } from './config.js'
import { levelsOf, namesOf } from './levels.js'
import type { KnownName } from './names.js'
import { TYPE_NAME } from './node-type.js'
import { BUILT_IN } from './node-types.js'
import { custom } from './nodes-call.js'
import type { NodeType, Plan } from './plan.js'
import { Problems, said } from './problems.js'
import type { ReadEdge, ReadNode } from './read-parts.js'
import { readTemplate, type Template } from './template.js'

export const NODES_MAX = 100
const EDGES_MAX = 1_000
const NODE_ID = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/
/** What expressions know already, and what JavaScript objects have. */
const RESERVED = new Set([
  ...['trigger', 'input', 'run', 'nodes', 'variables', 'error', 'item', 'index', 'results', 'now'],
  ...[
    'polled',
    'attempt',
    'true',
    'false',
    'null',
    'in',
    'as',
    'break',
    'const',
    'continue',
    'else',
  ],
  ...['for', 'function', 'if', 'import', 'let', 'loop', 'package', 'namespace', 'return', 'var'],
  ...['void', 'while', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '__proto__'],
])
const FIELDS = [
  'id',
  'version',
  'description',
  'triggers',
  'settings',
  'nodes',
  'edges',
  'output',
  'layout',
]
const NODE_FIELDS = ['id', 'type', 'config', 'parent', 'retry', 'timeout', 'name', 'position']
const EDGE_FIELDS = ['from', 'to', 'when']
const SETTINGS = ['concurrency', 'perWorkspace', 'perKey', 'rate', 'timeout', 'waitTimeout']
const LIMIT_MS = 30 * 60_000
const WAIT_LIMIT_MS = 24 * 3_600_000

type Given = Readonly<Record<string, unknown>>

function isDict(value: unknown): value is Given {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Throws GRAPH_INVALID. `types`: those that users have registered; null: any name may be one. */
export function readGraph(json: unknown, types: ReadonlySet<string> | null = null): Plan {
  const problems = new Problems()
  if (!isDict(json)) {
    problems.add('the graph', `is ${shown(json)}, and not an object`)
    problems.refuse('(unknown)')
    throw new Error('unreachable')
  }
  const { id } = json
  const name = typeof id === 'string' ? id : '(unknown)'
  if (typeof id !== 'string' || !DEFINITION_NAME.test(id)) {
    problems.add(
      'id',
      `is ${shown(id)}; it is a letter, and then up to 127 of letters, digits and _ . -`,
    )
  }
  known(problems, '', json, FIELDS)
  const nodes = readNodes(problems, json.nodes, types)
  const edges = readEdges(problems, json.edges)
  const settings = readSettings(problems, json.settings)
  const output = json.output === undefined ? null : template(problems, 'output', json.output)
  const levels = levelsOf(problems, nodes, edges)
  problems.refuse(name)
  return { ...levels, output, ...settings }
}

/** What expressions of a graph may read, also of one that is not finished. `node`: null, wherever they are. */
export function namesIn(
  json: unknown,
  types: ReadonlySet<string>,
  node: string | null,
): readonly KnownName[] | null {
  const problems = new Problems()
  const { nodes, edges } = isDict(json) ? json : {}
  return namesOf(readNodes(problems, nodes, types), readEdges(problems, edges), node)
}

function readNodes(
  problems: Problems,
  given: unknown,
  types: ReadonlySet<string> | null,
): readonly ReadNode[] {
  if (!Array.isArray(given)) {
    problems.add('nodes', 'must be a list')
    return []
  }
  if (given.length === 0) problems.add('nodes', 'is empty')
  if (given.length > NODES_MAX) {
    problems.add('nodes', `has ${given.length} nodes, and ${NODES_MAX} are allowed`)
  }
  const seen = new Set<string>()
  const nodes = given.slice(0, NODES_MAX).flatMap((node: unknown, i) => {
    const path = `nodes[${i}]`
    if (!isDict(node)) {
      problems.add(path, `is ${shown(node)}, and not an object`)
      return []
    }
    const read = readNode(problems, path, node, types)
    if (seen.has(read.id)) problems.add(`${path}.id`, `"${read.id}" is the id of another node, too`)
    seen.add(read.id)
    return [read]
  })
  return withoutRetryInTry(nodes)
}

/** D35: of a try-catch and a retry that both stand directly on one node, the try-catch counts. */
function withoutRetryInTry(nodes: readonly ReadNode[]): readonly ReadNode[] {
  const tries = new Set(nodes.filter(({ type }) => type.name === 'try-catch').map(({ id }) => id))
  return nodes.map((node) =>
    node.parent !== null && tries.has(node.parent) ? { ...node, retry: null } : node,
  )
}

function readNode(
  problems: Problems,
  path: string,
  node: Given,
  types: ReadonlySet<string> | null,
): ReadNode {
  known(problems, path, node, NODE_FIELDS)
  const { id, type: typeName, parent = null, retry, timeout, config = {} } = node
  if (typeof id !== 'string' || !NODE_ID.test(id)) {
    problems.add(
      `${path}.id`,
      `is ${shown(id)}; it is a letter, and then up to 63 of letters, digits, _ and -`,
    )
  } else if (RESERVED.has(id)) {
    problems.add(`${path}.id`, `"${id}" is a word that expressions know already`)
  }
  if (parent !== null && typeof parent !== 'string') {
    problems.add(`${path}.parent`, `is ${shown(parent)}, and not the id of a node`)
  }
  const type = typeOf(problems, path, typeName, types)
  const reader = new ConfigOf(problems, `${path}.config`, config)
  const read = type.read(reader)
  for (const name of setsOf(type, config)) {
    if (RESERVED.has(name))
      problems.add(`${path}.config.${name}`, 'is a word that expressions know already')
  }
  return {
    id: String(id),
    path,
    type,
    config: read,
    names: reader.names,
    parent: typeof parent === 'string' ? parent : null,
    retry: retryOf(problems, path, retry),
    timeoutMs: durationOf(problems, `${path}.timeout`, timeout),
  }
}

const setsOf = (type: NodeType, config: unknown): readonly string[] =>
  type.name === 'set' && isDict(config) ? Object.keys(config) : []

function typeOf(
  problems: Problems,
  path: string,
  name: unknown,
  types: ReadonlySet<string> | null,
): NodeType {
  if (typeof name === 'string') {
    const built = BUILT_IN.get(name)
    if (built) return built
    if (TYPE_NAME.test(name) && (types === null || types.has(name))) return custom(name)
  }
  const all = [...BUILT_IN.keys(), ...(types ?? [])]
  const near = typeof name === 'string' ? didYouMean(name, all) : null
  const hint = near ? `did you mean "${near}"?` : `the types are ${all.join(', ')}`
  problems.add(`${path}.type`, `is ${shown(name)}, which is no type of node: ${hint}`)
  return custom('unknown')
}

function readEdges(problems: Problems, given: unknown): readonly ReadEdge[] {
  if (!Array.isArray(given)) {
    problems.add('edges', 'must be a list')
    return []
  }
  if (given.length > EDGES_MAX) {
    problems.add('edges', `has ${given.length} edges, and ${EDGES_MAX} are allowed`)
  }
  const seen = new Set<string>()
  return given.slice(0, EDGES_MAX).flatMap((edge: unknown, i) => {
    const path = `edges[${i}]`
    if (!isDict(edge)) {
      problems.add(path, `is ${shown(edge)}, and not an object`)
      return []
    }
    known(problems, path, edge, EDGE_FIELDS)
    const { from, to, when } = edge
    for (const [field, value] of [
      ['from', from],
      ['to', to],
    ] as const) {
      if (typeof value !== 'string')
        problems.add(`${path}.${field}`, `is ${shown(value)}, and not the id of a node`)
    }
    if (when !== undefined && typeof when !== 'string' && typeof when !== 'boolean') {
      problems.add(`${path}.when`, `is ${shown(when)}; it is a text, true or false`)
    }
    const read = {
      path,
      from: String(from),
      to: String(to),
      when: when === undefined ? null : String(when),
    }
    const key = JSON.stringify([read.from, read.to, read.when])
    if (seen.has(key))
      problems.add(path, `leads from "${read.from}" to "${read.to}", as an edge before it does`)
    seen.add(key)
    return [read]
  })
}

function readSettings(problems: Problems, given: unknown): Pick<Plan, 'limitMs' | 'waitLimitMs'> {
  if (given !== undefined && !isDict(given)) problems.add('settings', 'must be an object')
  const settings: Given = isDict(given) ? given : {}
  known(problems, 'settings', settings, SETTINGS)
  const limit = (field: string, usual: number): number | null => {
    const ms = durationOf(problems, `settings.${field}`, settings[field])
    return ms === null ? usual : ms
  }
  return { limitMs: limit('timeout', LIMIT_MS), waitLimitMs: limit('waitTimeout', WAIT_LIMIT_MS) }
}

function retryOf(problems: Problems, path: string, retry: unknown): RetryPolicy | null {
  if (retry === undefined) return null
  try {
    return readRetry({ retry }, path)
  } catch (error) {
    problems.add(`${path}.retry`, said(error))
    return null
  }
}

function durationOf(problems: Problems, path: string, given: unknown): number | null {
  if (given === undefined) return null
  try {
    const ms = durationMs(given as Duration)
    if (ms > 0) return ms
    problems.add(path, 'must be longer than 0')
  } catch (error) {
    problems.add(path, said(error))
  }
  return null
}

function template(problems: Problems, path: string, value: unknown): Template | null {
  try {
    return readTemplate(value, path)
  } catch (error) {
    problems.add(path, said(error))
    return null
  }
}

function known(problems: Problems, path: string, given: Given, fields: readonly string[]): void {
  for (const key of Object.keys(given)) {
    if (fields.includes(key)) continue
    const near = didYouMean(key, fields)
    const at = path === '' ? key : `${path}.${key}`
    problems.add(at, near ? `is not known: did you mean "${near}"?` : 'is not known')
  }
}

// The types of nodes that users register, and whether the graphs of this engine have the ones they need.

import type { Made } from '../authoring/definition.js'
import type { CustomType } from '../authoring/graph/custom-type.js'
import { CONFIGS, graphSchema } from '../authoring/graph/json-schema.js'
import { BUILT_IN } from '../authoring/graph/node-types.js'
import { readGraph } from '../authoring/graph/read.js'
import { optionInvalid, PerdureError } from '../model/errors.js'
import { jsonSchemaOf } from './facts.js'
import type { NodeTypeInfo } from './system-types.js'

export function readNodeTypes(
  given: unknown,
  definitions: ReadonlyMap<string, Made>,
): ReadonlyMap<string, CustomType> {
  const list: unknown = given ?? []
  if (!Array.isArray(list)) {
    throw optionInvalid('nodeTypes', 'createEngine', given, 'a list of types: nodeType(…)')
  }
  const types = new Map<string, CustomType>()
  for (const type of list as readonly Partial<CustomType>[]) {
    const { name, run } = type ?? {}
    if (typeof name !== 'string' || typeof run !== 'function') {
      throw optionInvalid('nodeTypes', 'createEngine', type, 'made by nodeType(…)')
    }
    if (types.has(name)) {
      throw new PerdureError('DEFINITION_INVALID', `Two types of nodes are called "${name}".`, {
        hint: 'give one of them another name',
      })
    }
    types.set(name, type as CustomType)
  }
  const names = new Set(types.keys())
  for (const made of definitions.values()) if (made.kind === 'graph') readGraph(made.json, names)
  return types
}

/** By type; those of users are grouped by what stands before the dot. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  flow: ['trigger', 'condition', 'switch', 'fork', 'merge', 'end', 'return', 'cancel', 'on-error'],
  data: ['set'],
  time: ['delay', 'wait-for-event'],
  container: ['loop', 'try-catch', 'retry'],
  call: ['http', 'task', 'workflow', 'machine-event', 'emit'],
}

/** Those that come with the engine, then those of users. */
export function describeNodeTypes(given: Iterable<CustomType>): readonly NodeTypeInfo[] {
  const builtIn = [...BUILT_IN.values()].map(({ name, description, isContainer, ways }) => ({
    name,
    title: titleOf(name),
    group: Object.keys(GROUPS).find((group) => GROUPS[group]?.includes(name)) ?? 'flow',
    description,
    isBuiltIn: true,
    isContainer: isContainer ?? false,
    outputs: ways === undefined ? [] : ways,
    config: { ...CONFIGS[name], $defs: graphSchema.$defs },
  }))
  const own = [...given].map(({ name, description, config }) => ({
    name,
    title: titleOf(name.slice(name.lastIndexOf('.') + 1)),
    group: name.slice(0, name.lastIndexOf('.')),
    description,
    isBuiltIn: false,
    isContainer: false,
    outputs: [],
    config: config === null ? null : jsonSchemaOf(config),
  }))
  return [...builtIn, ...own]
}

/** 'wait-for-event' as 'Wait for event'. */
function titleOf(name: string): string {
  const words = name.replaceAll(/[-_]+/g, ' ').replaceAll(/([a-z])([A-Z])/g, '$1 $2')
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase()
}

// The types of nodes that users register, and whether the graphs of this engine have the ones they need.

import type { Made } from '../authoring/definition.js'
import type { CustomType } from '../authoring/graph/custom-type.js'
import { readGraph } from '../authoring/graph/read.js'
import { optionInvalid, PerdureError } from '../model/errors.js'

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

// The published JSON Schema says of every type of node what its reader takes.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CONFIGS } from '../../src/authoring/graph/json-schema.js'
import { BUILT_IN } from '../../src/authoring/graph/node-types.js'
import { type GraphJson, graph, graphSchema, PerdureError } from '../../src/index.js'

const FILE = new URL('../../docs/reference/graph.schema.json', import.meta.url)

interface Config {
  readonly properties?: Readonly<Record<string, unknown>>
  readonly required?: readonly string[]
}

function problemsOf(type: string, config: object): readonly string[] {
  const nodes = [{ id: 'a', type, config }] as unknown as GraphJson['nodes']
  try {
    graph({ id: 'g', nodes, edges: [{ from: 'trigger', to: 'a' }] })
  } catch (error) {
    if (!PerdureError.is(error, 'GRAPH_INVALID')) throw error
    return error.details.problems.map(({ path, message }) => `${path} ${message}`)
  }
  return []
}

test('it is the file in the documents', () => {
  expect(JSON.parse(readFileSync(FILE, 'utf8'))).toEqual(JSON.parse(JSON.stringify(graphSchema)))
})

test('it knows every type of node that comes with the engine, and no other', () => {
  expect(Object.keys(CONFIGS).sort()).toEqual([...BUILT_IN.keys()].sort())
})

const modes = [{}, { mode: 'time' }, { mode: 'event' }, { mode: 'condition' }]

test.each(Object.entries(CONFIGS))(
  'of a node of type %s it has the fields that are read, and asks for those that are missed',
  (type, config) => {
    const { properties = {}, required = [] } = config as Config
    for (const field of Object.keys(properties)) {
      const isKnown = modes.some((mode) => {
        const found = problemsOf(type, { ...mode, [field]: 1 })
        return !found.some((one) => one.startsWith(`nodes[0].config.${field} is not known`))
      })
      expect([type, field, isKnown]).toEqual([type, field, true])
    }
    if (config.additionalProperties === false) {
      expect(problemsOf(type, { unheardOf: 1 }).join()).toMatch(/nodes\[0\]\.config/)
    }
    for (const field of required) {
      const given = Object.fromEntries(
        required.filter((one) => one !== field).map((one) => [one, 'x']),
      )
      expect(problemsOf(type, given).length, `${type} without ${field}`).toBeGreaterThan(0)
    }
  },
)

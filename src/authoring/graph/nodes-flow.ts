// Nodes that decide where the run goes, and what it knows.

import { noBranch } from './errors.js'
import type { Ended, NodeType } from './plan.js'
import { isCel, readTemplate, type Template } from './template.js'
import type { NodeRecord, Visit } from './visit.js'

const CASES_MAX = 10
const NOTHING: NodeType['run'] = async () => ({})

const endedAs = ({ output, branch, sets }: NodeRecord): Ended => ({
  ...(output !== undefined && { output }),
  ...(branch !== undefined && { branch }),
  ...(sets && { sets }),
})

export const trigger: NodeType = {
  name: 'trigger',
  description: 'Where the graph begins.',
  read: (config) => config.only(),
  run: NOTHING,
}

export const set: NodeType = {
  name: 'set',
  description: 'Sets variables, each to a value or to what an expression gives.',
  read: (config) => {
    const names = Object.keys(config.given)
    if (names.length === 0) config.wrong('', 'sets no variable')
    return names.map((name) => [name, config.template(name)] as const)
  },
  run: async (visit: Visit) => {
    const variables = visit.node.config as readonly (readonly [string, Template])[]
    const record = await visit.compute(() => {
      const sets = Object.fromEntries(variables.map(([name, value]) => [name, visit.fill(value)]))
      return { input: sets, sets }
    })
    return endedAs(record)
  },
}

export const condition: NodeType = {
  name: 'condition',
  description: 'Goes one of two ways: true or false.',
  ways: ['true', 'false'],
  read: (config) => {
    config.only('if')
    return config.expression('if')
  },
  run: async (visit: Visit) => {
    const expression = visit.node.config as Template
    const record = await visit.compute(() => {
      const output = expression.holds(visit.scope())
      return { input: { if: output }, output, branch: String(output) }
    })
    return endedAs(record)
  },
}

interface SwitchConfig {
  readonly on: Template
  readonly cases: readonly { readonly name: string; readonly is: Template }[]
}

export const switchNode: NodeType = {
  name: 'switch',
  description: 'Goes the way of the first case that is equal, else the way "default".',
  ways: null,
  read: (config): SwitchConfig => {
    config.only('on', 'cases')
    const { cases } = config.given
    const list: readonly unknown[] = Array.isArray(cases) ? cases : []
    if (!Array.isArray(cases)) config.wrong('cases', 'must be a list of { name, is }')
    if (list.length > CASES_MAX) {
      config.wrong('cases', `has ${list.length} cases, and ${CASES_MAX} are allowed`)
    }
    const seen = new Set<string>(['default'])
    const read = list.slice(0, CASES_MAX).map((one, i) => {
      const { name, is, ...more } = (one ?? {}) as Readonly<Record<string, unknown>>
      if (typeof name !== 'string' || name === '') {
        config.wrong(`cases[${i}].name`, 'must be a text: the way that is taken')
      } else if (seen.has(name)) {
        config.wrong(`cases[${i}].name`, `"${name}" is there already`)
      }
      for (const key of Object.keys(more)) config.wrong(`cases[${i}].${key}`, 'is not known')
      seen.add(String(name))
      return { name: String(name), is: readTemplate(is, 'is') }
    })
    return { on: config.template('on'), cases: read }
  },
  run: async (visit: Visit) => {
    const { on, cases } = visit.node.config as SwitchConfig
    const record = await visit.compute(() => {
      const value = visit.fill(on)
      const found = cases.find(({ is }) => isEqual(visit.fill(is), value))
      const branch = found?.name ?? 'default'
      const { edges } = visit.node
      if (!edges.some(({ when }) => when === null || when === branch)) throw noBranch(visit, value)
      return { input: { on: value }, output: value, branch }
    })
    return endedAs(record)
  },
}

/** As JSON is: the order of keys does not count. */
function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(a)
  if (keys.length !== Object.keys(b).length) return false
  return keys.every(
    (key) => Object.hasOwn(b, key) && isEqual(Reflect.get(a, key), Reflect.get(b, key)),
  )
}

export const fork: NodeType = {
  name: 'fork',
  description: 'Begins branches that run side by side: one for each edge.',
  read: (config) => config.only(),
  run: NOTHING,
}

export const merge: NodeType = {
  name: 'merge',
  description: 'Goes on once, when every branch that can still arrive has arrived.',
  read: (config) => config.only(),
  run: NOTHING,
}

export const end: NodeType = {
  name: 'end',
  description: 'Ends its branch.',
  read: (config) => config.only(),
  run: NOTHING,
}

export const returnNode: NodeType = {
  name: 'return',
  description: 'Ends the run with an output; what still runs is given up.',
  read: (config) => {
    config.only('output')
    return config.template('output')
  },
  run: async (visit: Visit) => {
    const template = visit.node.config as Template
    const { output } = await visit.compute(() => {
      const value = visit.fill(template)
      return { input: { output: value }, output: value }
    })
    return { ...(output !== undefined && { output }), returned: { value: output } }
  },
}

export const cancel: NodeType = {
  name: 'cancel',
  description: 'Ends the run as cancelled.',
  read: (config) => {
    config.only('reason')
    const { reason } = config.given
    if (reason !== undefined && typeof reason !== 'string' && !isCel(reason)) {
      config.wrong('reason', 'must be a text or an expression')
    }
    return config.template('reason')
  },
  run: async (visit: Visit) => {
    const template = visit.node.config as Template
    const { output } = await visit.compute(() => {
      const output = String(visit.fill(template) ?? `cancelled by node "${visit.node.id}"`)
      return { input: { reason: output }, output }
    })
    return visit.turn.stop(String(output))
  },
}

// What expressions may read: names that are there when the node runs.

import { didYouMean } from '../../model/errors.js'
import type { Levels, Placed } from './place.js'
import type { Problems } from './problems.js'

const ALWAYS = ['input', 'run', 'nodes', 'variables']

export function checkNames(problems: Problems, placed: readonly Placed[], shape: Levels): void {
  const ids = new Map(placed.map((node) => [node.read.id, node]))
  const variables = placed.flatMap(({ read }) => setsOf(read.config, read.type.name))
  const check = (level: readonly Placed[], around: readonly string[], own: readonly string[]) => {
    const before = new Map<Placed, ReadonlySet<string>>()
    for (const node of level) {
      const { read } = node
      const seen = new Set(around)
      for (const one of node.before) for (const name of before.get(one) ?? []) seen.add(name)
      const known = [...seen, ...own, ...ALWAYS, ...variables, ...ownOf(node)]
      for (const name of read.names) {
        if (known.includes(name)) continue
        const near = didYouMean(name, known)
        const why = ids.has(name)
          ? `reads "${name}", which does not come before it`
          : `reads "${name}", which is nothing here${near ? `: did you mean "${near}"?` : ''}`
        problems.add(`${read.path}.config`, why)
      }
      const inner = [...own, ...ownOf(node)]
      check(shape.body(node), [...seen], inner)
      // What has run before the failure; an expression that reads something else fails.
      check(shape.handler(node), [...seen, ...contained(shape, node)], [...inner, 'error'])
      before.set(node, new Set([...seen, read.id, ...contained(shape, node)]))
    }
  }
  check(shape.top, [], [])
  if (shape.onError) {
    const all = [...ids.keys()]
    check(shape.handler(shape.onError), all, ['error'])
  }
}

/** What is inside of a container is known after it. */
function contained(shape: Levels, node: Placed): readonly string[] {
  return [...shape.body(node), ...shape.handler(node)].flatMap((one) => [
    one.read.id,
    ...contained(shape, one),
  ])
}

/** What a node calls its own. */
function ownOf({ read }: Placed): readonly string[] {
  switch (read.type.name) {
    case 'loop': {
      const { as } = read.config as { readonly as: string }
      return [as, 'index', 'results']
    }
    case 'retry':
      return ['attempt']
    case 'wait-for-event':
      return ['now', 'polled']
    default:
      return []
  }
}

function setsOf(config: unknown, type: string): readonly string[] {
  if (type !== 'set' || !Array.isArray(config)) return []
  return config.map(([name]: readonly [string]) => name)
}

// What expressions may read: names that are there when the node runs.

import { didYouMean } from '../../model/errors.js'
import type { Levels, Placed } from './place.js'
import type { Problems } from './problems.js'

const ALWAYS = ['input', 'run', 'nodes', 'variables']

/** `run`: always there. `node`: what one has given. `variable`: what a node sets. `around`: of the node, or of what contains it. */
export interface KnownName {
  readonly name: string
  readonly from: 'run' | 'node' | 'variable' | 'around'
}

export function checkNames(problems: Problems, placed: readonly Placed[], shape: Levels): void {
  const ids = new Set(placed.map(({ read }) => read.id))
  eachNode(placed, shape, ({ read }, names) => {
    const known = names.map(({ name }) => name)
    for (const name of read.names) {
      if (known.includes(name)) continue
      const why = ids.has(name)
        ? `reads "${name}", which does not come before it`
        : `reads "${name}", which is ${nothingHere(name, known)}`
      problems.add(`${read.path}.config`, why)
    }
  })
}

export function nothingHere(name: string, known: readonly string[]): string {
  const near = didYouMean(name, known)
  return `nothing here${near ? `: did you mean "${near}"?` : ''}`
}

/** Wherever a node may be. */
export const namesAnywhere = (placed: readonly Placed[]): readonly KnownName[] => [
  ...ALWAYS.map((name) => ({ name, from: 'run' as const })),
  ...placed.map(({ read }) => ({ name: read.id, from: 'node' as const })),
  ...variablesOf(placed),
]

/** The names that are there when that node runs; null: it is no node. */
export function namesAt(
  placed: readonly Placed[],
  shape: Levels,
  id: string,
): readonly KnownName[] | null {
  let found: readonly KnownName[] | null = null
  eachNode(placed, shape, ({ read }, known) => {
    if (read.id === id) found = known
  })
  return found
}

const variablesOf = (placed: readonly Placed[]): readonly KnownName[] =>
  placed
    .flatMap(({ read }) => setsOf(read.config, read.type.name))
    .map((name) => ({ name, from: 'variable' as const }))

function eachNode(
  placed: readonly Placed[],
  shape: Levels,
  tell: (node: Placed, known: readonly KnownName[]) => void,
): void {
  const always = ALWAYS.map((name) => ({ name, from: 'run' as const }))
  const variables = variablesOf(placed)
  const visit = (level: readonly Placed[], around: readonly string[], own: readonly string[]) => {
    const before = new Map<Placed, ReadonlySet<string>>()
    for (const node of level) {
      const seen = new Set(around)
      for (const one of node.before) for (const name of before.get(one) ?? []) seen.add(name)
      const inner = [...own, ...ownOf(node)]
      tell(node, [
        ...always,
        ...[...seen].map((name) => ({ name, from: 'node' as const })),
        ...variables,
        ...inner.map((name) => ({ name, from: 'around' as const })),
      ])
      visit(shape.body(node), [...seen], inner)
      // What has run before the failure; an expression that reads something else fails.
      visit(shape.handler(node), [...seen, ...contained(shape, node)], [...inner, 'error'])
      before.set(node, new Set([...seen, node.read.id, ...contained(shape, node)]))
    }
  }
  visit(shape.top, [], [])
  if (shape.onError) {
    const all = placed.map(({ read }) => read.id)
    visit(shape.handler(shape.onError), all, ['error'])
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

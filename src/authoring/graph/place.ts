// Where each node of a graph stands: inside which container, behind which others. What does not fit is said.

import { didYouMean } from '../../model/errors.js'
import type { Problems } from './problems.js'
import type { ReadEdge, ReadNode } from './read-parts.js'

const LOOP_DEPTH_MAX = 3
export const TRIGGER = 'trigger'
export const ON_ERROR = 'on-error'

/** A node with what is known of its place. */
export interface Placed {
  readonly read: ReadNode
  readonly parent: Placed | null
  readonly inside: Placed[]
  /** Edges to others of its level. */
  readonly next: { readonly to: Placed; readonly when: string | null }[]
  /** Those of its level with an edge to it. */
  readonly before: Set<Placed>
  /** What is run when what it contains has failed begins with these. */
  readonly catches: Placed[]
  /** So many edges from outside of its level begin it. */
  starts: number
}

/** Each level, in an order in which its nodes can run. */
export interface Levels {
  readonly top: readonly Placed[]
  readonly onError: Placed | null
  body(node: Placed): readonly Placed[]
  handler(node: Placed): readonly Placed[]
}

export function place(
  problems: Problems,
  nodes: readonly ReadNode[],
  edges: readonly ReadEdge[],
): ReadonlyMap<string, Placed> {
  const placed = placedOf(problems, nodes)
  join(problems, placed, edges)
  return placed
}

function placedOf(problems: Problems, nodes: readonly ReadNode[]): ReadonlyMap<string, Placed> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const placed = new Map<string, Placed>()
  const settle = (read: ReadNode, around: readonly string[]): Placed => {
    const known = placed.get(read.id)
    if (known) return known
    const parent = parentOf(read, around)
    const beside = { inside: [], next: [], before: new Set<Placed>(), catches: [] }
    const made: Placed = { read, parent, ...beside, starts: 0 }
    placed.set(read.id, made)
    parent?.inside.push(made)
    return made
  }
  const parentOf = ({ id, parent, path }: ReadNode, around: readonly string[]): Placed | null => {
    if (parent === null) return null
    const found = byId.get(parent)
    if (!found) {
      const near = didYouMean(parent, [...byId.keys()])
      const hint = near ? `: did you mean "${near}"?` : ''
      problems.add(`${path}.parent`, `"${parent}" is no node${hint}`)
      return null
    }
    if (around.includes(parent) || parent === id) {
      problems.add(`${path}.parent`, `is a circle: ${[...around, id, parent].join(' → ')}`)
      return null
    }
    if (!found.type.isContainer) {
      problems.add(
        `${path}.parent`,
        `"${parent}" is a ${found.type.name}, which contains nothing; try-catch, retry and loop do`,
      )
      return null
    }
    return settle(found, [...around, id])
  }
  for (const node of nodes) settle(node, [])
  for (const node of placed.values()) checkDepth(problems, node)
  return placed
}

function checkDepth(problems: Problems, node: Placed): void {
  if (node.read.type.name !== 'loop') return
  const loops: string[] = []
  for (let at: Placed | null = node; at; at = at.parent) {
    if (at.read.type.name === 'loop') loops.unshift(at.read.id)
  }
  if (loops.length > LOOP_DEPTH_MAX) {
    problems.add(
      `${node.read.path}.parent`,
      `makes ${loops.length} loops inside each other (${loops.join(' → ')}), and ${LOOP_DEPTH_MAX} are allowed`,
    )
  }
}

function join(
  problems: Problems,
  placed: ReadonlyMap<string, Placed>,
  edges: readonly ReadEdge[],
): void {
  for (const edge of edges) {
    const { path, from, to, when } = edge
    const target = nodeAt(problems, placed, to, `${path}.to`)
    const isTrigger = from === TRIGGER && !placed.has(TRIGGER)
    const source = isTrigger ? null : nodeAt(problems, placed, from, `${path}.from`)
    if (!target || (!source && !isTrigger)) continue
    if (target.read.type.name === ON_ERROR || target.read.type.name === TRIGGER) {
      problems.add(`${path}.to`, `"${to}" is where something begins: nothing leads to it`)
      continue
    }
    if (source === null) {
      if (when !== null) problems.add(`${path}.when`, 'a trigger has one way out')
      if (target.parent) problems.add(`${path}.to`, inside(target))
      target.starts += 1
      continue
    }
    checkWay(problems, source, edge)
    if (target.parent === source && when === 'catch') {
      source.catches.push(target)
      target.starts += 1
      continue
    }
    if (source.parent !== target.parent) {
      const message = `leads from "${from}" to "${to}", and one of them is inside "${(target.parent ?? source.parent)?.read.id}"`
      problems.add(path, message)
      continue
    }
    source.next.push({ to: target, when })
    target.before.add(source)
  }
}

const inside = (node: Placed): string =>
  `"${node.read.id}" is inside "${node.parent?.read.id}", which begins by itself`

function nodeAt(
  problems: Problems,
  placed: ReadonlyMap<string, Placed>,
  id: string,
  path: string,
): Placed | null {
  const found = placed.get(id)
  if (found) return found
  const near = didYouMean(id, [...placed.keys()])
  problems.add(path, near ? `"${id}" is no node: did you mean "${near}"?` : `"${id}" is no node`)
  return null
}

function checkWay(problems: Problems, { read }: Placed, { path, when }: ReadEdge): void {
  const { ways } = read.type
  if (when === null || ways === null) return checkCase(problems, read, path, when)
  if (ways?.includes(when)) return
  const known = ways ? `it has ${ways.map((way) => `"${way}"`).join(' and ')}` : 'it has one'
  problems.add(
    `${path}.when`,
    `is "${when}", which is no way out of "${read.id}" (${read.type.name}): ${known}`,
  )
}

function checkCase(problems: Problems, read: ReadNode, path: string, when: string | null): void {
  if (when === null || read.type.name !== 'switch') return
  const { cases } = read.config as { readonly cases: readonly { readonly name: string }[] }
  const known = ['default', ...cases.map(({ name }) => name)]
  if (known.includes(when)) return
  const near = didYouMean(when, known)
  const hint = near ? `did you mean "${near}"?` : `it has ${known.join(', ')}`
  problems.add(`${path}.when`, `is "${when}", which is no case of "${read.id}": ${hint}`)
}

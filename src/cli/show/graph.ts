// A graph as a tree of characters, and as Mermaid. A node to which several ways lead is drawn once, and named afterwards.

import type { GraphJson } from '../../index.js'
import { oneLine } from './text.js'

type Node = GraphJson['nodes'][number]
type Edge = GraphJson['edges'][number]

const START = 'trigger'

export function graphText(graph: GraphJson): string[] {
  const { nodes, edges } = graph
  const count = (n: number, word: string): string => `${n} ${word}${n === 1 ? '' : 's'}`
  const drawn = new Set<string>()
  const draw = (below: readonly Below[], prefix: string): string[] =>
    below.flatMap(({ node, when }, i) => {
      const isLast = i === below.length - 1
      const branch = `${prefix}${isLast ? '└' : '├'}${when === '' ? '' : ` ${when}:`} `
      if (drawn.has(node.id)) return [`${branch}→ ${node.id}`]
      drawn.add(node.id)
      const inner = belowOf(graph, node)
      return [`${branch}${titleOf(node)}`, ...draw(inner, `${prefix}${isLast ? ' ' : '│'} `)]
    })
  const facts = `${count(nodes.length, 'node')}, ${count(edges.length, 'edge')}`
  const started = (graph.triggers ?? []).map(triggerText).join(', ')
  const roots = belowOf(graph, null)
  const lines = draw(roots, '  ')
  const apart = nodes.filter(({ id, type }) => !drawn.has(id) && type !== START)
  return [
    `${graph.id}  ${facts}${started ? `; starts by ${started}` : ''}`,
    `  ${START}`,
    ...lines,
    ...draw(
      apart.map((node) => ({ node, when: 'on its own' })),
      '  ',
    ),
  ]
}

interface Below {
  readonly node: Node
  readonly when: string
}

/** What comes behind it: first what it contains. null: the beginning. */
function belowOf({ nodes, edges }: GraphJson, of: Node | null): readonly Below[] {
  const id = of?.id ?? START
  const find = (name: string): Node | undefined => nodes.find((node) => node.id === name)
  const contained = nodes.filter(
    ({ id: own, parent }) => of !== null && parent === id && !edges.some(({ to }) => to === own),
  )
  const next = edges
    .filter(({ from }) => from === id || (of === null && find(from)?.type === START))
    .flatMap((edge): Below[] => {
      const node = find(edge.to)
      return node && node.type !== START ? [{ node, when: whenOf(edge) }] : []
    })
  return [...contained.map((node) => ({ node, when: 'inside' })), ...next]
}

const whenOf = ({ when }: Edge): string => (when === undefined ? '' : String(when))

function titleOf(node: Node): string {
  const detail = detailOf(node)
  return `${node.id}  ${node.type}${detail ? ` ${detail}` : ''}`
}

type Dict = Readonly<Record<string, unknown>>

/** The part of its config that says what it does. */
function detailOf(node: Node): string {
  const config = (node.config ?? {}) as Dict
  const of = (...names: readonly string[]): string =>
    names
      .map((name) => textOf(config[name]))
      .filter(Boolean)
      .join(' ')
  switch (node.type) {
    case 'set':
      return Object.keys(config).join(', ')
    case 'condition':
      return of('if')
    case 'http':
      return of('method', 'url')
    case 'wait-for-event':
      return of('mode', 'event', 'for', 'until', 'if')
    default:
      return of(
        'task',
        'workflow',
        'machine',
        'on',
        'event',
        'for',
        'until',
        'items',
        'while',
        'reason',
      )
  }
}

function textOf(value: unknown): string {
  const cel = (value as { readonly cel?: unknown } | null | undefined)?.cel
  if (typeof cel === 'string') return oneLine(cel)
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

function triggerText(trigger: NonNullable<GraphJson['triggers']>[number]): string {
  const { type, ...more } = trigger as { readonly type: string } & Dict
  return `${type} ${textOf(more.event ?? more.cron ?? more.path)}`.trim()
}

export function graphMermaid({ nodes, edges }: GraphJson): string[] {
  const ids = new Map([START, ...nodes.map(({ id }) => id)].map((id, i) => [id, `n${i}`]))
  const nameOf = (id: string): string => ids.get(id) ?? id
  const shape = (node: Node): string => {
    const label = escaped(`${node.id}: ${node.type} ${detailOf(node)}`.trim())
    return /^(condition|switch)$/.test(node.type)
      ? `${nameOf(node.id)}{"${label}"}`
      : `${nameOf(node.id)}["${label}"]`
  }
  const draw = (parent: string | undefined, indent: string): string[] =>
    nodes
      .filter((node) => node.parent === parent)
      .flatMap((node) => {
        const inside = draw(node.id, `${indent}  `)
        if (inside.length === 0) return [`${indent}${shape(node)}`]
        const title = escaped(`${node.id}: ${node.type}`)
        return [`${indent}subgraph ${nameOf(node.id)}["${title}"]`, ...inside, `${indent}end`]
      })
  const arrow = (edge: Edge): string => (whenOf(edge) ? `-->|"${escaped(whenOf(edge))}"|` : '-->')
  return [
    'flowchart TD',
    ...(nodes.some(({ type }) => type === START) ? [] : [`  ${nameOf(START)}(["${START}"])`]),
    ...draw(undefined, '  '),
    ...edges.map((edge) => `  ${nameOf(edge.from)} ${arrow(edge)} ${nameOf(edge.to)}`),
  ]
}

const escaped = (text: string): string => text.replaceAll('"', '#quot;').replaceAll('\n', ' ')

import { expect, test } from 'vitest'
import type { Graph } from '../../studio/src/diagram/graph.js'
import { compared, lineDiff } from '../../studio/src/pages/builder/model/diff.js'
import { moveNode, removeNodes } from '../../studio/src/pages/builder/model/edit.js'
import { after, begun } from '../../studio/src/pages/builder/model/history.js'
import { inputFields } from '../../studio/src/pages/builder/model/inputs.js'
import { copied, pasted, renameNode } from '../../studio/src/pages/builder/model/rename.js'

const graph: Graph = {
  id: 'g',
  nodes: [
    { id: 'a', type: 'set', config: { x: { cel: 'input.n' } } },
    {
      id: 'b',
      type: 'condition',
      config: { if: { cel: 'a.x > 1 && item.a == "a" && nodes["a"].x' } },
    },
    { id: 'c', type: 'set', config: { y: [{ cel: 'a' }, 'a'] } },
    { id: 'safe', type: 'try-catch' },
    { id: 'd', type: 'set', parent: 'safe', config: { z: { cel: 'input.m + input.n' } } },
  ],
  edges: [
    { from: 'trigger', to: 'a' },
    { from: 'a', to: 'b' },
    { from: 'b', to: 'c', when: true },
    { from: 'c', to: 'safe' },
  ],
  output: { cel: 'a.x' },
}

test('a node gets another id: edges and expressions follow, texts and fields of that name do not', () => {
  const { nodes, edges, output } = renameNode(graph, 'a', 'first')
  expect(nodes[1]?.config).toEqual({
    if: { cel: 'first.x > 1 && item.a == "a" && nodes["first"].x' },
  })
  expect(nodes[2]?.config).toEqual({ y: [{ cel: 'first' }, 'a'] })
  expect(edges.slice(0, 2)).toEqual([
    { from: 'trigger', to: 'first' },
    { from: 'first', to: 'b' },
  ])
  expect(output).toEqual({ cel: 'first.x' })
})

test('what led to a node that is deleted or moved leads on, and a box takes along what is inside of it', () => {
  const { edges } = removeNodes(graph, ['c'])
  expect(edges).toContainEqual({ from: 'b', to: 'safe', when: true })
  expect(removeNodes(graph, ['safe']).nodes.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
  const moved = moveNode(graph, 'c', { inside: 'safe', isHandler: true })
  expect(moved.edges.slice(-2)).toEqual([
    { from: 'b', to: 'safe', when: true },
    { from: 'safe', to: 'c', when: 'catch' },
  ])
})

test('nodes that are pasted have ids of their own, inside and between them too', () => {
  const { graph: twice, ids } = pasted(graph, copied(graph, ['c', 'safe']))
  expect(ids).toEqual(['c2', 'safe2'])
  expect(twice.nodes.slice(-1)).toMatchObject([{ id: 'd2', parent: 'safe2' }])
  expect(twice.edges.at(-1)).toEqual({ from: 'c2', to: 'safe2' })
})

test('what is typed in one go is undone at once, and a change behind an undo leaves nothing to do again', () => {
  const typed = (text: string, at: number) =>
    ({
      kind: 'change',
      to: (now: Graph) => ({ ...now, description: text }),
      about: 'd',
      at,
    }) as const
  let history = begun(graph)
  for (const [text, at] of [
    ['o', 0],
    ['on', 100],
    ['one', 9_000],
  ] as const) {
    history = after(history, typed(text, at))
  }
  history = after(history, { kind: 'undo' })
  expect(history.now.description).toBe('on')
  history = after(history, { kind: 'undo' })
  expect(history.now).toBe(graph)
  history = after(history, { kind: 'redo' })
  expect(history.now.description).toBe('on')
  expect(after(history, typed('other', 9_500)).future).toEqual([])
})

test('versions are compared by node and edge, and by line; where a node stands is no difference', () => {
  const [first, ...rest] = graph.nodes
  const newer = {
    ...removeNodes(graph, ['c']),
    nodes: [{ ...(first ?? { id: '', type: '' }), position: { x: 1, y: 2 } }, ...rest.slice(0, 1)],
  }
  const { nodes } = compared(graph, newer)
  const marks = Object.fromEntries(nodes.map(({ id, mark }) => [id, mark]))
  expect(marks).toMatchObject({ a: undefined, b: undefined, c: 'removed' })
  const lines = lineDiff('a\nb\nc\nd', 'a\nc\nx\nd').map(({ kind, text }) => `${kind} ${text}`)
  expect(lines).toEqual(['same a', 'removed b', 'same c', 'added x', 'same d'])
})

test('the fields of the input are those that expressions read', () => {
  expect(inputFields(graph)).toEqual(['n', 'm'])
})

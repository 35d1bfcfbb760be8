// The graph as text. What is typed is the graph as soon as it can be read.

import { useState } from 'react'
import { type Graph, isDict } from '../../diagram/graph.js'
import { plural } from '../../lib/format.js'
import { useEditing } from './use-editor.js'

/** A hundred can be saved. Some more may be there while somebody sorts them; what is far beyond that would only freeze the page. */
const NODES_MAX = 500

/** Throws what is wrong with it, in words. */
export function readGraph(text: string): Graph {
  const value: unknown = JSON.parse(text)
  if (!isDict(value)) throw new Error('A graph is an object.')
  const { id, nodes, edges } = value
  if (typeof id !== 'string') throw new Error('"id" must be a text.')
  const isNode = (one: unknown): boolean =>
    isDict(one) && typeof one.id === 'string' && typeof one.type === 'string'
  if (!Array.isArray(nodes) || !nodes.every(isNode)) {
    throw new Error('"nodes" must be a list of objects with "id" and "type".')
  }
  if (nodes.length > NODES_MAX) {
    throw new Error(`It has ${plural(nodes.length, 'node')}; more than ${NODES_MAX} are not read.`)
  }
  const isEdge = (one: unknown): boolean =>
    isDict(one) && typeof one.from === 'string' && typeof one.to === 'string'
  if (!Array.isArray(edges) || !edges.every(isEdge)) {
    throw new Error('"edges" must be a list of objects with "from" and "to".')
  }
  return value as unknown as Graph
}

export function JsonTab() {
  const { graph, change, problems } = useEditing()
  const [typed, setTyped] = useState<string | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const text = typed ?? JSON.stringify(graph, null, 2)
  const type = (next: string): void => {
    setTyped(next)
    try {
      const read = readGraph(next)
      if (read.id !== graph.id) throw new Error(`"id" stays "${graph.id}".`)
      change(() => read, 'json')
      setProblem(null)
    } catch (error) {
      setProblem((error as Error).message)
    }
  }
  return (
    <div className="json-tab">
      <textarea
        className="json-text"
        aria-label="The graph, as JSON"
        spellCheck={false}
        aria-invalid={problem !== null}
        value={text}
        onChange={({ target }) => type(target.value)}
      />
      <div className="json-foot" role="status">
        {problem !== null && <p className="field-problem">Not taken over yet: {problem}</p>}
        {problem === null &&
          problems.map(({ path, message }) => (
            <p key={path + message}>
              <code>{path}</code> {message}
            </p>
          ))}
        {problem === null && problems.length === 0 && (
          <p className="faint">Nothing to put right.</p>
        )}
      </div>
    </div>
  )
}

// The canvas with its palette, the properties of what is selected, and what is wrong.

import { useMemo } from 'react'
import { type Graph, wayOf } from '../../diagram/graph.js'
import {
  Diagram,
  type DiagramModel,
  type Editing,
  edgeId,
  graphModel,
  Outline,
  type Target,
} from '../../diagram/index.js'
import { plural } from '../../lib/format.js'
import { Icon } from '../../ui/icon.js'
import { said } from '../../ui/toast.js'
import {
  addNode,
  connect,
  isInside,
  moveNode,
  putDown,
  type Where,
  whereAfter,
  whereFor,
} from './model/edit.js'
import { marked } from './model/problems.js'
import { outsBy, type TypeInfo } from './model/types.js'
import { Palette } from './palette.js'
import { Properties } from './properties.js'
import { type Editor, useEditing } from './use-editor.js'
import { useNarrow } from './use-narrow.js'

export function EditTab() {
  const editor = useEditing()
  const { graph, types, problems, selected, select, reveal } = editor
  const model = useMemo(
    () => marked(graphModel(graph, null, outsBy(types)), problems),
    [graph, types, problems],
  )
  const editing = useCanvas(editor, model)
  const isNarrow = useNarrow()
  const pick = (type: TypeInfo): void => {
    const [chosen] = selected
    const edge = graph.edges.find((one) => edgeId({ ...one, label: wayOf(one) }) === chosen)
    add(
      editor,
      type.name,
      edge ? { between: edge } : whereFor(graph, chosen, type.name, outsBy(types)),
    )
  }
  if (isNarrow) return <NarrowView model={model} />
  return (
    <div className="builder-work">
      <Palette model={model} onPick={pick} />
      <div className="builder-canvas">
        <Diagram
          model={model}
          label="Canvas"
          selected={selected}
          onSelect={select}
          reveal={reveal}
          editing={editing}
        />
        {graph.nodes.length === 0 && (
          <p className="builder-hint">
            Drag a type of node from the left onto the canvas, or pick one with Enter.
          </p>
        )}
        <ProblemList />
      </div>
      <Properties />
    </div>
  )
}

function add(editor: Editor, type: string, where: Where): void {
  const info = editor.types.get(type)
  if (!info) return
  const { id, graph } = addNode(editor.graph, info, where)
  editor.change(() => graph)
  editor.select([id])
}

function useCanvas(editor: Editor, model: DiagramModel): Editing {
  const { graph, change } = editor
  return useMemo(
    () => ({
      onDropType: (type, target, at) => add(editor, type, whereOf(graph, model, target, at)),
      onConnect: (from, way, to) => {
        const next = connect(graph, from, way, to)
        if (next) change(() => next)
        else if (from !== to)
          said('They stand in different boxes: an edge leads from one to another in the same.')
      },
      onMove: (ids, target, places) => change((now) => moved(now, ids, target, places)),
    }),
    [editor, graph, change, model],
  )
}

function whereOf(
  graph: Graph,
  model: DiagramModel,
  target: Target,
  at: { readonly x: number; readonly y: number },
): Where {
  if (target.on === 'node') {
    const { outs = [] } = model.nodes.find(({ id }) => id === target.id) ?? {}
    return whereAfter(graph, target.id, outs)
  }
  if (target.on === 'box') return { inside: target.id, isHandler: target.isHandler }
  if (target.on === 'edge') {
    const edge = graph.edges.find((one) => edgeId({ ...one, label: wayOf(one) }) === target.id)
    if (edge) return { between: edge }
  }
  // Where the others were put by hand it stays where it was dropped.
  const isFree = model.nodes.some(({ position }) => position !== undefined)
  return { inside: null, ...((isFree || graph.nodes.length === 0) && { at }) }
}

/** Dragged into a box, out of one, onto an edge, or only elsewhere. */
function moved(
  graph: Graph,
  ids: readonly string[],
  target: Target,
  places: ReadonlyMap<string, { readonly x: number; readonly y: number }>,
): Graph {
  const [id] = ids
  if (ids.length !== 1 || id === undefined) return putDown(graph, places)
  const box = target.on === 'box' ? target.id : null
  const isHandler = target.on === 'box' && target.isHandler
  const isFree = !graph.edges.some(({ from, to }) => from === id || to === id)
  if (target.on === 'edge' && isFree) {
    const edge = graph.edges.find((one) => edgeId({ ...one, label: wayOf(one) }) === target.id)
    if (edge) return moveNode(graph, id, { between: edge })
  }
  const isElsewhere = target.on === 'box' || target.on === 'canvas'
  if (isElsewhere && !isInside(graph, id, box, isHandler)) {
    const at = places.get(id)
    return moveNode(graph, id, { inside: box, isHandler, ...(box === null && at && { at }) })
  }
  const { parent } = graph.nodes.find((node) => node.id === id) ?? {}
  // Inside of a box all is arranged: it goes back to its place there.
  return parent === undefined ? putDown(graph, places) : { ...graph }
}

function ProblemList() {
  const { problems, show, select, isChecked, graph } = useEditing()
  if (graph.nodes.length === 0) return null
  if (problems.length === 0) {
    return (
      <p className="builder-problems is-fine" role="status">
        <Icon name="check" size={12} /> {isChecked ? 'Nothing to put right' : 'Checking'}
      </p>
    )
  }
  return (
    <section className="builder-problems" aria-label="To put right">
      <h3>
        <Icon name="warning" size={12} /> {plural(problems.length, 'thing')} to put right
      </h3>
      <ul>
        {problems.map(({ path, message, about }) => (
          <li key={path + message}>
            <button type="button" onClick={() => (about === null ? select([]) : show(about))}>
              <code>{about ?? path}</code>
              <span>{message}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** On a narrow screen it can be read: the list, and the JSON of what is chosen. */
function NarrowView({ model }: { readonly model: DiagramModel }) {
  const { graph, selected, select } = useEditing()
  const node = graph.nodes.find(({ id }) => id === selected[0])
  return (
    <div className="builder-narrow">
      <p className="muted small">A graph is edited on a wider screen. This is what it has.</p>
      <Outline model={model} selected={selected} onSelect={select} />
      {node && <pre className="json-text">{JSON.stringify(node, null, 2)}</pre>}
    </div>
  )
}

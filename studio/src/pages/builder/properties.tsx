// What is selected, to be changed: a node, an edge, or the graph itself.

import { type GraphEdge, type GraphNode, wayOf } from '../../diagram/graph.js'
import { edgeId, TRIGGER, TypeIcon } from '../../diagram/index.js'
import { Button, IconButton } from '../../ui/button.js'
import { ConfigForm } from './config-form.js'
import { GraphForm } from './graph-form.js'
import {
  changeEdge,
  changeNode,
  isInside,
  moveNode,
  removeEdge,
  removeNodes,
} from './model/edit.js'
import { renameNode } from './model/rename.js'
import { isContainer, outsBy } from './model/types.js'
import { NextWays } from './next-ways.js'
import { useEditing } from './use-editor.js'
import { NameInput } from './value-field.js'

export function Properties() {
  const { graph, selected } = useEditing()
  const [only] = selected
  const node = graph.nodes.find(({ id }) => id === only)
  const edge = graph.edges.find((one) => edgeId({ ...one, label: wayOf(one) }) === only)
  return (
    <aside className="builder-properties" aria-label="Properties">
      {selected.length > 1 ? (
        <ManyForm />
      ) : node ? (
        <NodeForm key={node.id} node={node} />
      ) : edge ? (
        <EdgeForm edge={edge} />
      ) : (
        <GraphForm isTrigger={only === TRIGGER} />
      )}
    </aside>
  )
}

function ManyForm() {
  const { selected, change, select } = useEditing()
  return (
    <div className="stack">
      <h2>{selected.length} selected</h2>
      <p className="muted">
        Copy them with ⌘C or Ctrl-C, and paste them here or into another graph.
      </p>
      <div>
        <Button
          look="danger"
          onClick={() => {
            change((graph) => removeNodes(graph, selected))
            select([])
          }}
        >
          Delete them
        </Button>
      </div>
    </div>
  )
}

const ID = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/

function NodeForm({ node }: { readonly node: GraphNode }) {
  const { graph, types, change, select, problems } = useEditing()
  const { id } = node
  const type = types.get(node.type)
  const own = problems.filter(({ about }) => about === id)
  const set = (changes: Partial<GraphNode>, about: string): void =>
    change((now) => changeNode(now, id, changes), `${id} ${about}`)
  const rename = (to: string): void => {
    const isTaken = graph.nodes.some((one) => one.id === to)
    if (isTaken || !ID.test(to)) return
    change((now) => renameNode(now, id, to))
    select([to])
  }
  return (
    <div className="properties">
      <header className="properties-head">
        <span className="diagram-icon">
          <TypeIcon type={node.type} />
        </span>
        <div className="grow">
          <NameInput label="Id of the node" name={id} onChange={rename} />
          <p className="faint small">{type?.title ?? node.type}</p>
        </div>
        <IconButton
          label="Delete this node"
          icon="trash"
          onClick={() => {
            change((now) => removeNodes(now, [id]))
            select([])
          }}
        />
      </header>
      {type?.description && <p className="muted small">{type.description}</p>}
      {own.length > 0 && (
        <ul className="properties-problems" aria-label="To put right">
          {own.map(({ path, message }) => (
            <li key={path + message}>
              <code>{path.replace(/^nodes\[\d+\]\.?/, '')}</code> {message}
            </li>
          ))}
        </ul>
      )}
      {type && (
        <ConfigForm
          type={type}
          node={id}
          value={node.config}
          onChange={(config, path) => set({ config: config as GraphNode['config'] }, path)}
        />
      )}
      <NextWays node={node} />
      <details>
        <summary>More</summary>
        <div className="stack">
          <label className="field">
            <span>Name that people see</span>
            <input
              value={node.name ?? ''}
              placeholder={id}
              onChange={({ target }) => set({ name: target.value || undefined }, 'name')}
            />
          </label>
          <RetryFields node={node} onChange={set} />
          <BoxField node={node} />
        </div>
      </details>
    </div>
  )
}

function RetryFields({
  node: { retry, timeout, type },
  onChange,
}: {
  readonly node: GraphNode
  readonly onChange: (changes: Partial<GraphNode>, about: string) => void
}) {
  if (isContainer(type)) return null
  const attempts = typeof retry === 'number' ? retry : (retry as { attempts?: number })?.attempts
  const write = (count: number): void => {
    const next = Number.isNaN(count) ? undefined : count
    const isPolicy = typeof retry === 'object' && retry !== null && next !== undefined
    onChange({ retry: isPolicy ? { ...retry, attempts: next } : next }, 'retry')
  }
  return (
    <>
      <label className="field">
        <span>Tried again so often when it fails</span>
        <input
          type="number"
          min={0}
          value={attempts ?? ''}
          onChange={({ target }) => write(target.valueAsNumber)}
        />
      </label>
      <label className="field">
        <span>Time limit</span>
        <input
          placeholder="30 s, 5 min, 2 days"
          value={timeout === undefined ? '' : String(timeout)}
          onChange={({ target }) => onChange({ timeout: target.value || undefined }, 'timeout')}
        />
      </label>
    </>
  )
}

/** Into a box and out of it, without a mouse. */
function BoxField({ node: { id, parent } }: { readonly node: GraphNode }) {
  const { graph, change } = useEditing()
  const boxes = graph.nodes.filter((one) => isContainer(one.type) && one.id !== id)
  if (boxes.length === 0) return null
  const isHandler = parent !== undefined && isInside(graph, id, parent, true)
  const move = (to: string): void => {
    const [box = '', part] = to.split(' ')
    const where = { inside: box === '' ? null : box, isHandler: part === 'catch' }
    change((now) => moveNode(now, id, where))
  }
  return (
    <label className="field">
      <span>Stands in</span>
      <select
        value={`${parent ?? ''}${isHandler ? ' catch' : ''}`}
        onChange={({ target }) => move(target.value)}
      >
        <option value="">no box</option>
        {boxes.flatMap((box) => [
          <option key={box.id} value={box.id}>
            {box.id}
          </option>,
          ...(box.type === 'try-catch'
            ? [
                <option key={`${box.id} catch`} value={`${box.id} catch`}>
                  {box.id}, when it fails
                </option>,
              ]
            : []),
        ])}
      </select>
    </label>
  )
}

function EdgeForm({ edge }: { readonly edge: GraphEdge }) {
  const { graph, types, change, select, problems } = useEditing()
  const source = graph.nodes.find(({ id }) => id === edge.from)
  const named = source ? (types.get(source.type)?.outputs ?? outsBy(types)(source)) : []
  const way = wayOf(edge)
  const own = edgeId({ ...edge, label: way })
  const ways = [...new Set([...named, ...(source ? outsBy(types)(source) : []), way])]
  return (
    <div className="properties">
      <h2>
        {edge.from} → {edge.to}
      </h2>
      {problems
        .filter(({ about }) => about === own)
        .map(({ message }) => (
          <p key={message} className="expression-error">
            {message}
          </p>
        ))}
      {ways.some((one) => one !== '') && (
        <label className="field">
          <span>Taken when</span>
          <select
            value={way}
            onChange={({ target }) => {
              change((now) => changeEdge(now, edge, target.value))
              select([edgeId({ ...edge, label: target.value })])
            }}
          >
            <option value="">no other edge is named</option>
            {ways
              .filter((one) => one !== '')
              .map((one) => (
                <option key={one}>{one}</option>
              ))}
          </select>
        </label>
      )}
      <p className="muted small">Drop a type of the palette onto the edge to insert a node here.</p>
      <div>
        <Button
          look="danger"
          icon="trash"
          onClick={() => {
            change((now) => removeEdge(now, edge))
            select([])
          }}
        >
          Delete this edge
        </Button>
      </div>
    </div>
  )
}

// Where a node goes on to, by each way out of it: edges without a mouse.

import { type GraphNode, wayOf } from '../../diagram/graph.js'
import { IconButton } from '../../ui/button.js'
import { connect, removeEdge } from './model/edit.js'
import { outsBy } from './model/types.js'
import { useEditing } from './use-editor.js'

export function NextWays({ node }: { readonly node: Pick<GraphNode, 'id' | 'type'> }) {
  const { graph, types } = useEditing()
  const full = graph.nodes.find(({ id }) => id === node.id)
  const named = full ? outsBy(types)(full) : []
  const ways = named.length > 0 ? named : ['']
  return (
    <section className="next-ways" aria-label="Goes on to">
      <h3>Goes on to</h3>
      {ways.map((way) => (
        <NextWay key={way} from={node.id} way={way} />
      ))}
    </section>
  )
}

function NextWay({ from, way }: { readonly from: string; readonly way: string }) {
  const { graph, change, show } = useEditing()
  const source = graph.nodes.find(({ id }) => id === from)
  const edges = graph.edges.filter((edge) => edge.from === from && wayOf(edge) === way)
  const beside = graph.nodes.filter(
    ({ id, parent, type }) =>
      id !== from &&
      parent === source?.parent &&
      type !== 'on-error' &&
      !edges.some(({ to }) => to === id),
  )
  const add = (to: string): void => change((now) => connect(now, from, way, to) ?? now)
  return (
    <div className="next-way">
      {way !== '' && <span className="next-name">{way}</span>}
      {edges.map((edge) => (
        <span key={edge.to} className="next-target">
          <button type="button" onClick={() => show(edge.to)}>
            {edge.to}
          </button>
          <IconButton
            label={`Not to ${edge.to} any more`}
            icon="close"
            onClick={() => change((now) => removeEdge(now, edge))}
          />
        </span>
      ))}
      {beside.length > 0 && (
        <select
          className="next-add"
          aria-label={`Lead on to${way === '' ? '' : `, ${way}`}`}
          value=""
          onChange={({ target }) => add(target.value)}
        >
          <option value="">+ node</option>
          {beside.map(({ id }) => (
            <option key={id}>{id}</option>
          ))}
        </select>
      )}
    </div>
  )
}

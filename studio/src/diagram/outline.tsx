// A diagram as a list: the same nodes in the order of the graph, for keyboards, screen readers and narrow screens.

import { duration } from '../lib/format.js'
import { StatusShape } from '../ui/status.js'
import { TypeIcon } from './type-icon.js'
import { type DiagramModel, type DiagramNode, STATE_WORDS, STATUS_OF, TRIGGER } from './types.js'

export function Outline({
  model,
  selected,
  onSelect,
}: {
  readonly model: DiagramModel
  readonly selected: readonly string[]
  readonly onSelect: (ids: readonly string[]) => void
}) {
  return (
    <ul className="outline" aria-label="Nodes">
      <Level model={model} parent={undefined} selected={selected} onSelect={onSelect} />
    </ul>
  )
}

function Level(props: Parameters<typeof Outline>[0] & { readonly parent: string | undefined }) {
  const { model, parent, selected, onSelect } = props
  const level = model.nodes.filter((node) => node.parent === parent)
  return level.map((node) => {
    const isBox = model.nodes.some((one) => one.parent === node.id)
    return (
      <li key={node.id}>
        <button
          type="button"
          className="outline-item"
          aria-pressed={selected.includes(node.id)}
          onClick={() => onSelect([node.id])}
        >
          <TypeIcon type={node.type ?? ''} size={14} />
          <span className="grow">
            <span className="outline-label">{node.label}</span>
            <span className="outline-sub">{wordsOf(node, model)}</span>
          </span>
          <State node={node} />
        </button>
        {isBox && (
          <ul>
            <Level {...props} parent={node.id} />
          </ul>
        )}
      </li>
    )
  })
}

function State({ node: { state, ms = null, problems = 0 } }: { readonly node: DiagramNode }) {
  if (problems > 0) return <span className="diagram-problems">{problems}</span>
  if (state === undefined) return null
  return (
    <span className="outline-state" title={STATE_WORDS[state]}>
      {ms !== null && <span className="faint">{duration(ms)}</span>}
      <StatusShape status={STATUS_OF[state]} />
      <span className="hidden">{STATE_WORDS[state]}</span>
    </span>
  )
}

/** Its type, and where it leads. */
function wordsOf(node: DiagramNode, { edges }: DiagramModel): string {
  const next = edges
    .filter(({ from }) => from === node.id)
    .map(({ to, label }) => (label === '' ? to : `${label}: ${to}`))
  const what = node.id === TRIGGER ? 'trigger' : node.sub
  const type = [what, node.numbers].filter(Boolean).join(' · ')
  const place = node.isHandler ? `${type}, when it fails` : type
  return next.length === 0 ? place : `${place} → ${next.join(', ')}`
}

// The types of nodes, to be dragged onto the canvas or picked with a key; and the nodes that are there, as a list.

import { useState } from 'react'
import { type DiagramModel, DRAGGED_TYPE, Outline, TypeIcon } from '../../diagram/index.js'
import type { TypeInfo } from './model/types.js'
import { useEditing } from './use-editor.js'

const GROUPS: Readonly<Record<string, string>> = {
  call: 'Do',
  flow: 'Decide',
  container: 'Around others',
  data: 'Data',
  time: 'Wait',
}
const ORDER = ['call', 'flow', 'container', 'data', 'time']
/** The first one is always there. */
const HIDDEN = ['trigger']

export function Palette({
  model,
  onPick,
}: {
  readonly model: DiagramModel
  readonly onPick: (type: TypeInfo) => void
}) {
  const { types, selected, show } = useEditing()
  const [side, setSide] = useState<'types' | 'nodes'>('types')
  const [text, setText] = useState('')
  const found = [...types.values()].filter(
    (type) => !HIDDEN.includes(type.name) && matches(type, text),
  )
  const groups = [...new Set([...ORDER, ...found.map(({ group }) => group)])]
  return (
    <aside className="builder-palette" aria-label="Palette">
      <div className="palette-sides">
        <button type="button" aria-pressed={side === 'types'} onClick={() => setSide('types')}>
          Add
        </button>
        <button type="button" aria-pressed={side === 'nodes'} onClick={() => setSide('nodes')}>
          Nodes
        </button>
      </div>
      {side === 'nodes' ? (
        <Outline
          model={model}
          selected={selected}
          onSelect={([id]) => id !== undefined && show(id)}
        />
      ) : (
        <>
          <input
            className="input palette-search"
            type="search"
            id="palette-search"
            aria-label="Search the types of nodes"
            placeholder="Search"
            value={text}
            onChange={({ target }) => setText(target.value)}
            onKeyDown={({ key }) => {
              const [first] = found
              if (key === 'Enter' && first) onPick(first)
            }}
          />
          {groups.map((group) => {
            const own = found.filter((type) => type.group === group)
            if (own.length === 0) return null
            return (
              <section key={group} aria-label={GROUPS[group] ?? group}>
                <h3>{GROUPS[group] ?? group}</h3>
                {own.map((type) => (
                  <PaletteItem key={type.name} type={type} onPick={onPick} />
                ))}
              </section>
            )
          })}
          {found.length === 0 && <p className="faint small">No type is called that.</p>}
        </>
      )}
    </aside>
  )
}

function PaletteItem({
  type,
  onPick,
}: {
  readonly type: TypeInfo
  readonly onPick: (type: TypeInfo) => void
}) {
  return (
    <button
      type="button"
      className="palette-item"
      draggable
      title={type.description ?? type.title}
      onClick={() => onPick(type)}
      onDragStart={({ dataTransfer }) => {
        dataTransfer.setData(DRAGGED_TYPE, type.name)
        dataTransfer.effectAllowed = 'copy'
      }}
    >
      <TypeIcon type={type.name} />
      <span className="truncate">{type.title}</span>
    </button>
  )
}

function matches({ name, title, description }: TypeInfo, text: string): boolean {
  const asked = text.trim().toLowerCase()
  return [name, title, description ?? ''].some((one) => one.toLowerCase().includes(asked))
}

// The versions of a graph, and what has changed between two of them: on the canvas and as text.

import { useMemo, useState } from 'react'
import { useSearch } from '../../app/router.js'
import type { Graph } from '../../diagram/graph.js'
import { Diagram, type DiagramModel } from '../../diagram/index.js'
import { Button } from '../../ui/button.js'
import { Empty, Skeleton } from '../../ui/empty.js'
import { Ago } from '../../ui/time.js'
import { compared, type Line, lineDiff } from './model/diff.js'
import { useVersion, useVersions } from './queries.js'
import { useEditing } from './use-editor.js'

const numberOf = (text: string | null): number | null => {
  const read = Number(text ?? Number.NaN)
  return Number.isInteger(read) && read > 0 ? read : null
}

export function VersionsTab() {
  const { graph, base, isDirty } = useEditing()
  const versions = useVersions(graph.id, base > 0)
  const [search, setSearch] = useSearch()
  const newest = versions.data?.[0]?.version ?? null
  /** null: what is being edited. */
  const newer = search.has('to') ? numberOf(search.get('to')) : isDirty ? null : newest
  const older = numberOf(search.get('from')) ?? (newer === null ? base : Math.max(1, newer - 1))
  const left = useVersion(graph.id, older === 0 ? null : older)
  const right = useVersion(graph.id, newer)
  if (base === 0) {
    return <Empty title="No versions yet">Each time it is saved a version is added here.</Empty>
  }
  if (versions.isPending) return <Skeleton lines={8} />
  const now = newer === null ? graph : right.data?.graph
  return (
    <div className="builder-work is-wide">
      <aside className="builder-palette" aria-label="Versions">
        {isDirty && (
          <VersionItem
            title="Not saved yet"
            isChosen={newer === null}
            onClick={() => setSearch({ to: 'draft', from: String(base) })}
          >
            what is on the canvas
          </VersionItem>
        )}
        {(versions.data ?? []).map(({ version, note, createdAt }) => (
          <VersionItem
            key={version}
            title={`Version ${version}`}
            isChosen={newer === version}
            onClick={() => setSearch({ to: String(version), from: null })}
          >
            {note ?? <span className="faint">no note</span>} · <Ago at={createdAt} />
          </VersionItem>
        ))}
      </aside>
      {left.data && now ? (
        <Comparison
          older={{ name: String(older), graph: left.data.graph }}
          newer={{ name: newer === null ? 'not saved' : String(newer), graph: now }}
          versions={(versions.data ?? []).map(({ version }) => version)}
          onOlder={(version) => setSearch({ from: version })}
        />
      ) : (
        <Skeleton lines={8} />
      )}
    </div>
  )
}

function VersionItem({
  title,
  isChosen,
  onClick,
  children,
}: {
  readonly title: string
  readonly isChosen: boolean
  readonly onClick: () => void
  readonly children: React.ReactNode
}) {
  return (
    <button type="button" className="version-item" aria-pressed={isChosen} onClick={onClick}>
      <strong>{title}</strong>
      <span className="small">{children}</span>
    </button>
  )
}

interface Side {
  readonly name: string
  readonly graph: Graph
}

function Comparison({
  older,
  newer,
  versions,
  onOlder,
}: {
  readonly older: Side
  readonly newer: Side
  readonly versions: readonly number[]
  readonly onOlder: (version: string) => void
}) {
  const { change, graph } = useEditing()
  const model = useMemo(() => compared(older.graph, newer.graph), [older.graph, newer.graph])
  const lines = useMemo(() => lineDiff(textOf(older.graph), textOf(newer.graph)), [older, newer])
  const [isText, setText] = useState(false)
  const take = newer.graph !== graph && newer.name !== 'not saved'
  return (
    <div className="builder-canvas">
      <div className="comparison-head">
        <label className="row">
          <span className="muted">From version</span>
          <select
            className="input"
            aria-label="The older version"
            value={older.name}
            onChange={({ target }) => onOlder(target.value)}
          >
            {versions.map((version) => (
              <option key={version}>{version}</option>
            ))}
          </select>
        </label>
        <span className="muted">
          to {newer.name === 'not saved' ? 'what is not saved' : `version ${newer.name}`}:
        </span>
        <Summary model={model} />
        <span className="grow" />
        <Button look="quiet" aria-pressed={isText} onClick={() => setText(!isText)}>
          {isText ? 'As a diagram' : 'As text'}
        </Button>
        {take && (
          <Button onClick={() => change(() => newer.graph)}>Edit from version {newer.name}</Button>
        )}
      </div>
      {isText ? <TextDiff lines={lines} /> : <Diagram model={model} label="Comparison" />}
    </div>
  )
}

const textOf = (graph: Graph): string => JSON.stringify(graph, null, 2)

function Summary({ model: { nodes, edges } }: { readonly model: DiagramModel }) {
  const count = (mark: string): number =>
    [...nodes, ...edges].filter((one) => one.mark === mark).length
  const all = (['added', 'removed', 'changed'] as const).filter((mark) => count(mark) > 0)
  if (all.length === 0) return <span className="faint">nothing that can be seen here</span>
  return (
    <span className="row" role="status">
      {all.map((mark) => (
        <span key={mark} className={`comparison-count mark-${mark}`}>
          {count(mark)} {mark}
        </span>
      ))}
    </span>
  )
}

const SIGNS = { same: ' ', added: '+', removed: '−' } as const
const AROUND = 3

/** What is the same is folded away, but for a few lines around what is not. */
function TextDiff({ lines }: { readonly lines: readonly Line[] }) {
  const isNear = (at: number): boolean =>
    lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some(({ kind }) => kind !== 'same')
  const shown = lines.map((line, at) => ({ ...line, at, isNear: isNear(at) }))
  return (
    <div className="text-diff" role="region" aria-label="Comparison, as text" tabIndex={0}>
      {shown.map(({ kind, text, at, isNear: isShown }) => {
        if (isShown) {
          return (
            <div key={at} className={`diff-line is-${kind}`}>
              <span>{SIGNS[kind]}</span>
              {text}
            </div>
          )
        }
        return shown[at - 1]?.isNear !== false ? (
          <div key={at} className="diff-fold">
            ⋯
          </div>
        ) : null
      })}
    </div>
  )
}

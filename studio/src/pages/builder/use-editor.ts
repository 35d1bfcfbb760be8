// The graph that is being edited: what was done to it, what is selected, what is wrong with it.

import { createContext, useContext, useEffect, useMemo, useReducer, useState } from 'react'
import { workspaceOf } from '../../api/session.js'
import type { Graph } from '../../diagram/graph.js'
import { after, begun, type History } from './model/history.js'
import { type Located, located } from './model/problems.js'
import type { Types } from './model/types.js'
import { type Stored, useProblems } from './queries.js'

export interface Editor {
  readonly graph: Graph
  readonly types: Types
  /** The version that it was made from; 0: it is new. */
  readonly base: number
  readonly isDirty: boolean
  readonly canUndo: boolean
  readonly canRedo: boolean
  readonly selected: readonly string[]
  readonly reveal: { readonly id: string; readonly no: number } | undefined
  readonly problems: readonly Located[]
  /** Whether `problems` are those of the graph as it is now. */
  readonly isChecked: boolean
  /** `about`: changes of one thing in one go are undone together. */
  change(to: (graph: Graph) => Graph, about?: string): void
  undo(): void
  redo(): void
  select(ids: readonly string[]): void
  /** Selects it and brings it into view. */
  show(id: string): void
  /** It has been saved as this. */
  saved(version: number): void
  /** What is stored, or another graph, instead of what was edited. */
  restart(graph: Graph, version: number): void
}

const EditorContext = createContext<Editor | null>(null)
export const EditorProvider = EditorContext.Provider

export function useEditing(): Editor {
  const editor = useContext(EditorContext)
  if (editor === null) throw new Error('There is no editor around this.')
  return editor
}

interface Kept {
  readonly graph: Graph
  readonly base: number
}

const keyOf = (name: string): string => `perdure.draft ${workspaceOf() ?? ''} ${name}`

/** What was edited in this tab and not saved. */
function keptDraft(name: string): Kept | null {
  try {
    return JSON.parse(sessionStorage.getItem(keyOf(name)) ?? 'null') as Kept | null
  } catch {
    return null
  }
}

export const keepDraft = (name: string, kept: Kept): void =>
  sessionStorage.setItem(keyOf(name), JSON.stringify(kept))

const emptyGraph = (id: string): Graph => ({ id, nodes: [], edges: [] })
const textOf = (graph: Graph): string => JSON.stringify(graph)
const firstOf = ({ graph }: Kept): History => begun(graph)

export function useEditor(name: string, stored: Stored | null, types: Types): Editor {
  const [start] = useState<Kept>(
    () =>
      keptDraft(name) ?? { graph: stored?.graph ?? emptyGraph(name), base: stored?.version ?? 0 },
  )
  const [history, act] = useReducer(after, start, firstOf)
  const [base, setBase] = useState({
    version: start.base,
    text: textOf(stored?.version === start.base ? stored.graph : emptyGraph(name)),
  })
  const [selected, select] = useState<readonly string[]>([])
  const [reveal, setReveal] = useState<Editor['reveal']>()
  const { now: graph } = history
  const isDirty = useMemo(() => textOf(graph) !== base.text, [graph, base])
  useKept(name, { graph, base: base.version }, isDirty)
  const checked = useProblems(graph)
  const problems = useMemo(
    () => (checked ? located(checked.graph, checked.problems) : []),
    [checked],
  )
  return {
    graph,
    types,
    base: base.version,
    isDirty,
    canUndo: history.past.length > 0,
    canRedo: history.future.length > 0,
    selected,
    reveal,
    problems,
    isChecked: checked?.graph === graph,
    change: (to, about) =>
      act({ kind: 'change', to, ...(about !== undefined && { about }), at: Date.now() }),
    undo: () => act({ kind: 'undo' }),
    redo: () => act({ kind: 'redo' }),
    select,
    show: (id) => {
      select([id])
      setReveal((last) => ({ id, no: (last?.no ?? 0) + 1 }))
    },
    saved: (version) => setBase({ version, text: textOf(graph) }),
    restart: (other, version) => {
      act({ kind: 'replace', by: other })
      setBase({ version, text: textOf(other) })
      select([])
    },
  }
}

/** Leaving the page keeps what is not saved for this tab; closing the tab is asked about. */
function useKept(name: string, kept: Kept, isDirty: boolean): void {
  const { graph, base } = kept
  useEffect(() => {
    if (!isDirty) return sessionStorage.removeItem(keyOf(name))
    keepDraft(name, { graph, base })
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [name, graph, base, isDirty])
}

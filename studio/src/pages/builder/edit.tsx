// One graph: edited, as text, its versions, its runs.

import { lazy, Suspense, useState } from 'react'
import { Link, useSearch } from '../../app/router.js'
import { useTitle } from '../../app/title.js'
import { Button, IconButton } from '../../ui/button.js'
import { Problem, Skeleton } from '../../ui/empty.js'
import { Tabs } from '../../ui/tabs.js'
import '../../forms/forms.css'
import './builder.css'
import { EditTab } from './edit-tab.js'
import { Files } from './files.js'
import { arranged } from './model/edit.js'
import type { Types } from './model/types.js'
import { NewDialog } from './new-dialog.js'
import { mayEdit, type Stored, useNodeTypes, useRole, useStored } from './queries.js'
import { RunDialog } from './run-dialog.js'
import { SaveDialog } from './save-dialog.js'
import { EditorProvider, useEditing, useEditor } from './use-editor.js'
import { useEditorKeys } from './use-editor-keys.js'

const JsonTab = lazy(async () => ({ default: (await import('./json-tab.js')).JsonTab }))
const VersionsTab = lazy(async () => ({ default: (await import('./versions-tab.js')).VersionsTab }))
const ExecutionsTab = lazy(async () => ({
  default: (await import('./executions-tab.js')).ExecutionsTab,
}))

const TABS = [
  { name: 'canvas', label: 'Canvas' },
  { name: 'json', label: 'JSON' },
  { name: 'versions', label: 'Versions' },
  { name: 'executions', label: 'Executions' },
] as const
type TabName = (typeof TABS)[number]['name']
type Opened = 'save' | 'run' | 'copy'

export function Page({ params }: { readonly params: Readonly<Record<string, string>> }) {
  const name = params.name ?? ''
  useTitle(name)
  const types = useNodeTypes()
  const [search] = useSearch()
  const stored = useStored(name, search.has('new'))
  if (types.isError) return <Problem error={types.error} what="The types of nodes are not known." />
  if (stored.isError) return <Problem error={stored.error} what="The graph could not be read." />
  if (!types.data || stored.data === undefined) return <Skeleton lines={12} />
  return <Builder key={name} name={name} stored={stored.data} types={types.data} />
}

function Builder({
  name,
  stored,
  types,
}: {
  readonly name: string
  readonly stored: Stored | null
  readonly types: Types
}) {
  const editor = useEditor(name, stored, types)
  const [search, setSearch] = useSearch()
  const at = TABS.find((tab) => tab.name === search.get('tab'))?.name ?? 'canvas'
  const [opened, setOpened] = useState<Opened | null>(null)
  useEditorKeys(editor, at === 'canvas', () => setOpened('save'))
  const go = (tab: TabName): void =>
    setSearch({ tab: tab === 'canvas' ? null : tab, run: null, from: null, to: null })
  return (
    <EditorProvider value={editor}>
      <div className="builder">
        <header className="builder-head">
          <Link to="/builder" className="builder-back">
            Builder
          </Link>
          <h1 className="truncate">{name}</h1>
          <Standing stored={stored} />
          <Tabs tabs={TABS} at={at} onChange={go} panel="builder-panel" />
          <span className="grow" />
          <Tools isCanvas={at === 'canvas'} onCopy={() => setOpened('copy')} />
          <Actions isShared={stored?.isShared ?? false} onOpen={setOpened} />
        </header>
        <div
          id="builder-panel"
          role="tabpanel"
          aria-labelledby={`tab-${at}`}
          className="builder-panel"
        >
          <Suspense fallback={<Skeleton lines={8} />}>
            {at === 'canvas' && <EditTab />}
            {at === 'json' && <JsonTab />}
            {at === 'versions' && <VersionsTab />}
            {at === 'executions' && <ExecutionsTab />}
          </Suspense>
        </div>
      </div>
      {opened === 'save' && <SaveDialog onClose={() => setOpened(null)} />}
      {opened === 'run' && <RunDialog onClose={() => setOpened(null)} />}
      {opened === 'copy' && <NewDialog from={editor.graph} onClose={() => setOpened(null)} />}
    </EditorProvider>
  )
}

function Standing({ stored }: { readonly stored: Stored | null }) {
  const { base, isDirty, restart } = useEditing()
  if (!isDirty) {
    return <span className="builder-standing">{base === 0 ? 'new' : `version ${base}`}</span>
  }
  return (
    <span className="row">
      <span className="builder-standing is-dirty">
        {base === 0 ? 'new, not saved' : `version ${base}, changed`}
      </span>
      {stored && (
        <Button look="quiet" onClick={() => restart(stored.graph, stored.version)}>
          Discard
        </Button>
      )}
    </span>
  )
}

function Tools({ isCanvas, onCopy }: { readonly isCanvas: boolean; readonly onCopy: () => void }) {
  const { undo, redo, canUndo, canRedo, change, graph } = useEditing()
  const isPlaced = graph.nodes.some(({ position }) => position !== undefined)
  return (
    <span className="builder-tools">
      <IconButton label="Undo (Ctrl-Z)" icon="undo" disabled={!canUndo} onClick={undo} />
      <IconButton label="Redo (Ctrl-Shift-Z)" icon="redo" disabled={!canRedo} onClick={redo} />
      {isCanvas && (
        <IconButton
          label={isPlaced ? 'Arrange by itself' : 'It is arranged by itself'}
          icon="arrange"
          disabled={!isPlaced}
          onClick={() => change(arranged)}
        />
      )}
      <IconButton label="Copy as another graph" icon="copy" onClick={onCopy} />
      <Files />
    </span>
  )
}

function Actions({
  isShared,
  onOpen,
}: {
  readonly isShared: boolean
  readonly onOpen: (what: Opened) => void
}) {
  const { isDirty, problems, isChecked, graph } = useEditing()
  const role = useRole()
  const isAuthor = mayEdit(role)
  const isWrong = graph.nodes.length === 0 || problems.length > 0
  const why = whyNot(role, isAuthor, isShared, graph.nodes.length === 0, isWrong)
  const canSave = isDirty && isAuthor && !isShared && !isWrong && isChecked
  const canRun = role !== 'viewer' && !isWrong && (!isDirty || canSave)
  return (
    <span className="row">
      <Button
        disabled={!canSave}
        title={isDirty ? why : 'Nothing has changed.'}
        onClick={() => onOpen('save')}
      >
        Save
      </Button>
      <Button
        look="primary"
        icon="play"
        disabled={!canRun}
        title={canRun ? undefined : why}
        onClick={() => onOpen('run')}
      >
        Run
      </Button>
    </span>
  )
}

function whyNot(
  role: string | null,
  isAuthor: boolean,
  isShared: boolean,
  isEmpty: boolean,
  isWrong: boolean,
): string | undefined {
  if (!isAuthor) return `Your token is that of a ${role}: it saves no graphs.`
  if (isEmpty) return 'It has no nodes yet.'
  if (isWrong) return 'There is something to put right first.'
  if (isShared) return 'It is for all workspaces, and is saved in code. Copy it as another graph.'
  return undefined
}

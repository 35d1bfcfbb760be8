// Starts a run. What is not saved yet is saved first: a run has a version.

import { type FormEvent, useState } from 'react'
import { api } from '../../api/api.js'
import { useSearch } from '../../app/router.js'
import { type Dict, isDict } from '../../diagram/graph.js'
import { Button } from '../../ui/button.js'
import { Dialog } from '../../ui/dialog.js'
import { Problem } from '../../ui/empty.js'
import { inputFields } from './model/inputs.js'
import { useRunsOf } from './queries.js'
import { useSave } from './save-dialog.js'
import { useEditing } from './use-editor.js'
import { ValueField, type ValueKind } from './value-field.js'

const KINDS: readonly ValueKind[] = ['fields', 'json', 'text', 'number']

export function RunDialog({ onClose }: { readonly onClose: () => void }) {
  const editor = useEditing()
  const { graph, isDirty, base } = editor
  const save = useSave()
  const [, setSearch] = useSearch()
  const last = useRunsOf(graph.id).data?.[0]?.input
  const [given, setGiven] = useState<unknown>(undefined)
  const [error, setError] = useState<unknown>(null)
  const [isStarting, setStarting] = useState(false)
  const value = given ?? firstInput(inputFields(graph), last)
  const start = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    setStarting(true)
    setError(null)
    try {
      const version = isDirty ? await save('', base) : base
      const handle = await api().client.start(graph.id, value, { version })
      setSearch({ tab: 'executions', run: handle.id }, { replace: false })
      onClose()
    } catch (refusal) {
      setError(refusal)
    } finally {
      setStarting(false)
    }
  }
  return (
    <Dialog title={`Run ${graph.id}`} onClose={onClose} width={480}>
      <form className="stack" onSubmit={(event) => void start(event)}>
        <ValueField label="Input" value={value} onChange={setGiven} node={null} kinds={KINDS} />
        {error !== null && <Problem error={error} what="It was not started." />}
        <div className="dialog-foot">
          <span className="faint small grow">
            {isDirty ? `Saves version ${base + 1} first.` : `Runs version ${base}.`}
          </span>
          <Button type="submit" look="primary" icon="play" disabled={isStarting}>
            {isDirty ? 'Save and run' : 'Run'}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

/** The fields that expressions read, with what the last run was given. */
function firstInput(names: readonly string[], last: unknown): unknown {
  if (last !== undefined && !isDict(last)) return last
  const known: Dict = last ?? {}
  return Object.fromEntries(
    [...new Set([...names, ...Object.keys(known)])].map((name) => [name, known[name] ?? '']),
  )
}

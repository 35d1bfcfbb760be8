import { useQueryClient } from '@tanstack/react-query'
import type { GraphJson } from 'perdure'
import { type FormEvent, useState } from 'react'
import { PerdureError } from '#errors'
import { api } from '../../api/api.js'
import { useSearch } from '../../app/router.js'
import { Button } from '../../ui/button.js'
import { Dialog } from '../../ui/dialog.js'
import { Problem } from '../../ui/empty.js'
import { said } from '../../ui/toast.js'
import { useEditing } from './use-editor.js'

/** Saves what is edited as a new version; gives its number. */
export function useSave() {
  const editor = useEditing()
  const queries = useQueryClient()
  const [, setSearch] = useSearch()
  return async (note: string, expected: number): Promise<number> => {
    const json = editor.graph as unknown as GraphJson
    const options = { expected, ...(note !== '' && { note }) }
    const { version } = await api().client.graphs.save(json, options)
    editor.saved(version)
    setSearch({ new: null })
    void queries.invalidateQueries({ queryKey: ['graph', editor.graph.id] })
    void queries.invalidateQueries({ queryKey: ['graphs'] })
    return version
  }
}

export function SaveDialog({ onClose }: { readonly onClose: () => void }) {
  const editor = useEditing()
  const save = useSave()
  const [note, setNote] = useState('')
  const [error, setError] = useState<unknown>(null)
  const [expected, setExpected] = useState(editor.base)
  const [isSaving, setSaving] = useState(false)
  const isOld = PerdureError.is(error, 'VERSION_CHANGED')
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault()
    setSaving(true)
    try {
      said(`Saved as version ${await save(note, expected)}.`)
      onClose()
    } catch (refusal) {
      setError(refusal)
      if (PerdureError.is(refusal, 'VERSION_CHANGED')) {
        const now = await api().client.graphs.get(editor.graph.id)
        setExpected(now?.version ?? 0)
      }
    } finally {
      setSaving(false)
    }
  }
  return (
    <Dialog title={`Save as version ${expected + 1}`} onClose={onClose} width={440}>
      <form className="stack" onSubmit={(event) => void submit(event)}>
        <p className="muted">
          Runs that are started from now on take it. Those that go on keep the version they have.
        </p>
        <label className="field">
          <span>Note (optional)</span>
          <input
            value={note}
            maxLength={1000}
            placeholder="What has changed"
            onChange={({ target }) => setNote(target.value)}
          />
        </label>
        {error !== null && <Problem error={error} what="It was not saved." />}
        {isOld && (
          <p className="muted">
            Somebody has saved version {expected} since. Saving again puts yours on top of it; the
            tab Versions shows what differs.
          </p>
        )}
        <div className="dialog-foot">
          <Button type="submit" look="primary" disabled={isSaving}>
            {isOld ? `Save on top of version ${expected}` : 'Save'}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

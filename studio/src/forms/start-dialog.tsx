// Starts a run: which workflow, and its input in a form made of its schema.

import { useQueryClient } from '@tanstack/react-query'
import type { Description } from 'perdure'
import { useState } from 'react'
import { api } from '../api/api.js'
import { useDefinition, useDefinitions } from '../api/queries.js'
import { navigate, runPath } from '../app/router.js'
import { Dialog } from '../ui/dialog.js'
import { said } from '../ui/toast.js'
import { SchemaForm } from './schema-form.js'

export function StartDialog({
  workflow,
  onClose,
}: {
  readonly workflow?: string | undefined
  readonly onClose: () => void
}) {
  const definitions = useDefinitions().data ?? []
  // Tasks are steps of others; what people start comes first.
  const sorted = definitions.toSorted((a, b) => rankOf(a) - rankOf(b))
  const [name, setName] = useState(workflow ?? sorted[0]?.name ?? '')
  const [id, setId] = useState('')
  // A graph that is stored is not in the list.
  const listed = definitions.find((one) => one.name === name)
  const asked = useDefinition(listed || name === '' ? undefined : name).data
  const chosen = listed ?? asked
  const queries = useQueryClient()
  const start = async (input: unknown): Promise<void> => {
    const options = id.trim() === '' ? {} : { id: id.trim() }
    const run = await api().client.start(name as never, input as never, options as never)
    said(`${run.id} is started`)
    void queries.invalidateQueries({ queryKey: ['stats'] })
    onClose()
    navigate(runPath(run.id))
  }
  return (
    <Dialog title="Start a run" onClose={onClose}>
      <label className="field">
        <span>Workflow</span>
        <select value={name} onChange={(event) => setName(event.target.value)}>
          {!listed && <option>{name}</option>}
          {sorted.map((one) => (
            <option key={one.name}>{one.name}</option>
          ))}
        </select>
        {chosen?.description && <small>{chosen.description}</small>}
      </label>
      <label className="field">
        <span>Id (optional): the same id is started once</span>
        <input value={id} onChange={(event) => setId(event.target.value)} />
      </label>
      {chosen && (
        <SchemaForm
          key={name}
          schema={chosen.input}
          submitLabel="Start"
          onSubmit={start}
          onCancel={onClose}
        />
      )}
    </Dialog>
  )
}

const rankOf = ({ kind }: Description): number => (kind === 'task' ? 1 : 0)

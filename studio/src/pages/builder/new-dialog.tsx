import { type FormEvent, useState } from 'react'
import { navigate } from '../../app/router.js'
import type { Graph } from '../../diagram/graph.js'
import { Button } from '../../ui/button.js'
import { Dialog } from '../../ui/dialog.js'
import { keepDraft } from './use-editor.js'

const NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/

/** `from`: what it begins with; left out, with nothing. */
export function NewDialog({
  from,
  onClose,
}: {
  readonly from?: Graph
  readonly onClose: () => void
}) {
  const [name, setName] = useState('')
  const isName = NAME.test(name)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (!isName) return
    if (from) keepDraft(name, { graph: { ...from, id: name }, base: 0 })
    navigate(`/builder/${encodeURIComponent(name)}?new=1`)
  }
  return (
    <Dialog title={from ? `A copy of ${from.id}` : 'A new graph'} onClose={onClose} width={400}>
      <form className="stack" onSubmit={submit}>
        <label className="field">
          <span>Name</span>
          <input
            value={name}
            spellCheck={false}
            placeholder="lead-routing"
            onChange={({ target }) => setName(target.value)}
          />
          <small>
            {name === '' || isName
              ? 'Runs are started with it.'
              : 'A letter, and then letters, digits and _ . -'}
          </small>
        </label>
        <div className="dialog-foot">
          <Button type="submit" look="primary" disabled={!isName}>
            Draw it
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

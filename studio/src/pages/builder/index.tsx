// The graphs that are stored, to be opened, and new ones.

import { type FormEvent, useState } from 'react'
import { Link, navigate } from '../../app/router.js'
import { useTitle } from '../../app/title.js'
import { Button } from '../../ui/button.js'
import { Dialog } from '../../ui/dialog.js'
import { Empty, Problem, Skeleton } from '../../ui/empty.js'
import { Ago } from '../../ui/time.js'
import './builder.css'
import { useGraphs } from './queries.js'

export function Page() {
  useTitle('Builder')
  const graphs = useGraphs()
  const [isNew, setNew] = useState(false)
  return (
    <div className="page">
      <div className="page-head">
        <h1>Builder</h1>
        <span className="grow" />
        <Button look="primary" icon="plus" onClick={() => setNew(true)}>
          New graph
        </Button>
      </div>
      {graphs.isError && <Problem error={graphs.error} what="The graphs could not be read." />}
      {graphs.isPending && <Skeleton lines={6} />}
      {graphs.data?.length === 0 && (
        <Empty title="No graphs yet">
          A graph is a workflow that is drawn: it is stored here, with versions, and runs like one
          in code.
        </Empty>
      )}
      {graphs.data && graphs.data.length > 0 && (
        <ul className="panel graph-list">
          {graphs.data.map(({ name, version, isArchived, updatedAt }) => (
            <li key={name}>
              <Link to={`/builder/${encodeURIComponent(name)}`} className="grow truncate">
                {name}
              </Link>
              {isArchived && <span className="faint">put away</span>}
              <span className="muted">version {version}</span>
              <span className="faint">
                <Ago at={updatedAt} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {isNew && <NewDialog onClose={() => setNew(false)} />}
    </div>
  )
}

const NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/

function NewDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const isName = NAME.test(name)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (isName) navigate(`/builder/${encodeURIComponent(name)}?new=1`)
  }
  return (
    <Dialog title="A new graph" onClose={onClose} width={400}>
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

// The graphs that are stored, to be opened, and new ones.

import { useState } from 'react'
import { Link } from '../../app/router.js'
import { useTitle } from '../../app/title.js'
import { Button } from '../../ui/button.js'
import { Empty, Problem, Skeleton } from '../../ui/empty.js'
import { Ago } from '../../ui/time.js'
import './builder.css'
import { NewDialog } from './new-dialog.js'
import { mayEdit, useGraphs, useRole } from './queries.js'

export function Page() {
  useTitle('Builder')
  const graphs = useGraphs()
  const role = useRole()
  const [isNew, setNew] = useState(false)
  return (
    <div className="page">
      <div className="page-head">
        <h1>Builder</h1>
        <span className="grow" />
        {mayEdit(role) && (
          <Button look="primary" icon="plus" onClick={() => setNew(true)}>
            New graph
          </Button>
        )}
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

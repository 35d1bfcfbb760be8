// The versions of a stored graph: who saved which, when, and what has changed since the one before.

import { Link } from '../../app/router.js'
import { Skeleton } from '../../ui/empty.js'
import { Ago } from '../../ui/time.js'
import { useVersions } from '../builder/queries.js'

const SHOWN = 6

export function Versions({
  name,
  current,
}: {
  readonly name: string
  /** '#3' */
  readonly current: string
}) {
  const { data } = useVersions(name, true)
  const builder = `/builder/${encodeURIComponent(name)}?tab=versions`
  return (
    <section className="panel" aria-label="Versions">
      <div className="panel-head">
        <h2 className="grow">Versions</h2>
        <Link to={builder}>compare</Link>
      </div>
      {!data && <Skeleton lines={3} />}
      <ul>
        {data?.slice(0, SHOWN).map(({ version, note, author, createdAt }) => (
          <li key={version} className="workflow-line">
            <Link to={`${builder}&to=${version}`}>version {version}</Link>
            <span className="truncate grow muted">{note ?? ''}</span>
            {current === `#${version}` && <span className="completed">is started now</span>}
            {author !== null && <span className="faint">{author}</span>}
            <span className="faint">
              <Ago at={createdAt} />
            </span>
          </li>
        ))}
      </ul>
      {data && data.length > SHOWN && (
        <p className="workflow-none faint">and {data.length - SHOWN} before these</p>
      )}
    </section>
  )
}

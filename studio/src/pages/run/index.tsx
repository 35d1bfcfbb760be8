import { useRun } from '../../api/queries.js'
import { useTitle } from '../../app/title.js'
import { CopyId } from '../../ui/copy.js'
import { Empty, Problem, Skeleton } from '../../ui/empty.js'
import { StatusMark } from '../../ui/status.js'

export function Page({ params }: { readonly params: Readonly<Record<string, string>> }) {
  const id = params.id ?? ''
  useTitle(id)
  const run = useRun(id)
  if (run.isError) return <Problem error={run.error} what="The run could not be read." />
  if (run.isPending) return <Skeleton lines={12} />
  if (run.data === null) return <Empty title="There is no such run" />
  return (
    <div className="page">
      <div className="page-head">
        <StatusMark status={run.data.status} />
        <CopyId id={id} />
      </div>
    </div>
  )
}

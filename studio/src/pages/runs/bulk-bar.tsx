// The same to many runs: those that were chosen, or all that the filters find. First what it would touch, then it is done.

import { useQueryClient } from '@tanstack/react-query'
import type { RunInfo } from 'perdure'
import { lazy, Suspense, useState } from 'react'
import { useMayOperate } from '../../api/queries.js'
import { plural } from '../../lib/format.js'
import { Button } from '../../ui/button.js'
import { canCancel } from '../run/model/standing.js'
import type { Filters } from './filters.js'

const BulkDialog = lazy(async () => ({ default: (await import('./bulk-dialog.js')).BulkDialog }))

export type BulkAction = 'cancel' | 'retry'

export function BulkBar({
  chosen,
  filters,
  isFiltered,
  onDone,
}: {
  readonly chosen: readonly RunInfo[]
  readonly filters: Filters
  readonly isFiltered: boolean
  readonly onDone: () => void
}) {
  const [action, setAction] = useState<BulkAction | null>(null)
  const queries = useQueryClient()
  const isForAll = chosen.length === 0 && isFiltered
  const mayOperate = useMayOperate()
  if (!mayOperate || (chosen.length === 0 && !isForAll)) return null
  const retryable = chosen.filter((run) => run.status === 'failed' && run.retryable)
  const stoppable = chosen.filter(canCancel)
  const done = (): void => {
    setAction(null)
    onDone()
    void queries.invalidateQueries()
  }
  return (
    <div className="bulk-bar">
      <span className="muted">
        {isForAll ? 'All that the filters find:' : `${plural(chosen.length, 'run')} chosen:`}
      </span>
      {(isForAll || retryable.length > 0) && (
        <Button icon="retry" onClick={() => setAction('retry')}>
          Retry{isForAll ? ' …' : ` ${retryable.length}`}
        </Button>
      )}
      {(isForAll || stoppable.length > 0) && (
        <Button look="danger" icon="close" onClick={() => setAction('cancel')}>
          Cancel{isForAll ? ' …' : ` ${stoppable.length}`}
        </Button>
      )}
      {!isForAll && (
        <Button look="quiet" onClick={onDone}>
          Choose none
        </Button>
      )}
      <Suspense fallback={null}>
        {action !== null && (
          <BulkDialog
            action={action}
            ids={isForAll ? null : (action === 'retry' ? retryable : stoppable).map(({ id }) => id)}
            filters={filters}
            onClose={() => setAction(null)}
            onDone={done}
          />
        )}
      </Suspense>
    </div>
  )
}

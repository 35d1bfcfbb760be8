import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/api.js'
import { plural } from '../../lib/format.js'
import { Button } from '../../ui/button.js'
import { Dialog } from '../../ui/dialog.js'
import { Problem, Skeleton } from '../../ui/empty.js'
import { said } from '../../ui/toast.js'
import type { BulkAction } from './bulk-bar.js'
import { type Filters, queryOf } from './filters.js'

interface Touched {
  readonly ids: readonly string[]
  readonly refused: readonly { readonly id: string; readonly message: string }[]
  readonly isMore: boolean
}

const SHOWN_MAX = 8
const AT_ONCE = 10
const WORDS = {
  cancel: {
    title: 'Cancel runs',
    will: 'would be cancelled. They stop where they are, and what they have done is undone.',
    button: 'Cancel',
    done: 'cancelled',
  },
  retry: {
    title: 'Retry runs',
    will: 'would run again from where each failed; what is done stays done.',
    button: 'Retry',
    done: 'run again',
  },
} as const

/** `ids` null: all that the filters find. */
export function BulkDialog({
  action,
  ids,
  filters,
  onClose,
  onDone,
}: {
  readonly action: BulkAction
  readonly ids: readonly string[] | null
  readonly filters: Filters
  readonly onClose: () => void
  readonly onDone: () => void
}) {
  const words = WORDS[action]
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const preview = useQuery({
    queryKey: ['bulk', action, filters, ids],
    queryFn: () =>
      ids === null ? askBulk(action, filters, true) : { ids, refused: [], isMore: false },
    gcTime: 0,
    staleTime: 0,
  })
  const act = async (): Promise<void> => {
    setBusy(true)
    try {
      const { ids: done, refused } =
        ids === null ? await askBulk(action, filters, false) : await each(action, ids)
      const not =
        refused.length === 0 ? '' : `; ${refused.length} were refused: ${refused[0]?.message}`
      said(`${plural(done.length, 'run')} ${words.done}${not}`)
      onDone()
    } catch (refusal) {
      setError(refusal)
      setBusy(false)
    }
  }
  const touched = preview.data
  return (
    <Dialog title={words.title} onClose={onClose}>
      {preview.isPending && <Skeleton lines={3} />}
      {preview.isError && <Problem error={preview.error} what="It cannot be said which." />}
      {touched && (
        <>
          <p>
            <strong>
              {plural(touched.ids.length, 'run')}
              {touched.isMore && ' (and more: at most 1,000 at once)'}
            </strong>{' '}
            {words.will}
          </p>
          <ul className="bulk-ids">
            {touched.ids.slice(0, SHOWN_MAX).map((id) => (
              <li key={id} className="mono truncate">
                {id}
              </li>
            ))}
            {touched.ids.length > SHOWN_MAX && (
              <li className="faint">and {touched.ids.length - SHOWN_MAX} others</li>
            )}
          </ul>
        </>
      )}
      {error !== null && <Problem error={error} what="It was refused." />}
      <div className="dialog-foot">
        <Button onClick={onClose}>Leave them</Button>
        <Button
          look={action === 'cancel' ? 'danger' : 'primary'}
          disabled={isBusy || !touched || touched.ids.length === 0}
          onClick={() => void act()}
        >
          {words.button} {touched ? plural(touched.ids.length, 'run') : ''}
        </Button>
      </div>
    </Dialog>
  )
}

function askBulk(action: BulkAction, filters: Filters, dryRun: boolean): Promise<Touched> {
  const { createdAfter, ...filter } = queryOf(filters, Date.now())
  const moment = createdAfter instanceof Date ? { createdAfter: createdAfter.toISOString() } : {}
  const body = { filter: { ...filter, ...moment }, dryRun }
  return api().ask<Touched>({ method: 'POST', path: `/runs/${action}`, body })
}

/** Those that were chosen, some at a time; one that is refused does not stop the others. */
async function each(action: BulkAction, ids: readonly string[]): Promise<Touched> {
  const { client } = api()
  const done: string[] = []
  const refused: { id: string; message: string }[] = []
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const part = ids.slice(from, from + AT_ONCE).map(async (id) => {
      try {
        await (action === 'cancel' ? client.cancel(id) : client.retry(id))
        done.push(id)
      } catch (error) {
        refused.push({ id, message: (error as Error).message })
      }
    })
    await Promise.all(part)
  }
  return { ids: done, refused, isMore: false }
}

// Buttons exist only when they would work, and say what they will do.

import type { RunInfo } from 'perdure'
import { lazy, Suspense, useState } from 'react'
import { api } from '../../api/api.js'
import { useMayOperate } from '../../api/queries.js'
import { Button } from '../../ui/button.js'
import { CancelDialog } from './cancel-dialog.js'
import { canCancel, canPause, canRetry, isPaused } from './model/standing.js'
import { useAct } from './use-act.js'
import type { Moment } from './use-moment.js'

const ForkDialog = lazy(async () => ({ default: (await import('./fork-dialog.js')).ForkDialog }))

export function Actions({ run, moment }: { readonly run: RunInfo; readonly moment: Moment }) {
  const { act, isBusy } = useAct(run.id)
  const [opened, setOpened] = useState<'cancel' | 'fork' | null>(null)
  const close = () => setOpened(null)
  const mayOperate = useMayOperate()
  const { client } = api()
  // Two people who press it at once try it again once.
  const retry = () =>
    void act(
      () => client.retry(run.id, { expectedAttempt: run.attempt }),
      `${run.id} runs again from where it failed`,
    )
  if (!mayOperate) return null
  return (
    <div className="run-actions">
      {canRetry(run) && (
        <Button
          look="primary"
          icon="retry"
          disabled={isBusy}
          title={retryTitle(run)}
          onClick={retry}
        >
          Retry
        </Button>
      )}
      {isPaused(run) && (
        <Button
          look="primary"
          icon="play"
          disabled={isBusy}
          onClick={() => void act(() => client.resume(run.id), `${run.id} goes on`)}
        >
          Resume
        </Button>
      )}
      <Button
        icon="fork"
        title="A new run that goes on from the moment that is shown; this one stays as it is"
        onClick={() => setOpened('fork')}
      >
        {moment.seq === null ? 'Fork' : 'Fork from here'}
      </Button>
      {canPause(run) && (
        <Button
          icon="pause"
          disabled={isBusy}
          title="What runs may finish, nothing new starts; timers and mail are kept"
          onClick={() => void act(() => client.pause(run.id), `${run.id} is paused`)}
        >
          Pause
        </Button>
      )}
      {canCancel(run) && (
        <Button look="danger" icon="close" onClick={() => setOpened('cancel')}>
          Cancel
        </Button>
      )}
      {opened === 'cancel' && <CancelDialog run={run} onClose={close} />}
      <Suspense fallback={null}>
        {opened === 'fork' && <ForkDialog run={run} moment={moment} onClose={close} />}
      </Suspense>
    </div>
  )
}

function retryTitle({ error }: RunInfo): string {
  const step = error?.step
  return step === undefined
    ? 'Runs again at once what has failed'
    : `Runs "${step}" again at once; what is done stays done`
}

import type { RunInfo } from 'perdure'
import { useState } from 'react'
import { api } from '../../api/api.js'
import { Button } from '../../ui/button.js'
import { Dialog } from '../../ui/dialog.js'
import { toUndo } from './model/standing.js'
import { useAct } from './use-act.js'

/** Asks once, and says what it will do. */
export function CancelDialog({
  run,
  onClose,
}: {
  readonly run: RunInfo
  readonly onClose: () => void
}) {
  const { act, isBusy } = useAct(run.id)
  const [reason, setReason] = useState('')
  const [isForced, setForced] = useState(false)
  const undone = toUndo(run)
  const cancel = async (): Promise<void> => {
    const why = reason.trim() === '' ? undefined : reason.trim()
    const options = isForced ? { force: true } : {}
    if (await act(() => api().client.cancel(run.id, why, options), `${run.id} is cancelled`))
      onClose()
  }
  return (
    <Dialog title={`Cancel ${run.id}?`} onClose={onClose}>
      <p>
        It stops where it is and cannot go on.
        {undone.length === 0 && ' It has done nothing that would be undone.'}
      </p>
      {undone.length > 0 && (
        <>
          <p>{isForced ? 'This is left as it is:' : 'Then this is undone, in this order:'}</p>
          <ol className="undo-list">
            {undone.map(({ step }) => (
              <li key={step}>
                <code>{step}</code>
              </li>
            ))}
          </ol>
          <label className="flag">
            <input
              type="checkbox"
              checked={isForced}
              onChange={(event) => setForced(event.target.checked)}
            />
            <span>End it without undoing anything</span>
          </label>
        </>
      )}
      <label className="field">
        <span>Why (optional; it is kept with the run)</span>
        <input value={reason} onChange={(event) => setReason(event.target.value)} />
      </label>
      <div className="dialog-foot">
        <Button onClick={onClose}>Leave it</Button>
        <Button look="danger" disabled={isBusy} onClick={() => void cancel()}>
          Cancel the run
        </Button>
      </div>
    </Dialog>
  )
}

// A new run that goes on from a point of this one, with another input or state.

import { useQuery } from '@tanstack/react-query'
import type { Checkpoint, RunInfo } from 'perdure'
import { useMemo, useState } from 'react'
import { api } from '../../api/api.js'
import { navigate, runPath } from '../../app/router.js'
import { jsonOf } from '../../lib/values.js'
import { Button } from '../../ui/button.js'
import { Dialog } from '../../ui/dialog.js'
import { Problem } from '../../ui/empty.js'
import { said } from '../../ui/toast.js'
import { namesOf } from './model/fork.js'
import type { Moment } from './use-moment.js'

/** '': the beginning. '#12': behind entry 12. Else before that step. */
type Point = string

interface ForkProps {
  readonly run: RunInfo
  readonly moment: Moment
  readonly onClose: () => void
}

export function ForkDialog(props: ForkProps) {
  const { run, moment, onClose } = props
  const { form, change, checkpoint, kept, error, isBusy, fork } = useFork(props)
  return (
    <Dialog title={`Fork ${run.id}`} onClose={onClose} width={560}>
      <p className="muted">
        A new run takes along what was done before that point and goes on. {run.id} stays as it is.
      </p>
      <PointField moment={moment} point={form.point} onChange={(point) => change({ point })} />
      {form.input === null ? (
        <p className="faint">Its input has values that JSON does not keep: it is taken as it is.</p>
      ) : (
        <JsonField label="Input" text={form.input} onChange={(input) => change({ input })} />
      )}
      {kept !== null && (
        <JsonField
          label={`State at ${checkpoint?.place}`}
          text={form.state ?? kept}
          onChange={(state) => change({ state })}
        />
      )}
      <label className="field">
        <span>Id (optional)</span>
        <input value={form.id} onChange={(event) => change({ id: event.target.value })} />
      </label>
      {error !== null && <Problem error={error} what="It was not forked." />}
      <div className="dialog-foot">
        <Button onClick={onClose}>Leave it</Button>
        <Button look="primary" icon="fork" disabled={isBusy} onClick={() => void fork()}>
          Fork
        </Button>
      </div>
    </Dialog>
  )
}

interface ForkForm {
  readonly point: Point
  /** As JSON; null: JSON would not keep it. */
  readonly input: string | null
  /** null: as it was. */
  readonly state: string | null
  readonly id: string
}

function useFork({ run, moment, onClose }: ForkProps) {
  const [form, setForm] = useState<ForkForm>(() => ({
    point: firstPoint(run, moment),
    input: jsonOf(run.input),
    state: null,
    id: '',
  }))
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const checkpoint = useCheckpoint(run, form.point)
  const kept = checkpoint === null ? null : jsonOf(checkpoint.state)
  const { point, input, state, id } = form
  const fork = async (): Promise<void> => {
    setBusy(true)
    setError(null)
    try {
      const isOther = input !== null && input !== jsonOf(run.input)
      const isOtherState = state !== null && state !== kept && checkpoint !== null
      const forked = await api().client.fork(run.id, {
        ...(isOtherState
          ? { version: checkpoint.version, state: JSON.parse(state) as unknown }
          : fromOf(point)),
        ...(isOther && { input: JSON.parse(input) as unknown }),
        ...(id.trim() !== '' && { id: id.trim() }),
      })
      said(`${forked.id} goes on from there`)
      onClose()
      navigate(runPath(forked.id))
    } catch (refusal) {
      setError(refusal)
    } finally {
      setBusy(false)
    }
  }
  const change = (changes: Partial<ForkForm>): void => setForm((now) => ({ ...now, ...changes }))
  return { form, change, checkpoint, kept, error, isBusy, fork }
}

function PointField({
  moment,
  point,
  onChange,
}: {
  readonly moment: Moment
  readonly point: Point
  readonly onChange: (point: Point) => void
}) {
  const names = useMemo(() => namesOf(moment.entries), [moment.entries])
  return (
    <label className="field">
      <span>From</span>
      <select value={point} onChange={(event) => onChange(event.target.value)}>
        <option value="">the beginning</option>
        {moment.seq !== null && (
          <option value={`#${moment.seq}`}>
            the moment that is shown, behind entry {moment.seq}
          </option>
        )}
        {names.map((name) => (
          <option key={name} value={name}>
            before "{name}"
          </option>
        ))}
      </select>
    </label>
  )
}

function JsonField({
  label,
  text,
  onChange,
}: {
  readonly label: string
  readonly text: string
  readonly onChange: (text: string) => void
}) {
  return (
    <label className="field">
      <span>{label}</span>
      <textarea
        rows={rowsOf(text)}
        spellCheck={false}
        value={text}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  )
}

/** The moment that is shown; else where it failed; else the beginning. */
function firstPoint(run: RunInfo, { seq }: Moment): Point {
  return seq === null ? (run.error?.step ?? '') : `#${seq}`
}

function fromOf(point: Point): { readonly from?: string | number } {
  if (point === '') return {}
  return { from: /^#\d+$/.test(point) ? Number(point.slice(1)) : point }
}

const rowsOf = (text: string): number => Math.min(14, Math.max(3, text.split('\n').length))

/** Of a machine: the checkpoint behind which it would go on. */
function useCheckpoint(run: RunInfo, point: Point): Checkpoint | null {
  const { data } = useQuery({
    queryKey: ['run', run.id, 'checkpoints'],
    queryFn: async () => (await api().client.checkpoints(run.id, { limit: 500 })).items,
    enabled: run.kind === 'machine',
  })
  const seq = /^#\d+$/.test(point) ? Number(point.slice(1)) : null
  if (seq === null) return null
  return data?.findLast((one) => one.seq <= seq) ?? null
}

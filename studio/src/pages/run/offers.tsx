// What can be sent to the run now: each a button, with a form made of its schema.

import type { Offer, RunInfo } from 'perdure'
import { lazy, Suspense, useState } from 'react'
import { api } from '../../api/api.js'
import { useMayOperate } from '../../api/insight.js'
import { Button } from '../../ui/button.js'
import { Dialog } from '../../ui/dialog.js'
import { Skeleton } from '../../ui/empty.js'
import { said } from '../../ui/toast.js'
import { offersOf } from './model/standing.js'
import { useAct } from './use-act.js'

const SchemaForm = lazy(() => import('../../forms/index.js'))

const WORDS: Readonly<Record<Offer['kind'], string>> = {
  signal: 'Send',
  transition: 'Do',
  event: 'Send',
}

export function Offers({ run }: { readonly run: RunInfo }) {
  const [opened, setOpened] = useState<Offer | null>(null)
  const offers = offersOf(run)
  const mayOperate = useMayOperate()
  if (offers.length === 0 || !mayOperate) return null
  return (
    <div className="run-offers">
      <span className="muted">
        {run.place === null ? 'It waits for' : `At ${run.place} it can take`}
      </span>
      {offers.map((offer) => (
        <Button key={offer.name} look="primary" onClick={() => setOpened(offer)}>
          {offer.name}
        </Button>
      ))}
      {opened !== null && <OfferDialog run={run} offer={opened} onClose={() => setOpened(null)} />}
    </div>
  )
}

function OfferDialog({
  run,
  offer,
  onClose,
}: {
  readonly run: Pick<RunInfo, 'id' | 'workflow'>
  readonly offer: Offer
  readonly onClose: () => void
}) {
  const { act } = useAct(run.id)
  const submit = async (payload: unknown): Promise<void> => {
    await sendOffer(run, offer, payload)
    said(`${run.id} has taken "${offer.name}"`)
    await act(async () => {}, 'Sent')
    onClose()
  }
  return (
    <Dialog title={`${WORDS[offer.kind]} "${offer.name}"`} onClose={onClose}>
      <p className="muted">
        to <code>{run.id}</code>, which goes on with it at once.
      </p>
      <Suspense fallback={<Skeleton lines={3} />}>
        <SchemaForm
          schema={offer.schema}
          submitLabel={offer.name}
          onSubmit={submit}
          onCancel={onClose}
        />
      </Suspense>
    </Dialog>
  )
}

export async function sendOffer(
  { id, workflow }: Pick<RunInfo, 'id' | 'workflow'>,
  { kind, name }: Offer,
  payload: unknown,
): Promise<void> {
  const { client } = api()
  if (kind === 'event') {
    const fields = typeof payload === 'object' && payload !== null ? payload : {}
    await client.send(workflow, id, { ...fields, type: name })
  } else await client.trigger(id, name, payload)
}

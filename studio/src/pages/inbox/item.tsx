import type { InboxItem } from 'perdure'
import { lazy, Suspense, useState } from 'react'
import { useMayOperate } from '../../api/insight.js'
import { Link, runPath } from '../../app/router.js'
import { Button } from '../../ui/button.js'
import { Skeleton } from '../../ui/empty.js'
import { Ago, Countdown } from '../../ui/time.js'
import { refused } from '../../ui/toast.js'
import { DocumentView } from '../run/documents-tab.js'
import { ErrorView } from '../run/error-view.js'
import { sendOffer } from '../run/offers.js'
import '../run/run.css'

const SchemaForm = lazy(() => import('../../forms/index.js'))

type Offer = InboxItem['available'][number]

export function ItemView({
  item,
  onAnswer,
}: {
  readonly item: InboxItem
  readonly onAnswer: (item: InboxItem, answer: string) => void
}) {
  const { documents, error, available } = item
  const mayOperate = useMayOperate()
  const send = async (offer: Offer, payload: unknown): Promise<void> => {
    await sendOffer(item, offer, payload)
    onAnswer(item, offer.name)
  }
  const isAlone = documents.length === 0 && error === null
  return (
    <article aria-label={`${item.workflow} ${item.id}`}>
      <ItemHead item={item} />
      <div className={isAlone ? 'inbox-body is-alone' : 'inbox-body'}>
        {!isAlone && (
          <section className="inbox-documents" aria-label="What it shows" tabIndex={0}>
            {error !== null && <ErrorView error={error} />}
            <ol>
              {documents.map((document) => (
                <DocumentView key={document.id} document={document} />
              ))}
            </ol>
          </section>
        )}
        {!mayOperate ? (
          <p className="inbox-answers muted">Your token is that of a viewer: it answers nothing.</p>
        ) : available.length > 0 ? (
          <Answers offers={available} send={send} />
        ) : (
          <p className="inbox-answers muted">
            This server does not have its code: answer it where <code>{item.workflow}</code> is.
          </p>
        )}
      </div>
    </article>
  )
}

function ItemHead({ item }: { readonly item: InboxItem }) {
  const { id, workflow, place, since, until, tags } = item
  return (
    <header className="panel-head inbox-head">
      <h2 className="truncate">
        <Link to={runPath(id)} title={id}>
          {id}
        </Link>
      </h2>
      <Link to={`/workflows/${encodeURIComponent(workflow)}`} className="muted truncate">
        {workflow}
      </Link>
      {place !== null && <span className="muted">at {place}</span>}
      {Object.entries(tags).map(([name, value]) => (
        <span key={name} className="tag truncate">
          {name}: {value}
        </span>
      ))}
      <span className="grow" />
      {until !== null && (
        <span className="timed_out">
          goes on without you <Countdown to={until} />
        </span>
      )}
      <span className="faint">
        since <Ago at={since} />
      </span>
    </header>
  )
}

/** A transition or an event that nothing is said of takes nothing; a signal without a schema takes anything. */
const isBare = ({ kind, schema }: Offer): boolean => schema === null && kind !== 'signal'

/** One form at a time; what takes nothing is a button that sends at once. */
function Answers({
  offers,
  send,
}: {
  readonly offers: readonly Offer[]
  readonly send: (offer: Offer, payload: unknown) => Promise<void>
}) {
  const [chosen, setChosen] = useState(() => offers.find((one) => !isBare(one))?.name ?? null)
  const offer = offers.find(({ name }) => name === chosen)
  return (
    <div className="inbox-answers">
      {(offers.length > 1 || !offer) && (
        <fieldset className="inbox-choices">
          <legend className="hidden">Answer</legend>
          {offers.map((one) => (
            <Choice
              key={one.name}
              offer={one}
              isChosen={one.name === chosen}
              onChoose={() => setChosen(one.name)}
              send={send}
            />
          ))}
        </fieldset>
      )}
      {offer && (
        <>
          {offer.description !== null && <p className="muted">{offer.description}</p>}
          <Suspense fallback={<Skeleton lines={2} />}>
            <SchemaForm
              key={offer.name}
              schema={offer.schema}
              submitLabel={offer.title ?? offer.name}
              onSubmit={(payload) => send(offer, payload)}
            />
          </Suspense>
        </>
      )}
    </div>
  )
}

function Choice({
  offer,
  isChosen,
  onChoose,
  send,
}: {
  readonly offer: Offer
  readonly isChosen: boolean
  readonly onChoose: () => void
  readonly send: (offer: Offer, payload: unknown) => Promise<void>
}) {
  const [isBusy, setBusy] = useState(false)
  const label = offer.title ?? offer.name
  if (!isBare(offer)) {
    return (
      <Button aria-pressed={isChosen} icon={isChosen ? 'down' : 'right'} onClick={onChoose}>
        {label}…
      </Button>
    )
  }
  const sendNow = (): void => {
    setBusy(true)
    send(offer, undefined)
      .catch(refused)
      .finally(() => setBusy(false))
  }
  return (
    <>
      <Button disabled={isBusy} title="Sends it at once" onClick={sendNow}>
        {label}
      </Button>
      {!isChosen && (
        <Button look="quiet" title={`Send a value with ${label}`} onClick={onChoose}>
          {label} with a value…
        </Button>
      )}
    </>
  )
}

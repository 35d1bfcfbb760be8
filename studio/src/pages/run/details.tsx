// What is selected, at the right: a step with its attempts, a fact with its values.

import { useQuery } from '@tanstack/react-query'
import type { JournalEntry, RunInfo } from 'perdure'
import { Link, runPath } from '../../app/router.js'
import { duration } from '../../lib/format.js'
import { Button, IconButton } from '../../ui/button.js'
import { CopyId } from '../../ui/copy.js'
import { At, Countdown } from '../../ui/time.js'
import { ValueView } from '../../ui/value.js'
import { ErrorView } from './error-view.js'
import { toneOf } from './model/entries.js'
import { readEntry } from './use-journal.js'
import type { Moment } from './use-moment.js'

/** Of one step not every attempt of thousands. */
const SHOWN_MAX = 50

export function Details({
  run,
  moment,
  selected,
  onClose,
}: {
  readonly run: RunInfo
  readonly moment: Moment
  readonly selected: string | null
  readonly onClose: () => void
}) {
  if (selected === null) return null
  const [owner, name] = ownerOf(selected)
  const isFact = /^#\d+$/.test(selected)
  const title = isFact ? `Entry ${selected.slice(1)}` : name
  return (
    <aside className="details" aria-label={`Details of ${title}`}>
      <div className="details-head">
        <h2 className="truncate grow">{title}</h2>
        <IconButton label="Close the details" icon="close" onClick={onClose} />
      </div>
      {owner === null ? (
        <Facts run={run} moment={moment} entries={chosen(moment.entries, selected, isFact)} />
      ) : (
        <p className="details-part">
          A step of the child run <Link to={runPath(owner)}>{owner}</Link>.
        </p>
      )}
    </aside>
  )
}

/** 'uid/step' is a step of a child. */
function ownerOf(selected: string): readonly [string | null, string] {
  const parts = /^([0-9a-f-]{36})\/(?:[0-9a-f-]{36}\/)*(.*)$/.exec(selected)
  return parts ? [parts[1] ?? null, parts[2] ?? ''] : [null, selected]
}

function chosen(
  entries: readonly JournalEntry[],
  selected: string,
  isFact: boolean,
): readonly JournalEntry[] {
  if (isFact) return entries.filter(({ seq }) => `#${seq}` === selected)
  if (selected === 'place') return entries.filter(({ transitions }) => transitions !== undefined)
  return entries.filter(({ name }) => name === selected)
}

function Facts({
  run,
  moment,
  entries,
}: {
  readonly run: RunInfo
  readonly moment: Moment
  readonly entries: readonly JournalEntry[]
}) {
  if (entries.length === 0) {
    return (
      <p className="details-part muted">At the moment that is shown it has not happened yet.</p>
    )
  }
  const shown = entries.slice(-SHOWN_MAX).reverse()
  return (
    <>
      {shown.map((entry) => (
        <Fact key={entry.seq} run={run} moment={moment} entry={entry} />
      ))}
      {entries.length > SHOWN_MAX && (
        <p className="details-part faint">
          {entries.length - SHOWN_MAX} before these: see the journal.
        </p>
      )}
    </>
  )
}

function Fact({
  run,
  moment,
  entry,
}: {
  readonly run: RunInfo
  readonly moment: Moment
  readonly entry: JournalEntry
}) {
  const { seq, kind, attempt, at, startedAt, until, error, runId } = entry
  return (
    <section className="details-part">
      <div className="row">
        <strong className={toneOf(entry)}>{kind}</strong>
        {attempt !== undefined && <span className="muted">attempt {attempt}</span>}
        <span className="grow" />
        <span className="faint">
          <At at={at} />
        </span>
      </div>
      <dl className="facts">
        {startedAt && <Row name="took">{duration(at.getTime() - startedAt.getTime())}</Row>}
        {until && (
          <Row name={kind === 'step.failed' ? 'again' : 'until'}>
            {until.getTime() > Date.now() ? <Countdown to={until} /> : <At at={until} />}
          </Row>
        )}
        {entry.transitions?.map(({ from, to, event }) => (
          <Row key={`${from} ${event}`} name={event}>
            {from} → {to}
          </Row>
        ))}
        {runId !== undefined && (
          <Row name="child">
            <Link to={runPath(runId)}>{entry.workflow ?? 'its run'}</Link> <CopyId id={runId} />
          </Row>
        )}
      </dl>
      {error && <ErrorView error={error} />}
      <Values run={run} entry={entry} />
      {moment.last !== seq && moment.seq !== seq && (
        <Button look="quiet" onClick={() => moment.go(seq)}>
          Show the run at this moment
        </Button>
      )}
    </section>
  )
}

function Row({ name, children }: { readonly name: string; readonly children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** Values of a long journal are read when they are looked at. */
function Values({ run, entry }: { readonly run: RunInfo; readonly entry: JournalEntry }) {
  const isHere = entry.input !== undefined || entry.output !== undefined
  const { data } = useQuery({
    queryKey: ['run', run.id, 'entry', entry.seq],
    queryFn: () => readEntry(run.id, entry.seq),
    enabled: !isHere,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const { input, output } = isHere ? entry : (data ?? entry)
  return (
    <>
      {input !== undefined && <ValueView value={input} label="input" />}
      {output !== undefined && <ValueView value={output} label="output" />}
    </>
  )
}

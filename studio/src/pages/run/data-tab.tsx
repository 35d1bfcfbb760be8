// Input, output, state and variables, of now or of then.

import { useQuery } from '@tanstack/react-query'
import type { RunInfo } from 'perdure'
import { api } from '../../api/api.js'
import { jsonOf } from '../../lib/values.js'
import { CopyButton } from '../../ui/copy.js'
import { ValueView } from '../../ui/value.js'
import { ErrorView } from './error-view.js'
import type { Then } from './model/then.js'
import type { Moment } from './use-moment.js'

export function DataTab({
  run,
  then,
  moment,
}: {
  readonly run: RunInfo
  readonly then: Then
  readonly moment: Moment
}) {
  const variables = useVariables(run, then, moment)
  return (
    <div className="scroll-list data">
      <Section title="Input" value={then.input} />
      {then.place !== null && <Section title="Place" value={then.place} />}
      {then.state !== undefined && <Section title="State" value={then.state} />}
      {!then.isStateKnown && (
        <Section
          title="State"
          value={undefined}
          missing="Of the state that a function sets only the last one is kept."
        />
      )}
      {variables !== undefined && <Section title="Variables" value={variables} />}
      {then.error !== null && (
        <section className="data-part">
          <h2>Error</h2>
          <ErrorView error={then.error} />
        </section>
      )}
      <Section
        title="Output"
        value={then.output}
        missing={
          then.status === 'completed'
            ? 'It gave nothing back.'
            : 'It is there when the run is completed.'
        }
      />
      {Object.keys(run.tags).length > 0 && <Section title="Tags" value={run.tags} />}
    </div>
  )
}

/** Of a graph: as they were behind the last node that had ended then. */
function useVariables(run: RunInfo, then: Then, moment: Moment): unknown {
  const at = moment.entries.at(-1)?.at.getTime() ?? 0
  const { data } = useQuery({
    queryKey: ['run', run.id, 'nodes'],
    queryFn: () => api().client.nodes(run.id),
    enabled: run.kind === 'graph',
  })
  if (run.kind !== 'graph') return undefined
  if (then.variables !== null && then.variables !== undefined) return then.variables
  return data?.findLast(({ endedAt }) => endedAt !== null && endedAt.getTime() <= at)?.variables
}

function Section({
  title,
  value,
  missing = 'nothing',
}: {
  readonly title: string
  readonly value: unknown
  readonly missing?: string
}) {
  const text = jsonOf(value)
  return (
    <section className="data-part">
      <div className="row">
        <h2>{title}</h2>
        {value !== undefined && text !== null && (
          <CopyButton text={text} label={`Copy as JSON: ${title}`} />
        )}
      </div>
      {value === undefined ? <p className="faint">{missing}</p> : <ValueView value={value} />}
    </section>
  )
}

// What needs a person, what has waited longest, what has failed last.

import { useQuery } from '@tanstack/react-query'
import type { Filter, RunInfo } from 'perdure'
import { api } from '../../api/api.js'
import { useRefresh } from '../../api/live.js'
import { Link, runPath } from '../../app/router.js'
import { Skeleton } from '../../ui/empty.js'
import { StatusShape } from '../../ui/status.js'
import { Ago } from '../../ui/time.js'
import { aboutRun } from '../runs/about-run.js'

interface ListOf {
  readonly title: string
  readonly filter: Filter
  readonly to: string
  readonly none: string
  readonly when: (run: RunInfo) => Date
}

const LISTS: readonly ListOf[] = [
  {
    title: 'Needs a person',
    filter: { status: 'waiting', reason: 'signal', order: 'oldest' },
    to: '/inbox',
    none: 'Nothing waits for anybody.',
    when: ({ updatedAt }) => updatedAt,
  },
  {
    title: 'Waiting longest',
    filter: { status: ['waiting', 'pending'], order: 'oldest' },
    to: '/runs?status=waiting,pending',
    none: 'Nothing waits.',
    when: ({ createdAt }) => createdAt,
  },
  {
    title: 'Failed last',
    filter: { status: ['failed', 'timed_out'] },
    to: '/runs?status=failed,timed_out',
    none: 'Nothing has failed.',
    when: ({ updatedAt }) => updatedAt,
  },
]

export function RunLists() {
  return (
    <div className="run-lists">
      {LISTS.map((list) => (
        <RunList key={list.title} list={list} />
      ))}
    </div>
  )
}

function RunList({ list }: { readonly list: ListOf }) {
  const { data } = useQuery({
    queryKey: ['overview', list.title],
    queryFn: async () => (await api().client.list({ ...list.filter, limit: 6 })).items,
    refetchInterval: useRefresh(5_000),
  })
  return (
    <section className="panel">
      <div className="panel-head">
        <h2 className="grow">{list.title}</h2>
        <Link to={list.to}>all</Link>
      </div>
      {!data && <Skeleton lines={3} />}
      {data?.length === 0 && <p className="run-list-none faint">{list.none}</p>}
      <ul>
        {data?.map((run) => (
          <li key={run.id} className="run-list-row">
            <StatusShape status={run.status} />
            <Link to={runPath(run.id)} className="truncate mono" title={run.id}>
              {run.id}
            </Link>
            <span className="truncate muted grow" title={aboutRun(run)}>
              {aboutRun(run)}
            </span>
            <span className="faint">
              <Ago at={list.when(run)} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

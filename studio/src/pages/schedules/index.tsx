// Runs that start at certain times: in words, when next, and what the last one did.

import { useQuery } from '@tanstack/react-query'
import type { ScheduleInfo } from 'perdure'
import { api } from '../../api/api.js'
import { useTitle } from '../../app/title.js'
import { plural } from '../../lib/format.js'
import { Empty, Problem, Skeleton } from '../../ui/empty.js'
import { ScheduleView } from './schedule.js'
import './schedules.css'

const MAX = 200

export function Page() {
  useTitle('Schedules')
  const schedules = useQuery<readonly ScheduleInfo[]>({
    queryKey: ['schedules'],
    queryFn: async () => (await api().client.schedules.list({ limit: MAX })).items,
    refetchInterval: 5_000,
  })
  const { data } = schedules
  const paused = data?.filter(({ isPaused }) => isPaused).length ?? 0
  return (
    <div className="page">
      <div className="page-head">
        <h1>Schedules</h1>
        {data && data.length > 0 && (
          <span className="muted">
            {plural(data.length, 'schedule')}
            {paused > 0 && `, ${paused} paused`}
          </span>
        )}
      </div>
      {schedules.isError && (
        <Problem error={schedules.error} what="The schedules could not be read." />
      )}
      {schedules.isPending && <Skeleton lines={6} />}
      {data?.length === 0 && (
        <Empty
          title="No schedules yet"
          command="npx perdure schedules set nightly --workflow report --cron '0 3 * * *'"
        >
          A schedule starts a run at its times: by cron, at an interval, or once. It is here with
          its next times, and can be paused.
        </Empty>
      )}
      {data && data.length > 0 && (
        <ul className="panel">
          {data.map((schedule) => (
            <ScheduleView key={schedule.id} schedule={schedule} />
          ))}
        </ul>
      )}
    </div>
  )
}

import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { ScheduleInfo } from 'perdure'
import { useState } from 'react'
import { api } from '../../api/api.js'
import { useMayOperate } from '../../api/insight.js'
import { useRun } from '../../api/queries.js'
import { Link, navigate, runPath } from '../../app/router.js'
import { absolute, duration } from '../../lib/format.js'
import { Button } from '../../ui/button.js'
import { StatusMark } from '../../ui/status.js'
import { Ago, At, Countdown } from '../../ui/time.js'
import { refused, said } from '../../ui/toast.js'

export function ScheduleView({ schedule }: { readonly schedule: ScheduleInfo }) {
  const { id, workflow, isPaused, isTrigger, cron, timezone } = schedule
  return (
    <li className={isPaused ? 'schedule is-paused' : 'schedule'}>
      <div className="schedule-main">
        <div className="schedule-name">
          <h2 className="truncate" title={id}>
            {id}
          </h2>
          <Link to={`/workflows/${encodeURIComponent(workflow)}`}>{workflow}</Link>
          {isPaused && <span className="schedule-mark">paused</span>}
          {isTrigger && <span className="faint small">from the code of its workflow</span>}
        </div>
        <p>
          <Words schedule={schedule} />{' '}
          {cron !== null && (
            <span className="faint">
              <code>{cron}</code> {timezone ?? 'UTC'}
            </span>
          )}
        </p>
        <Next schedule={schedule} />
      </div>
      <Last schedule={schedule} />
      <Actions schedule={schedule} />
    </li>
  )
}

/** '0 3 * * *' → 'At 03:00'. The words are loaded when there is a cron expression to be told. */
function Words({ schedule: { cron, everyMs, at } }: { readonly schedule: ScheduleInfo }) {
  const words = useQuery({
    queryKey: ['cron', cron],
    queryFn: async () => {
      const { default: cronstrue } = await import('cronstrue')
      const options = { use24HourTimeFormat: true, throwExceptionOnParseError: false }
      return cronstrue.toString(cron ?? '', options)
    },
    enabled: cron !== null,
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (everyMs !== null) return <span>Every {duration(everyMs)}</span>
  if (at !== null) return <span title={absolute(at)}>Once, at {absolute(at).split(' · ')[0]}</span>
  return <span>{words.data ?? cron}</span>
}

function Next({ schedule: { id, isPaused, nextAt } }: { readonly schedule: ScheduleInfo }) {
  const { data } = useQuery<readonly Date[]>({
    queryKey: ['schedule', id, 'next', nextAt, isPaused],
    queryFn: () => api().client.schedules.next(id, 5),
    enabled: !isPaused && nextAt !== null,
  })
  if (isPaused) return <p className="faint">Its times pass until it is resumed.</p>
  if (nextAt === null) return <p className="faint">It has no more times.</p>
  return (
    <p className="schedule-next">
      <span className="muted">
        Next <Countdown to={nextAt} />
      </span>
      {data?.map((time) => (
        <span key={time.getTime()} className="schedule-time">
          <At at={time} />
        </span>
      ))}
    </p>
  )
}

function Last({ schedule: { lastAt, lastRunId } }: { readonly schedule: ScheduleInfo }) {
  if (lastAt === null && lastRunId === null) {
    return <div className="schedule-last faint">It has not run yet</div>
  }
  return (
    <div className="schedule-last">
      <span className="muted">Last {lastAt !== null && <Ago at={lastAt} />}</span>
      {lastRunId !== null && <LastRun id={lastRunId} />}
    </div>
  )
}

function LastRun({ id }: { readonly id: string }) {
  const { data } = useRun(id)
  return (
    <>
      {data && <StatusMark status={data.status} />}
      <Link to={runPath(id)} className="truncate mono" title={id}>
        {id}
      </Link>
    </>
  )
}

function Actions({ schedule: { id, isPaused } }: { readonly schedule: ScheduleInfo }) {
  const queries = useQueryClient()
  const mayOperate = useMayOperate()
  const [isBusy, setBusy] = useState(false)
  const act = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true)
    try {
      await work()
    } catch (error) {
      refused(error)
    } finally {
      setBusy(false)
      void queries.invalidateQueries({ queryKey: ['schedules'] })
    }
  }
  const { schedules } = api().client
  const toggle = async (): Promise<void> => {
    await (isPaused ? schedules.resume(id) : schedules.pause(id))
    said(isPaused ? `${id} starts runs again` : `${id} is paused`)
  }
  const runNow = async (): Promise<void> => {
    const run = await schedules.runNow(id)
    said(`${run.id} is started`)
    navigate(runPath(run.id))
  }
  if (!mayOperate) return null
  return (
    <div className="schedule-actions">
      <Button
        icon="play"
        disabled={isBusy}
        title="One run now, whatever its times say"
        onClick={() => void act(runNow)}
      >
        Run now
      </Button>
      <Button
        icon={isPaused ? 'play' : 'pause'}
        look={isPaused ? 'primary' : 'plain'}
        disabled={isBusy}
        onClick={() => void act(toggle)}
      >
        {isPaused ? 'Resume' : 'Pause'}
      </Button>
    </div>
  )
}

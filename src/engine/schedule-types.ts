// The public types of schedules.

import type { Dict, Instant, Opt, Target, TypesOf } from '../authoring/types.js'
import type { Missed, Overlap } from '../model/schedule.js'
import type { Duration } from '../model/time.js'
import type { Paged, PageOptions, RunHandle, StartItem } from './run-types.js'

/** When runs are due: one of `cron`, `every` and `at`. */
export type ScheduleTimes =
  | { cron: string; timezone?: string | undefined; every?: undefined; at?: undefined }
  /** Counted from 1970, UTC: '1h' is every full hour. */
  | { every: Duration; cron?: undefined; at?: undefined; timezone?: undefined }
  /** Once. */
  | { at: Instant; cron?: undefined; every?: undefined; timezone?: undefined }

export type ScheduleOptions<D = unknown, W = unknown> = ScheduleTimes & {
  id: string
  workflow: D
} & Pick<StartItem<TypesOf<D, W>>, 'input'> &
  Opt<{
    /** What happens while the run of an earlier time goes on. Default 'allow'. */
    overlap: Overlap
    /** What happens about times at which no worker was there. Default 'once': one run for all of them. */
    missed: Missed
    /** Missed times that are older are left out. Default: '1 day' with 'all', else none is too old. */
    catchUp: Duration
    /** Each run starts up to so much later: a different delay for each time, the same in every process. */
    jitter: Duration
    tags: Dict<string>
    workspace: string
  }>

export type ScheduleInfo = Readonly<{
  id: string
  workflow: string
  workspace: string
  cron: string | null
  timezone: string | null
  everyMs: number | null
  at: Date | null
  input: unknown
  overlap: Overlap
  missed: Missed
  catchUpMs: number | null
  jitterMs: number
  tags: Dict<string>
  isPaused: boolean
  /** It stands in the code, as a trigger of its workflow. */
  isTrigger: boolean
  /** The last time that was acted upon, and the next one. */
  lastAt: Date | null
  nextAt: Date | null
  lastRunId: string | null
  createdAt: Date
  updatedAt: Date
}>

/** Runs that start at certain times. */
export interface Schedules<W = unknown> {
  /** Makes it or changes it. The same again changes nothing. */
  set<D extends Target<W>>(options: ScheduleOptions<D, W>): Promise<ScheduleInfo>
  /** null if there is no such schedule; every other call throws SCHEDULE_NOT_FOUND. */
  get(id: string): Promise<ScheduleInfo | null>
  list(page?: Omit<PageOptions, 'order'>): Paged<ScheduleInfo>
  /** Its times pass until it is resumed; they are not missed. */
  pause(id: string): Promise<void>
  resume(id: string): Promise<void>
  /** One run now, whatever its times and its overlap say. `id`: of the run, so that it starts once. */
  runNow(id: string, options?: Opt<{ id: string }>): Promise<RunHandle>
  /** Runs for the times from … to …, both included; times that had their run have no second one. */
  backfill(id: string, span: { from: Instant; to: Instant }): Promise<RunHandle[]>
  /** Its next times, five unless said otherwise. None while it is paused. */
  next(id: string, count?: number): Promise<Date[]>
  /** Its runs stay. No error if it is not there. */
  delete(id: string): Promise<void>
}

export interface HasSchedules<W = unknown> {
  readonly schedules: Schedules<W>
}

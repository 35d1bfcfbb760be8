// Schedules on SQL.

import type { Fire, NextSlot, Schedule, ScheduleStore } from '../kernel/store.js'
import type { RunId } from '../model/ids.js'
import type { Overlap, SchedulePlan, Spec } from '../model/schedule.js'
import type { Row, SqlValue } from './driver.js'
import type { Sql } from './sql.js'
import { metaText, numberOf, numberOfOrNull, onlyRow, pack, textOf, textOrNull } from './wire.js'

type Query = (text: string, params: readonly SqlValue[]) => Promise<readonly Row[]>

/** Triggers of one engine: they stand in its code. */
const OF_MAX = 10_000

/** Nobody has told of such a run but the worker that executes it first. */
const META = metaText({ bornWith: 1 })

export function sqlSchedules(sql: Sql, write: Query): ScheduleStore {
  const one = async (workspace: string, id: string): Promise<Schedule | null> => {
    const [row] = await write(sql.schedules, [workspace, null, '', '', 1, id])
    return row ? scheduleOf(row) : null
  }
  return {
    async putSchedule(schedule) {
      const { workspace, id, definition, spec, plan, overlap, input, of, next } = schedule
      const texts = [workspace, id, definition, JSON.stringify(spec), JSON.stringify(plan)]
      await write(sql.putSchedule, [...texts, overlap, input, of, ...nextParams(next)])
      const stored = await one(workspace, id)
      // Deleted meanwhile: as it was.
      return stored ?? { ...schedule, ...FRESH }
    },
    async schedules({ workspace, after, limit }) {
      const behind = [after?.workspace ?? '', after?.id ?? '']
      return (await write(sql.schedules, [workspace, null, ...behind, limit, null])).map(scheduleOf)
    },
    schedule: one,
    async schedulesOf(definitions) {
      const params = [null, pack(definitions), '', '', OF_MAX, null]
      return (await write(sql.schedules, params)).map(scheduleOf)
    },
    async subscribe(subscriptions) {
      const rows = subscriptions.flatMap(({ definition, to }) =>
        to.map(({ event, match, timeoutMs }, no) => [definition, no, event, match, timeoutMs]),
      )
      const definitions = pack(subscriptions.map(({ definition }) => definition))
      await write(sql.subscribe, [definitions, JSON.stringify(rows)])
    },
    async pauseSchedule({ workspace, id, revision }, isPaused, next) {
      const params = [workspace, id, revision, isPaused, ...nextParams(next)]
      return (await write(sql.pauseSchedule, params)).length > 0
    },
    async dropSchedule(workspace, id) {
      return (await write(sql.dropSchedule, [workspace, id])).length > 0
    },
    async dueSchedules(atMost) {
      const rows = await write(sql.dueSchedules, [atMost])
      const first = onlyRow(rows.slice(0, 1))
      const due = rows.flatMap((row) => {
        if (row.id === null) return []
        const schedule = scheduleOf(row)
        const next = nextOf(row) as NextSlot
        const endedAt = numberOfOrNull(row, 'ended_at')
        return [{ ...schedule, next, isOpen: row.is_open === true, endedAt }]
      })
      return { now: numberOf(first, 'now_ms'), due, nextAt: numberOfOrNull(first, 'following') }
    },
    async fire(fire) {
      const row = onlyRow(await write(sql.fire, fireParams(fire)))
      return textOf(row, 'kind') as 'fired'
    },
  }
}

const FRESH = {
  revision: 1,
  isPaused: false,
  lastSlot: null,
  lastRun: null,
  createdAt: 0,
  updatedAt: 0,
}

function nextParams(next: NextSlot | null): (number | null)[] {
  return [next?.slot ?? null, next?.at ?? null]
}

function fireParams({ of, behind, next, run }: Fire): SqlValue[] {
  const { workspace, id, revision } = of
  const moves = [workspace, id, revision, of.next.slot, behind, ...nextParams(next)]
  if (run === null) return [...moves, null, null, null, null, null]
  return [...moves, run.uid, run.id, JSON.stringify(run.tags), run.timeoutMs, META]
}

function scheduleOf(row: Row): Schedule {
  return {
    workspace: textOf(row, 'workspace'),
    id: textOf(row, 'id'),
    definition: textOf(row, 'def'),
    spec: JSON.parse(textOf(row, 'spec')) as Spec,
    plan: JSON.parse(textOf(row, 'plan')) as SchedulePlan,
    overlap: textOf(row, 'overlap') as Overlap,
    input: textOf(row, 'input'),
    of: textOrNull(row, 'of_def'),
    next: nextOf(row),
    revision: numberOf(row, 'revision'),
    isPaused: row.is_paused === true,
    lastSlot: numberOfOrNull(row, 'last_slot'),
    lastRun: textOrNull(row, 'last_run') as RunId | null,
    createdAt: numberOf(row, 'created_at'),
    updatedAt: numberOf(row, 'updated_at'),
  }
}

function nextOf(row: Row): NextSlot | null {
  const slot = numberOfOrNull(row, 'next_slot')
  const at = numberOfOrNull(row, 'next_at')
  return slot === null || at === null ? null : { slot, at }
}

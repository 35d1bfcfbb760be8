// What engine.schedules.set was given, read once: all that is wrong with its times is said together.

import { optionInvalid, shown } from '../model/errors.js'
import { CATCH_UP_MS } from '../model/limits.js'
import type { Instant } from '../model/run.js'
import {
  cronProblems,
  EVERY_MIN_MS,
  MISSED,
  type Missed,
  OVERLAPS,
  type Overlap,
  type SchedulePlan,
  type Spec,
  scheduleInvalid,
} from '../model/schedule.js'
import { type Duration, durationMs } from '../model/time.js'
import { optionsObject } from './paged.js'
import { readTags } from './start.js'

const TIMES = ['cron', 'every', 'at'] as const
const OPTIONS = [
  'id',
  'workflow',
  ...TIMES,
  'timezone',
  'input',
  'overlap',
  'missed',
  'catchUp',
  'jitter',
  'tags',
  'workspace',
]
/** No Date and no id of a run has a later year. */
const AT_MAX = Date.UTC(9999, 11, 31)

type Given = Readonly<Record<string, unknown>>

export interface ReadSchedule {
  readonly id: unknown
  readonly workflow: unknown
  readonly workspace?: unknown
  readonly input: unknown
  readonly spec: Spec
  readonly overlap: Overlap
  readonly plan: Omit<SchedulePlan, 'timeoutMs'>
}

export function readSchedule(options: unknown): ReadSchedule {
  const where = 'engine.schedules.set'
  const given = optionsObject(options, where, OPTIONS)
  const { overlap = 'allow', missed = 'once', catchUp } = given
  if (!OVERLAPS.includes(overlap as Overlap)) {
    throw optionInvalid('overlap', where, overlap, "'allow', 'skip', 'queue' or 'cancel'")
  }
  const { id, workflow, input, workspace } = given
  return {
    id,
    workflow,
    input,
    ...(workspace !== undefined && { workspace }),
    spec: readSpec(given, `Schedule ${shown(id)}`),
    overlap: overlap as Overlap,
    plan: {
      missed: readMissed(missed, where),
      catchUpMs: readCatchUp(catchUp, missed),
      tags: readTags(given.tags, where),
    },
  }
}

function readMissed(missed: unknown, where: string): Missed {
  if (MISSED.includes(missed as Missed)) return missed as Missed
  throw optionInvalid('missed', where, missed, "'skip', 'once' or 'all'")
}

function readCatchUp(catchUp: unknown, missed: unknown): number | null {
  if (catchUp !== undefined) return durationMs(catchUp as Duration)
  return missed === 'all' ? CATCH_UP_MS : null
}

/** Cron expressions must come again behind 1970: whether they lie ahead is asked when that is known. */
export function readSpec(given: Given, where: string): Spec {
  const { cron, timezone, every, at, jitter } = given
  const jitterMs = jitter === undefined ? 0 : durationMs(jitter as Duration)
  const said = TIMES.filter((one) => given[one] !== undefined)
  if (said.length !== 1) {
    const found = said.length === 0 ? 'none of them is given' : `${said.join(' and ')} are given`
    throw scheduleInvalid(where, [`it takes one of cron, every and at, and ${found}`])
  }
  if (cron !== undefined) {
    const zone = timezone ?? 'UTC'
    const problems = cronProblems(cron, zone, 0)
    if (problems.length > 0) throw scheduleInvalid(where, problems)
    return { cron: String(cron).trim(), timezone: String(zone), jitterMs }
  }
  if (timezone !== undefined) {
    throw scheduleInvalid(where, ['a time zone goes with cron alone: the others are instants'])
  }
  if (every === undefined) return { at: atOf(at, where), jitterMs }
  const everyMs = durationMs(every as Duration)
  if (everyMs >= EVERY_MIN_MS) return { everyMs, jitterMs }
  throw scheduleInvalid(where, [`every ${shown(every)} is too often: at least '1s'`])
}

function atOf(at: unknown, where: string): Instant {
  const ms =
    at instanceof Date
      ? at.getTime()
      : Number((at as { epochMilliseconds?: unknown } | null)?.epochMilliseconds)
  if (ms >= 0 && ms <= AT_MAX) return Math.trunc(ms)
  throw scheduleInvalid(where, [`at ${shown(at)} is not an instant: give a Date`])
}

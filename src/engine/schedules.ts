// engine.schedules: what people do to schedules. The runs are started by a duty (upkeep/schedules.ts).

import { randomUUID } from 'node:crypto'
import { instantMs } from '../authoring/function/context.js'
import type { NewSchedule, Schedule, ScheduleStore } from '../kernel/store.js'
import { decode } from '../model/codec.js'
import { optionInvalid, PerdureError } from '../model/errors.js'
import { CRON_RUN, type RunId } from '../model/ids.js'
import type { Instant } from '../model/run.js'
import { nextSlot, type Spec, slotAt, slotRunId } from '../model/schedule.js'
import { beforeRead, beforeWrite, type Core, found, newRunId } from './core.js'
import { scheduleIdInvalid, scheduleNotFound } from './errors.js'
import { makeHandle } from './handle.js'
import type { Spaced } from './operate.js'
import { optionsObject, paged, pageOf, readPage } from './paged.js'
import { readSchedule } from './schedule-options.js'
import type { ScheduleInfo, Schedules } from './schedule-types.js'
import { storedInput } from './start.js'
import type { Paged, RunHandle } from './types.js'

/** Together with `cron:` and the longest slot they are the id of a run. Those of triggers have a colon. */
const OWN_ID = /^[A-Za-z0-9_.@+=-]{1,80}$/
const ANY_ID = /^[A-Za-z0-9_.:@+=-]{1,80}$/
const NEXT = 5
const NEXT_MAX = 1_000
const BACKFILL_MAX = 10_000

/** `own`: the workspace of the client; `spaceOf`: the one that options name, if the client may go there. */
export function scheduleCalls(
  core: Core,
  { own, confined }: { readonly own: string; readonly confined: string | null },
  spaceOf: (options: Spaced, call: string) => string,
): Schedules {
  const { kernel } = core
  const one = async (id: unknown): Promise<Schedule> => {
    const schedule = await kernel.schedules.schedule(own, idOf(id, ANY_ID))
    if (schedule === null) throw scheduleNotFound(String(id))
    return schedule
  }
  const calls = {
    set: async (options: unknown) => {
      beforeWrite(core, 'schedules.set')
      const read = readSchedule(options)
      const id = idOf(read.id, OWN_ID)
      const workspace = spaceOf(read, 'schedules.set')
      const target = found(core, 'schedules.set', read.workflow)
      const input = await storedInput(core, target, read.input)
      const { made } = target
      const timeoutMs = made === null || made.kind === 'task' ? null : made.timeoutMs
      const plan = { ...read.plan, timeoutMs }
      const { spec, overlap } = read
      const parts = { workspace, id, definition: target.name, spec, plan, overlap, input }
      const known = await kernel.schedules.schedule(workspace, id)
      const at = { schedules: kernel.schedules, now: kernel.now() }
      return infoOf(await putSchedule(at, { ...parts, of: null }, known))
    },
    get: async (id: unknown) => {
      beforeRead(core)
      const schedule = await kernel.schedules.schedule(own, idOf(id, ANY_ID))
      return schedule && infoOf(schedule)
    },
    list: (options?: unknown) => list(core, confined, options),
    pause: (id: unknown) => setPaused(core, 'pause', () => one(id)),
    resume: (id: unknown) => setPaused(core, 'resume', () => one(id)),
    runNow: async (id: unknown, options?: unknown) => {
      beforeWrite(core, 'schedules.runNow')
      const given = optionsObject(options, 'engine.schedules.runNow', ['id'])
      const schedule = await one(id)
      const now = `${CRON_RUN}${schedule.id}:now:${randomUUID()}` as RunId
      return startNow(core, schedule, given.id === undefined ? now : newRunId(given.id))
    },
    backfill: async (id: unknown, span: unknown) => {
      beforeWrite(core, 'schedules.backfill')
      const where = 'engine.schedules.backfill'
      const given = optionsObject(span, where, ['from', 'to'])
      const from = instantMs(given.from, `"from" of ${where}`)
      const to = instantMs(given.to, `"to" of ${where}`)
      return backfill(core, await one(id), from, to)
    },
    next: async (id: unknown, count: unknown = NEXT) => {
      beforeRead(core)
      if (!Number.isInteger(count) || Number(count) < 1 || Number(count) > NEXT_MAX) {
        const expected = `a whole number from 1 to ${NEXT_MAX}`
        throw optionInvalid('count', 'engine.schedules.next', count, expected)
      }
      return nextTimes(await one(id), Number(count))
    },
    delete: async (id: unknown) => {
      beforeWrite(core, 'schedules.delete')
      await kernel.schedules.dropSchedule(own, idOf(id, ANY_ID))
    },
  }
  return calls as unknown as Schedules
}

function idOf(id: unknown, shape: RegExp): string {
  if (typeof id === 'string' && shape.test(id)) return id
  throw scheduleIdInvalid(id)
}

/** Its times go on where they were, if they are the same. */
export function putSchedule(
  { schedules, now }: { readonly schedules: ScheduleStore; readonly now: Instant },
  schedule: Omit<NewSchedule, 'next'>,
  known: Schedule | null,
): Promise<Schedule> {
  const { spec, id } = schedule
  const slot = nextSlot(spec, Math.max(now, known?.lastSlot ?? 0))
  const isSame = JSON.stringify(known?.spec) === JSON.stringify(spec)
  if (slot === null && !isSame) throw isOver(id)
  return schedules.putSchedule({ ...schedule, next: momentOf(spec, id, slot) })
}

function momentOf(spec: Spec, id: string, slot: Instant | null) {
  return slot === null ? null : { slot, at: slotAt(spec, id, slot) }
}

function isOver(id: string): PerdureError {
  return new PerdureError('SCHEDULE_INVALID', `Schedule "${id}" has no time to come.`, {
    hint: 'give a time that lies ahead; to start a run now, call engine.start',
    details: { problems: ['all of its times are over'] },
  })
}

async function setPaused(
  core: Core,
  call: 'pause' | 'resume',
  load: () => Promise<Schedule>,
): Promise<void> {
  beforeWrite(core, `schedules.${call}`)
  const isPaused = call === 'pause'
  for (let isDone = false; !isDone; ) {
    const schedule = await load()
    const { spec, id, lastSlot } = schedule
    const slot = isPaused ? null : nextSlot(spec, Math.max(core.kernel.now(), lastSlot ?? 0))
    // One that is as asked keeps its times. If it was changed meanwhile, its times are computed anew.
    isDone =
      schedule.isPaused === isPaused ||
      (await core.kernel.schedules.pauseSchedule(schedule, isPaused, momentOf(spec, id, slot)))
  }
}

async function startNow(core: Core, schedule: Schedule, id: RunId): Promise<RunHandle> {
  const { workspace, definition, input, plan } = schedule
  const { id: started } = await core.kernel.start({
    id,
    workspace,
    definition,
    version: null,
    input,
    tags: { ...plan.tags, schedule: schedule.id },
    priority: 5,
    delayMs: 0,
    timeoutMs: plan.timeoutMs,
  })
  const target = found(core, 'schedules', definition)
  return makeHandle(core, { workspace, id: started, target, isKnown: true })
}

async function backfill(
  core: Core,
  schedule: Schedule,
  from: Instant,
  to: Instant,
): Promise<RunHandle[]> {
  const where = 'engine.schedules.backfill'
  if (to > core.kernel.now()) {
    throw optionInvalid('to', where, new Date(to), 'not in the future')
  }
  const slots: Instant[] = []
  for (let slot = nextSlot(schedule.spec, from - 1); slot !== null && slot <= to; ) {
    slots.push(slot)
    if (slots.length > BACKFILL_MAX) {
      const expected = `a span of at most ${BACKFILL_MAX} times`
      throw optionInvalid('from', where, new Date(from), expected)
    }
    slot = nextSlot(schedule.spec, slot)
  }
  const handles: RunHandle[] = []
  const { workspace, definition, id } = schedule
  for (const slot of slots) {
    const runId = slotRunId(id, slot)
    try {
      handles.push(await startNow(core, schedule, runId))
    } catch (error) {
      // It was started with what the schedule said then.
      if (!PerdureError.is(error, 'ID_TAKEN')) throw error
      const target = found(core, 'schedules', definition)
      handles.push(makeHandle(core, { workspace, id: runId, target, isKnown: false }))
    }
  }
  return handles
}

function nextTimes({ next, spec, isPaused }: Schedule, count: number): Date[] {
  const times: Date[] = []
  let slot = isPaused ? null : (next?.slot ?? null)
  while (slot !== null && times.length < count) {
    times.push(new Date(slot))
    slot = nextSlot(spec, slot)
  }
  return times
}

function list(core: Core, confined: string | null, options: unknown): Paged<ScheduleInfo> {
  beforeRead(core)
  const where = 'engine.schedules.list'
  const given = optionsObject(options, where, ['limit', 'after'])
  const { limit, after } = readPage(given, where, {
    limit: 50,
    order: 'oldest',
    cursor: /^\S+ \S+$/,
  })
  return paged(after, async (cursor) => {
    beforeRead(core)
    const [workspace = '', id = ''] = cursor?.split(' ') ?? []
    const rows = await core.kernel.schedules.schedules({
      workspace: confined,
      after: cursor === null ? null : { workspace, id },
      limit: limit + 1,
    })
    return pageOf(rows, limit, infoOf, (row) => `${row.workspace} ${row.id}`)
  })
}

function infoOf(schedule: Schedule): ScheduleInfo {
  const { spec, plan, next, lastSlot } = schedule
  return {
    id: schedule.id,
    workflow: schedule.definition,
    workspace: schedule.workspace,
    cron: 'cron' in spec ? spec.cron : null,
    timezone: 'cron' in spec ? spec.timezone : null,
    everyMs: 'everyMs' in spec ? spec.everyMs : null,
    at: 'at' in spec ? new Date(spec.at) : null,
    input: decode(schedule.input),
    overlap: schedule.overlap,
    missed: plan.missed,
    catchUpMs: plan.catchUpMs,
    jitterMs: spec.jitterMs,
    tags: plan.tags,
    isPaused: schedule.isPaused,
    isTrigger: schedule.of !== null,
    lastAt: lastSlot === null ? null : new Date(lastSlot),
    nextAt: next === null ? null : new Date(next.at),
    lastRunId: schedule.lastRun,
    createdAt: new Date(schedule.createdAt),
    updatedAt: new Date(schedule.updatedAt),
  }
}

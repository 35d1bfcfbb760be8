// Schedules: the instants at which runs are due (slots), computed from nothing but the schedule and an instant. Every process
// computes the same; which of them starts the run is the database's to say.

import { Cron } from 'croner'
import { PerdureError } from './error.js'
import { shown } from './errors.js'
import { CRON_RUN, type RunId } from './ids.js'
import { SCHEDULE_LATE_MS } from './limits.js'
import { generatorOf } from './random.js'
import type { Instant } from './run.js'

/** When it is due. The one word that is there says how. */
export type Spec = Readonly<
  { jitterMs: number } & (
    | { cron: string; timezone: string }
    /** Multiples of it since 1970. */
    | { everyMs: number }
    | { at: Instant }
  )
>

/** What becomes of a slot while the run of an earlier one goes on. */
export type Overlap = 'allow' | 'skip' | 'queue' | 'cancel'
/** What becomes of slots at which nobody was there. */
export type Missed = 'skip' | 'once' | 'all'

/** What the database need not understand. */
export interface SchedulePlan {
  readonly missed: Missed
  /** Slots that are older are left out; null: none is too old. */
  readonly catchUpMs: number | null
  readonly tags: Readonly<Record<string, string>>
  /** Of its runs. */
  readonly timeoutMs: number | null
}

export const OVERLAPS: readonly Overlap[] = ['allow', 'skip', 'queue', 'cancel']
export const MISSED: readonly Missed[] = ['skip', 'once', 'all']
export const EVERY_MIN_MS = 1_000

// ── slots ───────────────────────────────────────────────────────────────────────────────────────────────────

/** The first slot behind an instant; null: there is none any more. */
export function nextSlot(spec: Spec, after: Instant): Instant | null {
  if ('at' in spec) return spec.at > after ? spec.at : null
  if ('everyMs' in spec) return (Math.floor(after / spec.everyMs) + 1) * spec.everyMs
  // Croner's own clock is never asked: it is always given the instant.
  return cronOf(spec.cron, spec.timezone).nextRun(new Date(after))?.getTime() ?? null
}

/** When a slot is acted upon: the same moment in every process. */
export function slotAt(spec: Spec, schedule: string, slot: Instant): Instant {
  if (spec.jitterMs === 0) return slot
  return slot + Math.floor(generatorOf(`${schedule} ${slot}`).fraction() * spec.jitterMs)
}

/** The last slot that is not later than an instant, from `first` on, which is one. */
function lastSlot(spec: Spec, first: Instant, upTo: Instant): Instant {
  let last = first
  // Far back at first in small, then in growing spans: a slot for every second of a year is not walked through.
  for (let span = 60_000; upTo - span > first; span *= 4) {
    const near = nextSlot(spec, upTo - span)
    if (near === null || near > upTo) continue
    last = near
    break
  }
  for (;;) {
    const next = nextSlot(spec, last)
    if (next === null || next > upTo) return last
    last = next
  }
}

/** What is to be done about the slots that are due. */
export interface Firing {
  /** The slot whose run is started; null: those up to `behind` are left out. */
  readonly slot: Instant | null
  /** The last slot that is settled by it. */
  readonly behind: Instant
  readonly next: Instant | null
}

/**
 * `due`: the first slot that nobody has acted upon, whose moment has come. `heldUntil`: until then nothing could be started,
 * because the run before went on: what came meanwhile is not missed. `isLastOnly`: of several only the last counts.
 */
export function firingOf(
  spec: Spec,
  plan: SchedulePlan,
  due: Instant,
  at: { readonly now: Instant; readonly heldUntil: Instant | null; readonly isLastOnly: boolean },
): Firing {
  const { now, heldUntil } = at
  const inTime = now - SCHEDULE_LATE_MS - spec.jitterMs
  const started = (slot: Instant): Firing => ({ slot, behind: slot, next: nextSlot(spec, slot) })
  const left = (behind: Instant): Firing => ({ slot: null, behind, next: nextSlot(spec, behind) })
  if (due >= inTime || (heldUntil ?? 0) >= inTime) {
    return started(at.isLastOnly ? lastSlot(spec, due, now - spec.jitterMs) : due)
  }
  const tooOld = plan.catchUpMs === null ? Number.NEGATIVE_INFINITY : now - plan.catchUpMs
  const last = lastSlot(spec, due, inTime - 1)
  if (plan.missed === 'skip' || last < tooOld) return left(last)
  if (plan.missed === 'once') return started(last)
  return due >= tooOld ? started(due) : left(lastSlot(spec, due, tooOld - 1))
}

/** Of the run of a slot: the same slot is the same run. */
export function slotRunId(schedule: string, slot: Instant): RunId {
  return `${CRON_RUN}${schedule}:${new Date(slot).toISOString()}` as RunId
}

// ── checks ──────────────────────────────────────────────────────────────────────────────────────────────────

const CRON = /^(@[a-z]+|[^\s]+( +[^\s]+){4,5})$/

/** What is wrong with a cron expression and its time zone; nothing: []. `after`: it must come again behind it. */
export function cronProblems(cron: unknown, timezone: unknown, after: Instant): string[] {
  const problems: string[] = []
  if (typeof timezone !== 'string' || !isZone(timezone)) {
    problems.push(`${shown(timezone)} is not a time zone: give a name such as 'Europe/Berlin'`)
  }
  if (typeof cron !== 'string' || !CRON.test(cron.trim())) {
    problems.push(
      `${shown(cron)} is not a cron expression: give five fields, 'minute hour day month weekday'`,
    )
    return problems
  }
  try {
    const next = cronOf(cron, 'UTC').nextRun(new Date(after))
    if (next === null) problems.push(`${shown(cron)} never comes: there is no such day`)
  } catch (error) {
    problems.push(`${shown(cron)}: ${said(error)}`)
  }
  return problems
}

export const scheduleInvalid = (
  where: string,
  problems: readonly string[],
): PerdureError<'SCHEDULE_INVALID'> =>
  new PerdureError('SCHEDULE_INVALID', `${where} has no valid times: ${problems.join('; ')}.`, {
    hint: "write cron: '0 9 * * MON-FRI' with timezone: 'Europe/Berlin', every: '5min', or at: a time to come",
    details: { problems },
  })

function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== null
  } catch {
    return false
  }
}

/** Croner says in which class it noticed. */
function said(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.replace(/^\w+: /, '').replace(/\.$/, '')
}

/** Paused: it is only asked, and sets no timer. */
function cronOf(cron: string, timezone: string): Cron {
  return new Cron(cron.trim(), { timezone, paused: true })
}

// Schedules: starts the runs whose time has come. Every worker does it; who acts upon a slot is the database's to say.
//
// Owns:      the timer of the next look: the first moment to come, and at least every `everyMs`.
// Talks to:  Store.dueSchedules and Store.fire; the kernel, to cancel a last run and to have the new ones claimed.

import type { Clock, Log, Random } from '../kernel/ports.js'
import type { DueSchedule, Fire, ScheduleStore } from '../kernel/store.js'
import { PerdureError } from '../model/errors.js'
import { type MessageId, type RunId, type Uid, uuidv7 } from '../model/ids.js'
import type { Instant } from '../model/run.js'
import { firingOf, slotAt, slotRunId } from '../model/schedule.js'

export interface SchedulesDeps {
  readonly store: ScheduleStore
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly everyMs: number
  /** A named place where a test may kill the process. */
  fault(point: string): void
  cancel(
    to: { readonly workspace: string; readonly id: RunId },
    reason: string,
    id: MessageId,
  ): Promise<void>
  /** Runs were made due. */
  madeDue(): void
}

const PER_LOOK = 100

export class Schedules {
  private readonly deps: SchedulesDeps
  private isClosed = false
  private underWay: Promise<void> = Promise.resolve()
  private offTimer = (): void => {}

  constructor(deps: SchedulesDeps) {
    this.deps = deps
    this.next(0)
  }

  async close(): Promise<void> {
    this.isClosed = true
    this.offTimer()
    await this.underWay
  }

  private next(ms: number): void {
    if (this.isClosed) return
    this.offTimer = this.deps.clock.after(ms, () => {
      this.underWay = this.look()
    })
  }

  private async look(): Promise<void> {
    const { store, log, everyMs } = this.deps
    let waitMs = everyMs
    try {
      const { now, due, nextAt } = await store.dueSchedules(PER_LOOK)
      let acted = 0
      for (const one of due) if (!this.isClosed && (await this.act(one, now))) acted += 1
      // Another slot may be due behind the one that was settled.
      if (acted > 0) waitMs = 0
      else if (nextAt !== null) waitMs = Math.max(1, Math.min(everyMs, nextAt - now))
    } catch (error) {
      if (!this.isClosed) log.debug('schedules could not be looked at; it tries again', { error })
    }
    this.next(waitMs)
  }

  /** Whether it was moved on, by us or by another. One that cannot be started must not hold up the others. */
  private async act(one: DueSchedule, now: Instant): Promise<boolean> {
    try {
      return await this.settle(one, now)
    } catch (error) {
      if (this.isClosed) return false
      this.deps.log.error(`schedule "${one.id}" could not start its run; it tries again`, { error })
      return false
    }
  }

  private async settle(one: DueSchedule, now: Instant): Promise<boolean> {
    const { store, log } = this.deps
    const { workspace, id, overlap, spec, plan, lastRun } = one
    if (overlap === 'cancel' && one.isOpen && lastRun !== null) {
      await this.cancel(one, lastRun)
      return false
    }
    const isHeld = overlap === 'queue' || overlap === 'cancel'
    const heldUntil = isHeld ? one.endedAt : null
    const isLastOnly = overlap === 'cancel'
    const { slot, behind, next } = firingOf(spec, plan, one.next.slot, {
      now,
      heldUntil,
      isLastOnly,
    })
    const fire: Fire = {
      of: one,
      behind,
      next: next === null ? null : { slot: next, at: slotAt(spec, id, next) },
      run: slot === null ? null : this.runOf(one, slot, now),
    }
    this.deps.fault('fire.before')
    const answer = await store.fire(fire)
    this.deps.fault('fire.after')
    if (answer === 'fired') this.deps.madeDue()
    if (answer === 'skipped') {
      log.info(`schedule "${id}" has skipped a time: run ${lastRun} goes on`, { workspace })
    }
    if (answer === 'moved') log.warn(`schedule "${id}" was not looked at in time`, { workspace })
    return answer !== 'lost'
  }

  private runOf(one: DueSchedule, slot: Instant, now: Instant): NonNullable<Fire['run']> {
    const uid = uuidv7(now, this.deps.random.bytes(10)) as Uid
    const { tags, timeoutMs } = one.plan
    return { uid, id: slotRunId(one.id, slot), tags: { ...tags, schedule: one.id }, timeoutMs }
  }

  /** Under the id of the slot: whoever does it again changes nothing. The run is started when the last one has ended. */
  private async cancel({ workspace, id, next }: DueSchedule, lastRun: RunId): Promise<void> {
    const message = `${slotRunId(id, next.slot)} instead` as MessageId
    const reason = `schedule "${id}" starts anew`
    try {
      await this.deps.cancel({ workspace, id: lastRun }, reason, message)
    } catch (error) {
      // It has ended by itself.
      if (!PerdureError.is(error, 'RUN_FINISHED', 'RUN_NOT_FOUND')) throw error
    }
  }
}

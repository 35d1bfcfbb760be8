// Schedules of the store in memory.

import type {
  DueSchedule,
  Fire,
  NewSchedule,
  NextSlot,
  Schedule,
  SchedulePage,
  ScheduleStore,
} from '../kernel/store.js'
import { MemoryEvents } from './memory-events.js'
import type { MemoryRun } from './memory-run.js'

export class MemorySchedules extends MemoryEvents implements ScheduleStore {
  private readonly bySchedule = new Map<string, Schedule>()

  async putSchedule(given: NewSchedule): Promise<Schedule> {
    const key = keyOf(given)
    const now = this.now()
    const known = this.bySchedule.get(key)
    const fresh = { revision: 1, isPaused: false, lastSlot: null, lastRun: null }
    if (known && said(known) === said(given)) return known
    const isSameTime = known && JSON.stringify(known.spec) === JSON.stringify(given.spec)
    const stored: Schedule = known
      ? {
          ...known,
          ...given,
          next: isSameTime ? known.next : given.next,
          revision: known.revision + 1,
          updatedAt: now,
        }
      : { ...given, ...fresh, createdAt: now, updatedAt: now }
    this.bySchedule.set(key, stored)
    return stored
  }

  async schedules({ workspace, after, limit }: SchedulePage): Promise<readonly Schedule[]> {
    const behind = after ? keyOf(after) : ''
    return [...this.bySchedule.entries()]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .filter(([key]) => key > behind)
      .map(([, schedule]) => schedule)
      .filter((one) => workspace === null || one.workspace === workspace)
      .slice(0, limit)
  }

  async schedule(workspace: string, id: string): Promise<Schedule | null> {
    return this.bySchedule.get(keyOf({ workspace, id })) ?? null
  }

  async schedulesOf(definitions: readonly string[]): Promise<readonly Schedule[]> {
    return [...this.bySchedule.values()].filter(({ of }) => of !== null && definitions.includes(of))
  }

  async pauseSchedule(of: Schedule, isPaused: boolean, next: NextSlot | null): Promise<boolean> {
    const known = this.bySchedule.get(keyOf(of))
    if (known?.revision !== of.revision) return false
    const revision = known.revision + 1
    this.bySchedule.set(keyOf(of), { ...known, isPaused, next, revision, updatedAt: this.now() })
    return true
  }

  async dropSchedule(workspace: string, id: string): Promise<boolean> {
    return this.bySchedule.delete(keyOf({ workspace, id }))
  }

  async dueSchedules(atMost: number) {
    const now = this.now()
    const open = [...this.bySchedule.values()].filter(({ isPaused }) => !isPaused)
    const due: DueSchedule[] = []
    let nextAt: number | null = null
    for (const one of open) {
      const { next } = one
      if (next === null) continue
      if (next.at > now) {
        nextAt = Math.min(nextAt ?? next.at, next.at)
        continue
      }
      const last = this.lastOf(one)
      const isOpen = last !== undefined && last.finishedAt === null
      if (isOpen && one.overlap === 'queue') continue
      due.push({ ...one, next, isOpen, endedAt: last?.finishedAt ?? null })
    }
    due.sort((a, b) => a.next.at - b.next.at)
    return { now, due: due.slice(0, atMost), nextAt }
  }

  async fire({ of, behind, next, run }: Fire) {
    const known = this.bySchedule.get(keyOf(of))
    const isAt = known?.revision === of.revision && known.next?.slot === of.next.slot
    if (!known || !isAt || known.isPaused) return 'lost'
    const answer = run === null ? 'moved' : this.startOf(known, behind, run)
    this.bySchedule.set(keyOf(of), {
      ...known,
      next,
      lastSlot: Math.max(known.lastSlot ?? behind, behind),
      lastRun: answer === 'fired' && run ? run.id : known.lastRun,
    })
    return answer
  }

  private startOf(schedule: Schedule, slot: number, run: NonNullable<Fire['run']>) {
    const { workspace, definition, input, overlap, lastSlot } = schedule
    if (lastSlot !== null && lastSlot >= slot) return 'known'
    const last = this.lastOf(schedule)
    if (overlap === 'skip' && last && last.finishedAt === null) return 'skipped'
    if (this.find(workspace, run.id)) return 'known'
    const rest = { version: null, order: null, priority: 5, delayMs: 0, parent: null }
    const limits = this.limitsOf(definition, workspace, input)
    const start = { ...rest, ...run, workspace, definition, input, limits }
    this.startNow({ run: start, meta: { bornWith: 1 }, message: null })
    return 'fired'
  }

  private lastOf({ workspace, lastRun }: Schedule): MemoryRun | undefined {
    return lastRun === null ? undefined : this.find(workspace, lastRun)
  }
}

function keyOf({ workspace, id }: Pick<Schedule, 'workspace' | 'id'>): string {
  return `${workspace}\u001f${id}`
}

function said({ definition, spec, plan, overlap, input, of }: NewSchedule): string {
  return JSON.stringify([definition, spec, plan, overlap, input, of])
}

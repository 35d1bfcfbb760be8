import { describe, expect, test } from 'vitest'
import { RUN_ID } from '../../src/model/ids.js'
import {
  cronProblems,
  firingOf,
  nextSlot,
  type SchedulePlan,
  type Spec,
  slotAt,
  slotRunId,
} from '../../src/model/schedule.js'

const at = (text: string): number => Date.parse(text)
const HOUR = 3_600_000
const HOURLY: Spec = { everyMs: HOUR, jitterMs: 0 }
const BERLIN = { timezone: 'Europe/Berlin', jitterMs: 0 }

function times(spec: Spec, after: string, count: number): string[] {
  const found: string[] = []
  for (let slot: number | null = at(after); slot !== null && found.length < count; ) {
    slot = nextSlot(spec, slot)
    if (slot !== null) found.push(new Date(slot).toISOString())
  }
  return found
}

describe('slots', () => {
  test('an interval is counted from 1970, whoever counts', () => {
    expect(times(HOURLY, '2026-01-01T00:20:00Z', 2)).toEqual([
      '2026-01-01T01:00:00.000Z',
      '2026-01-01T02:00:00.000Z',
    ])
  })

  test('an instant comes once', () => {
    const once: Spec = { at: at('2026-01-01T12:00:00Z'), jitterMs: 0 }
    expect(times(once, '2026-01-01T00:00:00Z', 5)).toEqual(['2026-01-01T12:00:00.000Z'])
    expect(times(once, '2026-01-01T12:00:00Z', 5)).toEqual([])
  })

  test('[D37] a time of the hour that summer time leaves out comes when that hour would have begun', () => {
    expect(times({ cron: '30 2 * * *', ...BERLIN }, '2026-03-28T00:00:00Z', 3)).toEqual([
      '2026-03-28T01:30:00.000Z',
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:30:00.000Z',
    ])
  })

  test('[D37] a time of the hour that comes twice comes once, the first time', () => {
    expect(times({ cron: '30 2 * * *', ...BERLIN }, '2026-10-24T12:00:00Z', 2)).toEqual([
      '2026-10-25T00:30:00.000Z',
      '2026-10-26T01:30:00.000Z',
    ])
  })

  test('every half hour is every half hour, also when the clocks change', () => {
    const half: Spec = { cron: '*/30 * * * *', ...BERLIN }
    for (const from of ['2026-10-24T23:00:00Z', '2026-03-28T23:00:00Z']) {
      const found = times(half, from, 8).map(at)
      expect(found).toEqual(found.map((_, i) => at(from) + (i + 1) * (HOUR / 2)))
    }
  })

  test('jitter is the same for a slot in every process, another for another slot, and bounded', () => {
    const spec: Spec = { everyMs: HOUR, jitterMs: 60_000 }
    const moved = Array.from({ length: 50 }, (_, i) => slotAt(spec, 's', i * HOUR) - i * HOUR)
    expect(moved).toEqual(
      Array.from({ length: 50 }, (_, i) => slotAt(spec, 's', i * HOUR) - i * HOUR),
    )
    expect(new Set(moved).size).toBeGreaterThan(40)
    expect(Math.max(...moved)).toBeLessThan(60_000)
    expect(Math.min(...moved)).toBeGreaterThanOrEqual(0)
    expect(slotAt(HOURLY, 's', 5)).toBe(5)
  })

  test('the id of the run of a slot is one that a run may have', () => {
    const id = slotRunId('x'.repeat(80), at('2026-01-01T00:00:00Z'))
    expect(id).toMatch(RUN_ID)
    expect(id).toMatch(/^cron:x+:2026-01-01T00:00:00\.000Z$/)
  })
})

describe('what is done about the slots that are due', () => {
  const now = at('2026-01-10T00:00:30Z')
  const days = (count: number): number => at('2026-01-10T00:00:00Z') - count * 24 * HOUR
  const plan = (changes: Partial<SchedulePlan>): SchedulePlan => ({
    missed: 'once',
    catchUpMs: null,
    tags: {},
    timeoutMs: null,
    ...changes,
  })
  const look = (due: number, changes: Partial<SchedulePlan> = {}, held: number | null = null) =>
    firingOf(HOURLY, plan(changes), due, { now, heldUntil: held, isLastOnly: false })

  test('one whose time has just come is started, whatever is done about missed ones', () => {
    for (const missed of ['skip', 'once', 'all'] as const) {
      expect(look(days(0), { missed })).toEqual({
        slot: days(0),
        behind: days(0),
        next: days(0) + HOUR,
      })
    }
  })

  test('[D37] missed ones: none, one for all of them, or each, and none that is too old', () => {
    const last = days(0) - HOUR
    expect(look(days(2), { missed: 'skip' })).toEqual({ slot: null, behind: last, next: days(0) })
    expect(look(days(2), { missed: 'once' })).toEqual({ slot: last, behind: last, next: days(0) })
    expect(look(days(2), { missed: 'all' })).toMatchObject({ slot: days(2), behind: days(2) })
    const catchUpMs = 24 * HOUR
    expect(look(days(2), { missed: 'all', catchUpMs })).toEqual({
      slot: null,
      behind: days(1),
      next: days(1) + HOUR,
    })
    expect(look(days(1) + HOUR, { missed: 'all', catchUpMs })).toMatchObject({
      slot: days(1) + HOUR,
    })
    expect(look(days(2), { missed: 'once', catchUpMs: 60_000 })).toMatchObject({ slot: null })
  })

  test('what came while the run before went on is not missed', () => {
    expect(look(days(2), { missed: 'skip' }, now - 1_000)).toMatchObject({ slot: days(2) })
    const only = { now, heldUntil: now - 1_000, isLastOnly: true }
    expect(firingOf(HOURLY, plan({}), days(2), only)).toMatchObject({ slot: days(0) })
  })

  test('years of missed seconds take no time', () => {
    const every: Spec = { cron: '* * * * * *', timezone: 'Europe/Berlin', jitterMs: 0 }
    const at = { now, heldUntil: null, isLastOnly: false }
    const { slot } = firingOf(every, plan({}), days(3_650), at)
    expect(slot).toBe(now - 61_000)
  })
})

describe('what is wrong with a cron expression', () => {
  test('is listed, all of it (B91)', () => {
    expect(cronProblems('0 9 * * MON-FRI', 'Europe/Berlin', 0)).toEqual([])
    expect(cronProblems('@daily', 'UTC', 0)).toEqual([])
    expect(cronProblems('0 0 30 2 *', 'Europe/Nowhere', 0)).toEqual([
      expect.stringContaining('"Europe/Nowhere" is not a time zone'),
      expect.stringContaining('never comes'),
    ])
    for (const cron of [
      '61 * * * *',
      '60 * * * *',
      '0 0 31 2 *',
      '* * * * * * *',
      '* * *',
      '',
      7,
      '2030-01-01T00:00:00',
      '@never',
      'a b c d e',
    ]) {
      expect(cronProblems(cron, 'UTC', 0), String(cron)).toHaveLength(1)
    }
  })
})

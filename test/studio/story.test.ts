import { describe, expect, test } from 'vitest'
import type { JournalEntry } from '../../src/index.js'
import { axisOf, TEAR_PX, ticksOf, xOf } from '../../studio/src/pages/run/model/axis.js'
import { failuresOf } from '../../studio/src/pages/run/model/failures.js'
import { stateOf, storyOf } from '../../studio/src/pages/run/model/story.js'
import { thenOf } from '../../studio/src/pages/run/model/then.js'

const DAY = 86_400_000
const at = (ms: number): Date => new Date(1_000_000_000_000 + ms)

/** Entries numbered from 1, as a journal has them. */
const journal = (...entries: readonly Partial<JournalEntry>[]): readonly JournalEntry[] =>
  entries.map((entry, index) => ({ seq: index + 1, kind: '', name: '', at: at(0), ...entry }))

const down = { name: 'Error', message: 'card network down' }
const order = journal(
  { kind: 'run.created', at: at(0), input: { id: 'o-1' } },
  {
    kind: 'step.failed',
    name: 'charge',
    at: at(30),
    startedAt: at(10),
    error: down,
    until: at(2_000),
  },
  { kind: 'step.completed', name: 'charge', at: at(2_200), startedAt: at(2_010), attempt: 2 },
  { kind: 'timer.set', name: 'cool', at: at(2_210), until: at(2 * DAY) },
  { kind: 'timer.fired', name: 'cool', at: at(2 * DAY) },
  { kind: 'wait.opened', name: 'approval', at: at(2 * DAY + 10) },
  { kind: 'run.failed', at: at(2 * DAY + 500), error: down },
)

describe('the lanes of a timeline', () => {
  test('attempts are blocks, and between them it waits for the next', () => {
    const [charge] = storyOf(order).lanes
    const spans = charge?.spans.map(({ kind, state, from, to }) => [kind, state, from, to])
    expect(spans).toEqual([
      ['attempt', 'failed', +at(10), +at(30)],
      ['backoff', 'done', +at(30), +at(2_010)],
      ['attempt', 'done', +at(2_010), +at(2_200)],
    ])
  })

  test('a step whose next attempt is due is open, and what is open when a run ends is withdrawn', () => {
    const [charge] = storyOf(order.slice(0, 2)).lanes
    expect(charge && stateOf(charge)).toBe('open')
    const { lanes, isOver } = storyOf(order)
    expect(isOver).toBe(true)
    expect(lanes.map((lane) => stateOf(lane))).toEqual(['done', 'done', 'withdrawn'])
  })

  test('a run that was re-opened goes on, and a machine has a lane of its places', () => {
    const moves = [{ from: 'start', to: 'reviewing', event: 'write' }]
    const { lanes, isOver } = storyOf(
      journal(
        { kind: 'run.created' },
        { kind: 'step.completed', name: 'write', at: at(5), transitions: moves },
        { kind: 'run.failed', at: at(9) },
        { kind: 'run.reopened', at: at(20) },
      ),
    )
    expect(isOver).toBe(false)
    const places = lanes.find(({ kind }) => kind === 'places')
    expect(places?.spans.map(({ label, to }) => [label, to])).toEqual([
      ['start', +at(5)],
      ['reviewing', null],
    ])
  })

  test('twenty thousand entries of a thousand steps are as many lanes, each with its attempts', () => {
    const many = Array.from({ length: 20_000 }, (_, index) => ({
      ...{ seq: index + 1, kind: 'step.completed', name: `step ${index % 1_000}` },
      ...{ at: at(index * 10 + 5), startedAt: at(index * 10) },
    }))
    const { lanes, from, to } = storyOf(many)
    expect(lanes).toHaveLength(1_000)
    expect(lanes.every(({ spans }) => spans.length === 20)).toBe(true)
    expect(xOf(axisOf(lanes, from, to, 1_000), to)).toBe(1_000)
  })
})

describe('the axis', () => {
  const { lanes, from, to } = storyOf(order)
  const axis = axisOf(lanes, from, to, 1_000)

  test('is torn where it sleeps for days, and what happened around it keeps its room', () => {
    const torn = axis.segments.filter(({ isTorn }) => isTorn)
    expect(torn.map(({ width }) => width)).toEqual([TEAR_PX])
    expect(xOf(axis, +at(2_210))).toBeGreaterThan(700)
    expect(xOf(axis, to)).toBe(1_000)
  })

  test('never runs backwards, and has its texts apart', () => {
    const instants = [0, 10, 2_010, 2_210, DAY, 2 * DAY, 2 * DAY + 10].map((ms) => +at(ms))
    const places = instants.map((instant) => xOf(axis, instant))
    expect(places).toEqual(places.toSorted((a, b) => a - b))
    const ticks = ticksOf(axis).map((tick) => xOf(axis, tick))
    for (const [index, x] of ticks.slice(1).entries()) {
      expect(x - (ticks[index] ?? 0)).toBeGreaterThan(40)
    }
  })

  test('of a run without tears is straight', () => {
    const straight = axisOf([], 0, 1_000, 500)
    expect(xOf(straight, 500)).toBe(250)
    expect(straight.segments).toHaveLength(1)
  })
})

test('each failure is told once, the last first, with its next attempt', () => {
  const found = failuresOf(order)
  expect(found.map(({ name, until }) => [name, until])).toEqual([['charge', at(2_000)]])
})

test('the journal alone tells how a run was at an earlier moment', () => {
  expect(thenOf(order.slice(0, 2))).toMatchObject({ status: 'waiting', error: down })
  expect(thenOf(order.slice(0, 3))).toMatchObject({ status: 'running', input: { id: 'o-1' } })
  expect(thenOf(order)).toMatchObject({ status: 'failed', error: down })
})

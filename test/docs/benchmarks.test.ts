// docs/benchmarks.md is made of what a run of the bench recorded. The bench itself is no test: it needs a quiet machine.

import { describe, expect, test } from 'vitest'
import { GOALS, plan, ROUNDS } from '../../bench/plan.mjs'
import * as report from '../../bench/report.mjs'
import { read } from '../tidy/repository.js'

const recorded = JSON.parse(read('bench/figures.json')) as report.Recorded
const rate = (...values: number[]) => ({ perSecond: values })
const figures: report.Figures = {
  w1: { perdure: rate(900, 1_200, 1_000), dbos: rate(30, 50, 40), bare: rate(4_000) },
  w3: {
    perdure: { p50: [2], p99: [9] },
    bare: { p50: [1], p99: [3] },
    bullmq: { p50: [4], p99: [5] },
  },
}
const w1 = (system: string) => ({ measure: 'w1', field: 'perSecond', system })
const goal = (bound: object) => ({ workload: 'W1', value: w1('perdure'), to: w1('dbos'), ...bound })

test('docs/benchmarks.md is the page of the recorded figures', () => {
  expect(read('docs/benchmarks.md')).toBe(report.page(recorded))
})

test('the recorded figures are of a whole run: every measure, in every round', () => {
  expect(ROUNDS).toBeGreaterThanOrEqual(3)
  const incomplete = plan({ quick: false }).filter(({ id }) => {
    const lists = Object.values(recorded.figures[id]?.perdure ?? {})
    return lists.length === 0 || lists.some((values) => values.length !== recorded.rounds)
  })
  expect(incomplete).toEqual([])
})

test('the recorded figures name no place of the machine', () => {
  expect(JSON.stringify(recorded)).not.toMatch(/\/(?:home|root|tmp|work|Users)\b|file:/)
})

test('every goal is about something that is measured', () => {
  const ids = plan({ quick: false }).map(({ id }) => id)
  const places = GOALS.flatMap(({ value, to }) => (to ? [value, to] : [value]))
  expect(places.filter(({ measure }) => !ids.includes(measure))).toEqual([])
})

describe('a goal', () => {
  test('compares medians', () => {
    const { ratio, isMet } = report.judge(goal({ atLeast: 25 }), figures)
    expect({ ratio, isMet }).toEqual({ ratio: 25, isMet: true })
  })

  test('that is missed says by how much of it', () => {
    expect(report.judge(goal({ atLeast: 50 }), figures)).toMatchObject({
      isMet: false,
      missedBy: 0.5,
    })
    expect(report.judge(goal({ atMost: 20 }), figures)).toMatchObject({
      isMet: false,
      missedBy: 0.25,
    })
  })

  test('about something that was not measured is neither met nor missed', () => {
    const unknown = { ...goal({ atLeast: 1 }), to: w1('restate') }
    expect(report.judge(unknown, figures)).toMatchObject({ ratio: null, isMet: null })
  })

  test('without a bound is said and not judged', () => {
    expect(report.judge(goal({}), figures)).toMatchObject({ ratio: 25, isMet: null })
  })

  test('is a line of the table once its workload was measured', () => {
    expect(lines(report.goalTable(figures))).toEqual([
      ' | goal | reached | ',
      'W1 | rate ≥ 30 × DBOS | 25.0 × | missed by 16.7 %',
      'W1 | rate ≥ 12 × Restate | – | not measured',
      'W1 | rate ≥ 0.50 × bare loop | 0.25 × | missed by 50.0 %',
      'W1 | the bare loop itself (else void) ≥ 0.80 × raw statement | – | not measured',
      'W3 | p50 ≤ 1 × DBOS | – | not measured',
      'W3 | p50 ≤ 1 × Restate | – | not measured',
      'W3 | p50 ≤ 1 × OpenWorkflow | – | not measured',
      'W3 | p50 ≤ 1.50 × bare loop | 2.00 × | missed by 33.3 %',
      'W3 | p50, to BullMQ | 0.50 × | no goal',
    ])
  })
})

test('systems stand side by side with median and spread', () => {
  expect(lines(report.systemTable(figures))).toEqual([
    ' | W1 /s | W3 p50 / p99 ms',
    'Perdure | 1,000 [900–1,200] | 2.00 / 9.00',
    'bare loop | 4,000 | 1.00 / 3.00',
    'DBOS | 40.0 [30.0–50.0] | –',
    'BullMQ | – | 4.00 / 5.00',
  ])
})

test('a ratio above one means that Perdure is better, of rates as of times', () => {
  expect(lines(report.ratioTable(figures))).toEqual([
    'Perdure against | W1 | W3',
    'bare loop | 0.25 × | 0.50 ×',
    'DBOS | 25.0 × | –',
    'BullMQ | – | 2.00 ×',
  ])
})

test('a figure has the digits that matter', () => {
  const shown = [1_234.5, 56.78, 5.678, 0.25, 0.00567, 0].map((value) => report.withSpread([value]))
  expect(shown).toEqual(['1,235', '56.8', '5.68', '0.25', '0.0057', '0.00'])
})

test('figures of a machine that was busy are not to be trusted', () => {
  expect(report.warning({ load: 0.4, cores: 2 })).toBe('')
  expect(report.warning({ load: 3, cores: 2 })).toContain('load 3.00 on 2 cores')
})

/** The rows of a table without padding and without the rule below its head. */
function lines(table: string): string[] {
  const rows = table.split('\n').filter((line) => !line.startsWith('| ---'))
  return rows.map((row) =>
    row
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim())
      .join(' | '),
  )
}

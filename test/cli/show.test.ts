// What people see, as pure functions of facts and a time.

import pc from 'picocolors'
import { beforeAll, describe, expect, test } from 'vitest'
import { answerCommand, asCommand, explained, quoted } from '../../src/cli/show/commands.js'
import { runsTable, shownRun } from '../../src/cli/show/run.js'
import { drawLine, Story } from '../../src/cli/show/story.js'
import { ago, clock, span, withClock } from '../../src/cli/show/time.js'
import type { Explanation, JournalEntry, RunInfo } from '../../src/index.js'

const paint = pc.createColors(false)
const START = Date.UTC(2026, 10, 17, 14, 0, 0)
const at = (ms: number): Date => new Date(START + ms)

beforeAll(() => {
  process.env.TZ = 'UTC'
})

const S = 1_000
const H = 3_600_000

/** An order that failed once, waited for a person for an hour, and slept for two days. */
const ENTRIES: readonly JournalEntry[] = (
  [
    { kind: 'run.created', name: '', at: at(0) },
    { kind: 'step.completed', name: 'validate', at: at(5), startedAt: at(2), attempt: 1 },
    {
      kind: 'step.failed',
      name: 'charge',
      at: at(225),
      startedAt: at(13),
      attempt: 1,
      until: at(2_225),
      error: { name: 'Error', message: 'card network\n  down' },
    },
    { kind: 'step.completed', name: 'charge', at: at(2_437), startedAt: at(2_225), attempt: 2 },
    { kind: 'wait.opened', name: 'approval', at: at(2_440), until: at(24 * H) },
    { kind: 'message.taken', name: 'approval', at: at(H), output: { ok: true } },
    { kind: 'timer.set', name: 'cooling-off', at: at(H), until: at(49 * H) },
    { kind: 'timer.fired', name: 'cooling-off', at: at(49 * H), until: at(49 * H) },
    {
      kind: 'step.completed',
      name: 'ship',
      at: at(49 * H + 140),
      startedAt: at(49 * H + 10),
      attempt: 1,
    },
    { kind: 'run.completed', name: '', at: at(49 * H + 141), output: { shipped: true } },
  ] as const
).map((entry, i) => ({ seq: i + 1, ...entry }) as JournalEntry)

const RUN = {
  id: 'o-1',
  workflow: 'order',
  version: '3',
  workspace: 'default',
  parentId: null,
  kind: 'workflow',
  input: { id: 'o-1' },
  state: undefined,
  place: null,
  hasError: false,
  error: null,
  tags: { shop: 'north' },
  attempt: 1,
  undo: [],
  createdAt: at(0),
  updatedAt: at(0),
  startedAt: at(0),
  finishedAt: at(49 * H + 141),
  status: 'completed',
  output: { shipped: true },
} as unknown as RunInfo

const WAITING = {
  ...RUN,
  output: undefined,
  finishedAt: null,
  status: 'waiting',
  reason: 'signal',
  until: at(24 * H),
  available: [
    {
      kind: 'signal',
      name: 'approval',
      schema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
    },
  ],
} as unknown as RunInfo

describe('a run that is followed', () => {
  const told = (entries: readonly JournalEntry[], width: number | null): string[] => {
    const story = new Story()
    return entries.flatMap((entry) => {
      const line = story.tell(entry, entry.at.getTime())
      return line ? [drawLine(line, { width, paint })] : []
    })
  }

  test('is one line for each fact, with durations at the right', () => {
    expect(told(ENTRIES, 80)).toMatchInlineSnapshot(`
      [
        "  ✓ validate                                         3 ms",
        "  ↻ charge             card network down           attempt 1 · next in 2 s",
        "  ✓ charge                                         212 ms · attempt 2",
        "  … approval           waits for a person          expires in 23 h 59 m",
        "  ✓ approval           {"ok":true}              59 m 57 s",
        "  … cooling-off        sleeps                      until Thursday 15:00",
        "  ✓ cooling-off        slept                          2 d",
        "  ✓ ship                                           130 ms",
        "  ✓ completed                                     2 d 1 h",
      ]
    `)
  })

  test('has lines that fit the terminal, and whole ones elsewhere', () => {
    const long = { ...ENTRIES[2], error: { name: 'E', message: 'x'.repeat(200) } } as JournalEntry
    expect(told([long], 80)[0]?.length).toBeLessThanOrEqual(80)
    expect(told([long], 60)[0]?.length).toBeLessThanOrEqual(60)
    expect(told([long], null)[0]).toContain('x'.repeat(200))
  })

  test('says what happens now', () => {
    const story = new Story()
    const now = (count: number, ms: number): string => {
      for (const entry of ENTRIES.slice(0, count)) story.tell(entry, entry.at.getTime())
      return story.now(START + ms)
    }
    expect(now(3, 1_225)).toBe('charge again in 1 s')
    expect(now(5, 3_000)).toBe('approval waits for a person')
    expect(now(7, 2 * H)).toBe('cooling-off sleeps, 1 d 23 h left')
  })

  test('of a machine names places and transitions', () => {
    const story = new Story('idle')
    const moved = {
      ...{ seq: 3, kind: 'step.completed', name: 'ASSIGN', at: at(5), startedAt: at(4) },
      transitions: [{ from: 'idle', to: 'picking', event: 'ASSIGN' }],
    }
    const wait = { seq: 2, kind: 'wait.opened', name: 'wait', at: at(1) }
    const taken = { seq: 3, kind: 'message.taken', name: 'wait', at: at(4) }
    const lines = [wait, taken, moved, wait].map((entry) => story.tell(entry, START))
    expect(lines.map((line) => line && `${line.name}: ${line.text}`)).toEqual([
      'idle: waits for a person',
      null,
      'ASSIGN: idle → picking',
      'picking: waits for a person',
    ])
  })
})

describe('a run that is shown', () => {
  const show = (run: RunInfo, count: number, width: number, now = START + 49 * H): string =>
    `\n${shownRun({ run, entries: ENTRIES.slice(0, count), now, width, paint }).join('\n')}\n`

  test('is a waterfall whose long idle stretches are torn', () => {
    expect(show(RUN, 10, 80)).toMatchInlineSnapshot(`
      "
      o-1  order v3  ● completed after 2 d 1 h
      created 2026-11-17 14:00 · workspace default · shop=north

                     0             ≈2 s≈                  ≈2 d≈    2 d 1 h
        validate     █                                                            3 ms
        charge        ▒▒▒▒▒▒▒▒▒··············█████████                        ×2 2.4 s
        approval                                      ·                      59 m 57 s
        cooling-off                                   ··············               2 d
        ship                                                        ██████      130 ms

        input   {"id":"o-1"}
        output  {"shipped":true}
      "
    `)
  })

  test('is as wide as the terminal', () => {
    expect(show(RUN, 10, 120)).toMatchInlineSnapshot(`
      "
      o-1  order v3  ● completed after 2 d 1 h
      created 2026-11-17 14:00 · workspace default · shop=north

                     0                          ≈2 s≈                                    ≈2 d≈             2 d 1 h
        validate     █                                                                                                    3 ms
        charge        ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒·························████████████████                                       ×2 2.4 s
        approval                                                               ·                                     59 m 57 s
        cooling-off                                                             ························                   2 d
        ship                                                                                            ██████████      130 ms

        input   {"id":"o-1"}
        output  {"shipped":true}
      "
    `)
    for (const width of [60, 80, 100, 120]) {
      const widest = Math.max(
        ...show(RUN, 10, width)
          .split('\n')
          .map((line) => line.length),
      )
      expect(widest).toBeLessThanOrEqual(width)
    }
  })

  test('draws what goes on up to now', () => {
    expect(show(WAITING, 5, 80, START + 10 * S)).toMatchInlineSnapshot(`
      "
      o-1  order v3  ⏸ waiting
      created 14:00 · workspace default · shop=north

                  0                 ≈2 s≈                             10 s
        validate  █                                                               3 ms
        charge     ▒▒▒▒▒▒▒▒▒▒▒▒···············█████████████                   ×2 2.4 s
        approval                                           ···············       7.6 s

        input   {"id":"o-1"}

      "
    `)
  })
})

describe('an explanation', () => {
  const explanation: Explanation = {
    sentence: `o-1 is not moving because it waits for signal "approval" (expires at ${at(24 * H).toISOString()}).`,
    reason: 'signal',
    since: at(2 * 60_000),
    until: at(24 * H),
    next: [{ text: 'send it', command: "engine.signal('o-1', 'approval', { … })" }],
  }

  test('is one sentence and the command that helps', () => {
    expect(explained(WAITING, explanation, START + H)).toEqual([
      'o-1 is not moving because it waits for signal "approval" since 14:02 (expires tomorrow 14:00).',
      `  send it:  perdure signal o-1 approval '{"ok":true}'`,
    ])
  })

  test('turns calls of the engine into commands', () => {
    expect(asCommand("engine.retry('o-1')")).toBe('perdure retry o-1')
    expect(asCommand("engine.fork('o 1', { from: 'charge' })")).toBe(
      "perdure fork 'o 1' --from charge",
    )
    expect(asCommand("engine.fork('o-1')")).toBe('perdure fork o-1')
    expect(asCommand("engine.emit('paid', { … })")).toBe('perdure emit paid')
    expect(asCommand("engine.cancel('o-1', 'by force', { force: true })")).toBe(
      'perdure cancel o-1 --force',
    )
    expect(asCommand('engine.limits()')).toBe('perdure limits')
    expect(asCommand("if (wf.patched('my-change')) { … }")).toBe(
      "if (wf.patched('my-change')) { … }",
    )
  })

  test('names the verb that what it waits for takes', () => {
    const said = { schema: null, title: null, description: null }
    const offer = { kind: 'transition', name: 'approve', ...said } as const
    expect(answerCommand(WAITING, offer)).toBe('perdure trigger o-1 approve')
    expect(answerCommand(WAITING, { ...offer, kind: 'event' })).toBe(
      'perdure send order o-1 approve',
    )
    expect(quoted("it's")).toBe(`'it'\\''s'`)
  })
})

test('a list of runs keeps ids whole and cuts what else there is', () => {
  const runs = [
    { ...WAITING, id: '01a1eb66-7cee-70a3-b233-93cb9afbe6f2' },
    {
      ...RUN,
      id: 'o-2',
      status: 'failed',
      error: { name: 'Error', message: 'card network down', step: 'charge' },
    },
  ] as RunInfo[]
  const list = (width: number | null): string =>
    `\n${runsTable(runs, START + 50 * H, { width, paint }).join('\n')}\n`
  expect(list(80)).toMatchInlineSnapshot(`
    "
    status     run                                   workflow                created
    ⏸ waiting  01a1eb66-7cee-70a3-b233-93cb9afbe6f2  order     waits for a…  2 d ago
    ▲ failed   o-2                                   order     charge: car…  2 d ago
    "
  `)
  expect(list(120)).toMatchInlineSnapshot(`
    "
    status     run                                   workflow                             created     took
    ⏸ waiting  01a1eb66-7cee-70a3-b233-93cb9afbe6f2  order     waits for approval         2 d ago  2 d 2 h
    ▲ failed   o-2                                   order     charge: card network down  2 d ago  2 d 1 h
    "
  `)
})

test('times are said as people say them', () => {
  const spans = [0, 3, 999, 1_000, 2_440, 14_600, 60_000, 200_000, H, 24 * H - 1, 51 * H]
  expect(spans.map(span)).toEqual([
    ...['0 ms', '3 ms', '999 ms', '1 s', '2.4 s', '14 s', '1 m', '3 m 20 s', '1 h'],
    ...['23 h 59 m', '2 d 3 h'],
  ])
  const now = START + H
  expect([at(0), at(H), at(3 * H)].map((date) => ago(date, now))).toEqual([
    '1 h ago',
    'now',
    'in 2 h',
  ])
  const days = [0, 24, -24, 72, 24 * 30].map((hours) => clock(at(hours * H), now))
  expect(days).toEqual([
    '14:00',
    'tomorrow 14:00',
    'yesterday 14:00',
    'Friday 14:00',
    '2026-12-17 14:00',
  ])
  const sentence = `it sleeps until ${at(3 * H).toISOString()}.`
  expect(withClock(sentence, now)).toBe('it sleeps until 17:00.')
})

// The commands against a real server on the embedded database.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { announce } from '../../src/cli/address.js'
import { COMMANDS } from '../../src/cli/commands/index.js'
import { runCli } from '../../src/cli/program.js'
import { captured, perdure } from './captured.js'
import { served } from './world.js'

const world = served()
const { say } = world
const folder = mkdtempSync(join(tmpdir(), 'perdure-cli-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const INPUT = `--input '{"item":"tea"}'`
/** Durations differ from run to run. */
const timeless = (lines: readonly string[]): string[] =>
  lines.map((line) => line.replace(/ +\d[\d.]* (ms|s)\b/g, ' T').replace(/23 h 59 m|1 d$/, 'D'))

describe('run', () => {
  test('tells what happens on stderr, and says on stdout what came of it', async () => {
    const { exit, out, err } = await say(`run quick --input '{"n":1}' --id q-1`)
    expect({ exit, out }).toEqual({ exit: 0, out: ['{"input":{"n":1}}'] })
    expect(timeless(err)).toEqual(['quick q-1', '  ✓ completed T'])
  })

  test('ends with 3 where the run waits for a person and nobody can be asked', async () => {
    const { exit, out, err } = await say(`run order ${INPUT} --id o-1`)
    expect({ exit, out }).toEqual({ exit: 3, out: [] })
    expect(timeless(err)).toMatchInlineSnapshot(`
      [
        "order o-1",
        "  ↻ charge             card network down                attempt 1 · next in T",
        "  ✓ charge T · attempt 2",
        "  … approval           waits for a person               expires in D",
        "o-1 waits for a person. Answer it:",
        "  perdure signal o-1 approval '{"ok":true}'",
      ]
    `)
  })

  test('ends with 3 where a child of the run waits for a person', async () => {
    const { exit, err } = await say('run parent --id p-1')
    expect(exit).toBe(3)
    expect(err.at(-1)).toMatch(/^ {2}perdure signal [\w-]{36} approval '\{"ok":true\}'$/)
  })

  test('ends with 1 where the run fails, and says what to do', async () => {
    const { exit, out, err } = await say('run failing --id f-1')
    expect({ exit, out }).toEqual({ exit: 1, out: [] })
    expect(err.slice(-3)).toEqual([
      'f-1 failed because its step "charge" failed: card network down.',
      '  run it again from there:              perdure retry f-1',
      '  or leave it, and go on in a new run:  perdure fork f-1 --from charge',
    ])
  })

  test('asks a person at a terminal, until the server takes the answer', async () => {
    const over = { isTerminal: true, canAsk: true }
    const { exit, out, asked, err } = await say(`run order ${INPUT} --id o-2`, over, [
      ...['perhaps', 'y', 'well packed'],
    ])
    expect(asked).toEqual([
      ...['? approval · ok (y/n)', '? approval · ok (y/n)'],
      '? approval · note (may be left out)',
    ])
    expect({ exit, out }).toEqual({ exit: 0, out: ['{"item":"tea","note":"well packed"}'] })
    expect(err).toContain('    please: y or n')
  })

  test('asks which of several, for events as for signals', async () => {
    const over = { isTerminal: true, canAsk: true }
    const { exit, asked } = await say('run picking --id m-1', over, ['', 'DROP', '', '', '1', ''])
    expect(exit).toBe(0)
    expect(asked).toEqual([
      '? ASSIGN (JSON, or nothing)',
      '? what to send (1 DONE, 2 DROP)',
      '? DROP (JSON, or nothing)',
      '? ASSIGN (JSON, or nothing)',
      '? what to send (1 DONE, 2 DROP)',
      '? DONE (JSON, or nothing)',
    ])
  })

  test('takes a question back that somebody else has answered', async () => {
    const over = { isTerminal: true, canAsk: true }
    const running = say(`run order ${INPUT} --id o-3`, over)
    await untilAsking('o-3')
    await say(`signal o-3 approval '{"ok":true}'`)
    expect(await running).toMatchObject({ exit: 0, out: ['{"item":"tea"}'] })
  })

  test('left at a question lets the run go on, and says how to follow it', async () => {
    const over = { isTerminal: true, canAsk: true }
    const { exit, err } = await say(`run order ${INPUT} --id o-4`, over, [null])
    expect(exit).toBe(130)
    expect(err.at(-1)).toBe('  o-4 goes on without you; follow it again: perdure watch o-4')
    expect((await world.engine.get('o-4'))?.status).toBe('waiting')
  })

  test('with --json is one object in each line, the run last', async () => {
    const { exit, out, err } = await say('run failing --id f-2 --json')
    const lines = out.map((line) => JSON.parse(line) as { kind: string; status?: string })
    expect(lines.map(({ kind }) => kind)).toEqual([
      ...['run.created', 'step.failed', 'run.failed', 'workflow'],
    ])
    expect(lines.at(-1)?.status).toBe('failed')
    expect({ exit, err }).toEqual({ exit: 1, err: [] })
  })
})

/** It waits for a person, and not for its next attempt. */
const untilAsking = (id: string): Promise<void> =>
  until(async () => {
    const run = await world.engine.get(id)
    return run?.status === 'waiting' && run.reason === 'signal'
  })

async function until(check: () => Promise<boolean>): Promise<void> {
  while (!(await check())) await new Promise((resolve) => setTimeout(resolve, 10))
}

describe('input', () => {
  test('comes from the line, a file or stdin', async () => {
    writeFileSync(join(folder, 'in.json'), '{"n":2}')
    const over = { cwd: folder, stdin: async () => '{"n":3}' }
    expect((await say('run quick --input @in.json', over)).out).toEqual(['{"input":{"n":2}}'])
    expect((await say('run quick --input -', over)).out).toEqual(['{"input":{"n":3}}'])
    expect((await say('run quick --input @gone.json', over)).err[0]).toBe(
      'The file gone.json of --input is not there. [OPTION_INVALID]',
    )
  })

  test('that is no JSON is shown with its place', async () => {
    const { exit, err } = await say(`run quick --input '{"id": o-1}'`)
    expect(exit).toBe(2)
    expect(err).toEqual([
      '--input is no JSON at position 7 (line 1, column 8). [OPTION_INVALID]',
      '  {"id": o-1}',
      '         ^',
      `  next: put JSON between single quotes, as '{"id":"o-1"}'; @file and - (stdin) work too`,
      '  more: docs/reference/errors.md#option_invalid',
    ])
  })

  test('that does not fit is refused by the server', async () => {
    const { exit, err } = await say(`start order --input '{"item":7}'`)
    expect(exit).toBe(1)
    expect(err[0]).toMatch(/does not fit its schema: item: .*\[INPUT_INVALID\]$/)
  })
})

describe('messages', () => {
  test('go to runs, machines and whoever listens', async () => {
    expect((await say('start listening --id l-1')).out).toEqual(['l-1'])
    await until(async () => (await world.engine.get('l-1'))?.status === 'waiting')
    expect((await say(`emit paid '{"id":"o-1"}'`)).err).toEqual(['emitted paid'])
    expect((await say('watch l-1')).out.at(-1)).toBe('{"id":"o-1"}')
    expect((await say('send picking m-2 ASSIGN')).err).toEqual(['m-2 is at picking'])
    expect((await say('trigger m-2 DROP')).err).toEqual([
      'm-2 took DROP, waiting, at idle, waits for ASSIGN',
    ])
    expect((await say('trigger m-2 ASIGN')).err.slice(0, 2)).toEqual([
      `Run m-2 is at "idle" and cannot take 'ASIGN': it does not leave that place. [TRANSITION_UNAVAILABLE]`,
      "  next: did you mean 'ASSIGN'? it can take: ASSIGN",
    ])
    const wrong = await say(`signal o-1 approval '{"ok":"yes"}'`)
    expect(wrong.err[0]).toMatch(/PAYLOAD_INVALID/)
    expect(wrong.exit).toBe(1)
  })
})

describe('operating', () => {
  test('many runs are looked at first, asked about, and then cancelled', async () => {
    for (const id of ['c-1', 'c-2']) await say(`start order ${INPUT} --id ${id} --tag batch=c`)
    const dry = await say('cancel --tag batch=c --dry-run')
    expect({ out: [...dry.out].sort(), err: dry.err }).toEqual({
      out: ['c-1', 'c-2'],
      err: ['2 runs would be cancelled'],
    })
    const nobody = await say('cancel --tag batch=c')
    expect({ exit: nobody.exit, first: nobody.err[0] }).toEqual({
      exit: 2,
      first: 'cancel 2 runs? There is nobody to ask. [OPTION_INVALID]',
    })
    const asked = await say('cancel --tag batch=c', { canAsk: true }, ['n'])
    expect(asked.asked).toEqual(['cancel 2 runs? (y/n)'])
    expect((await world.engine.get('c-1'))?.finishedAt).toBe(null)
    await say(`cancel --tag batch=c --because 'no tea' --yes`)
    expect((await say('watch c-1')).exit).toBe(1)
    expect((await say('explain c-1')).out).toEqual(['c-1 was cancelled: no tea.'])
    expect((await say('cancel')).err[0]).toBe(
      'perdure cancel takes the ids of runs, or a filter. [OPTION_INVALID]',
    )
  })

  test('retry, pause, resume and fork do what they say', async () => {
    expect((await say('retry f-1')).err).toEqual(['f-1 is retried'])
    expect((await say('retry q-1')).exit).toBe(1)
    expect((await say('pause o-1')).err).toEqual(['o-1 is paused'])
    expect((await say('explain o-1')).out[1]).toBe('  let it go on:  perdure resume o-1')
    expect((await say('resume o-1')).err).toEqual(['o-1 is resumed'])
    const { out } = await say(`fork o-2 --from approval --id o-5`)
    expect(out).toEqual(['o-5'])
    expect((await say('show o-5 --journal')).out.join('\n')).toContain('step.completed  charge')
  })
})

describe('looking', () => {
  test('runs are listed by what is asked for', async () => {
    const list = async (line: string): Promise<string[]> =>
      (await say(`runs --json ${line}`)).out.map((one) => (JSON.parse(one) as { id: string }).id)
    expect(await list('--workflow failing --status failed --text f-')).toEqual(['f-2', 'f-1'])
    expect(await list('--limit 1')).toHaveLength(1)
    expect(await list('--since 1h --workflow quick --text q-')).toEqual(['q-1'])
    expect(await list('--since 2030-01-01T00:00:00Z')).toEqual([])
    expect((await say('runs --status done')).err[0]).toMatch(/It is one of pending, running/)
    expect((await say('runs --text q-1')).out[1]).toMatch(/^● completed {2}q-1 {2}quick /)
    expect((await say('runs --text nothing-has-this')).err).toEqual([
      'no runs; perdure start <workflow> makes one',
    ])
  })

  test('show has the waterfall, the data, and why it is not moving', async () => {
    await say(`start order ${INPUT} --id o-6 --tag shop=north`)
    await untilAsking('o-6')
    const { out } = await say('show o-6')
    const text = out.join('\n')
    expect(out[0]).toMatch(/^o-6 {2}order v1 {2}⏸ waiting/)
    expect(text).toMatch(/charge {4}.*▒.*█.*×2/)
    expect(text).toMatch(/approval {2}.*·/)
    expect(text).toContain('  input   {"item":"tea"}')
    expect(out.at(-1)).toBe(`  send it:  perdure signal o-6 approval '{"ok":true}'`)
  })

  test('watch without an id tells of every change until it is left', async () => {
    const { io, out, interrupt } = captured({ env: { PERDURE_URL: world.url } })
    const watching = runCli(['watch', '--text', 'w-'], io, COMMANDS)
    await say(`start order ${INPUT} --id w-1`)
    const told = (end: string): boolean => out.some((line) => line.endsWith(end))
    await until(async () => told('⏸ waiting    w-1  order  waits for approval'))
    await say(`signal w-1 approval '{"ok":true}'`)
    await until(async () => told('● completed  w-1  order'))
    interrupt()
    expect(await watching).toBe(0)
  })

  test('definitions, workers, limits and documents are listed', async () => {
    expect((await say('workflows')).out).toContain(
      'order      1        workflow  An order from charge to parcel',
    )
    expect((await say('workflows picking')).out.join('\n')).toContain(
      'DONE → finished  (when sent)',
    )
    expect((await say('workers')).out[1]).toMatch(/alive .* order, parent/)
    expect((await say('limits')).out.join('\n')).toMatch(/definition {2}limited .*2/)
    await say('run shown --id d-1')
    expect((await say('documents d-1')).out).toEqual(['note a', '{"text":"hello"}'])
  })

  test('schedules are set, listed, run and deleted', async () => {
    const set = await say(
      `schedules set nightly --workflow quick --cron '0 9 * * *' --input '{"n":1}'`,
    )
    expect(set.err[0]).toMatch(/^nightly starts quick: 0 9 \* \* \*, next /)
    expect((await say('schedules')).out[1]).toMatch(/^nightly {3}quick {5}0 9 \* \* \* /)
    expect((await say('schedules next nightly --count 2')).out).toHaveLength(2)
    await say('schedules pause nightly')
    expect((await say('schedules list')).out[1]).toMatch(/paused/)
    await say('schedules resume nightly')
    expect((await say('schedules run nightly --id s-1')).out).toEqual(['s-1'])
    expect((await say('watch s-1')).out.at(-1)).toBe('{"input":{"n":1}}')
    const backfill =
      "schedules backfill nightly --from '2026-01-01T00:00:00Z' --to '2026-01-03T00:00:00Z'"
    const filled = await say(backfill)
    expect(filled.err).toEqual(['2 times have their runs'])
    expect(filled.out).toHaveLength(2)
    // Those that have theirs get no other.
    expect((await say(backfill)).out).toEqual(filled.out)
    await say('schedules delete nightly')
    expect((await say('schedules')).err).toEqual(['no schedules; perdure schedules set makes one'])
    expect((await say('schedules pasue x')).err.slice(0, 2)).toEqual([
      "Unknown command 'schedules pasue'. [OPTION_UNKNOWN]",
      '  next: did you mean pause?',
    ])
  })
})

describe('graph', () => {
  const graph = (nodes: object[], edges: object[]): string =>
    JSON.stringify({ id: 'g', nodes, edges })

  test('validate says everything that is wrong, each with its path', async () => {
    const good = graph([{ id: 'a', type: 'set', config: { x: 1 } }], [{ from: 'trigger', to: 'a' }])
    writeFileSync(join(folder, 'good.json'), good)
    const bad = graph([{ id: 'a', type: 'sett' }], [{ from: 'trigger', to: 'b' }])
    writeFileSync(join(folder, 'bad.json'), bad)
    writeFileSync(join(folder, 'broken.json'), '{"id":')
    const over = { cwd: folder }
    expect(await perdure(['graph', 'validate', 'good.json'], over)).toMatchObject({
      exit: 0,
      out: ['✓ good.json'],
    })
    const { exit, out } = await perdure(['graph', 'validate', 'bad.json'], over)
    expect(exit).toBe(1)
    expect(out.join('\n')).toMatch(
      /bad\.json {2}\d problems\n {2}nodes\[0\]\.type .*\n(.*\n)* {2}edges\[0\]\.to /,
    )
    expect((await perdure(['graph', 'validate', 'broken.json'], over)).exit).toBe(2)
    const drawn = await perdure(['graph', 'render', 'good.json'], over)
    expect(drawn.out).toEqual(['g  1 node, 1 edge', '  trigger', '  └ a  set x'])
    const begins = [
      { id: 'begin', type: 'trigger' },
      { id: 'a', type: 'set', config: { x: 1 } },
    ]
    writeFileSync(join(folder, 'begins.json'), graph(begins, [{ from: 'begin', to: 'a' }]))
    const once = await perdure(['graph', 'render', 'begins.json'], over)
    expect(once.out).toEqual(['g  2 nodes, 1 edge', '  trigger', '  └ a  set x'])
  })

  test('files of code are read too', async () => {
    const over = { cwd: join(import.meta.dirname, 'graphs') }
    expect(await perdure(['graph', 'validate', 'good.ts'], over)).toMatchObject({ exit: 0 })
    const { exit, out } = await perdure(['graph', 'validate', 'bad.ts'], over)
    expect(exit).toBe(1)
    expect(out.join('\n')).toContain('edges[0].to')
    expect((await perdure(['graph', 'render', 'good.ts', '--mermaid'], over)).out[0]).toBe(
      'flowchart TD',
    )
  })

  test('a stored graph is drawn by its name', async () => {
    const { engine } = world
    const nodes = [{ id: 'a', type: 'set', config: { x: 1 } }] as const
    await engine.graphs.save({ id: 'kept', nodes, edges: [{ from: 'trigger', to: 'a' }] })
    expect((await say('graph render kept')).out[0]).toBe('kept  1 node, 1 edge')
    expect((await say('graph render gone')).exit).toBe(1)
  })
})

describe('whom it talks to', () => {
  test('is the process that has the embedded database open', async () => {
    const where = mkdtempSync(join(folder, 'a-'))
    mkdirSync(join(where, '.perdure'))
    const gone = announce(join(where, '.perdure'), { url: world.url, pid: process.pid })
    const found = await perdure(['runs', '--text', 'q-1', '--json'], { cwd: where })
    expect(found).toMatchObject({ exit: 0 })
    expect(found.out[0]).toContain('"id":"q-1"')
    const file = await perdure(['runs', '--database', 'file:.perdure/data'], { cwd: where })
    expect(file.exit).toBe(0)
    gone()
    const { exit, err } = await perdure(['runs'], { cwd: where })
    expect(exit).toBe(2)
    expect(err[0]).toMatch(/^There is nobody to talk to: .*\[SERVER_UNREACHABLE\]$/)
    expect(err[1]).toMatch(/perdure dev.*DATABASE_URL/)
  })

  test('is named by an option before it is named by the environment', async () => {
    const { exit, err } = await say('runs --url http://127.0.0.1:1')
    expect({ exit, first: err[0] }).toEqual({
      exit: 2,
      first: 'http://127.0.0.1:1 does not answer: fetch failed [SERVER_UNREACHABLE]',
    })
  })

  test('hears which workspace is meant', async () => {
    await say('start quick --id space-1 --workspace acme')
    expect((await say('show space-1')).exit).toBe(1)
    expect((await say('show space-1', { env: { PERDURE_WORKSPACE: 'acme' } })).exit).toBe(0)
  })
})

test('what is not understood is said with what is near', async () => {
  expect((await perdure(['rnu'])).err.slice(0, 2)).toEqual([
    "Unknown command 'rnu'. [OPTION_UNKNOWN]",
    '  next: did you mean run?',
  ])
  const { exit, err } = await perdure(['runs', '--limt', '3', '--json'])
  expect(exit).toBe(2)
  expect(JSON.parse(err.join(''))).toEqual({
    error: {
      code: 'OPTION_UNKNOWN',
      message: "Unknown option '--limt'.",
      hint: 'did you mean --limit?',
    },
  })
  expect((await perdure(['show'])).err[0]).toBe("Missing required argument 'run'. [OPTION_INVALID]")
})

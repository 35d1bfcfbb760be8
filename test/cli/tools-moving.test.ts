// perdure export and import: runs that go on in another database.

import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { createEngine, graph, machine, task, typed, workflow } from '../../src/index.js'
import { describeOn, freshSchema, urlOf } from '../support/databases.js'
import { eventually } from '../support/world.js'
import { newFolder, perdure } from './tools-support.js'

const ran: string[] = []
const note = <T>(name: string, value: T): T => {
  ran.push(name)
  return value
}
let isBroken = true

const review = workflow('review', async (wf, topic: string) => {
  const draft = await wf.do('write', () => note('write', `About ${topic}`))
  const by = await wf.waitFor('approval')
  return wf.do('publish', () => note('publish', `${draft}, approved by ${by}`))
})
const nap = workflow('nap', async (wf) => {
  await wf.do('lie down', () => note('lie down', null))
  await wf.sleep('sleep', '1h')
  return wf.do('get up', () => note('get up', 'rested'))
})
const report = machine('report', {
  state: typed<{ pages: number }>(),
  transitions: {
    write: {
      to: 'written',
      run: async (_, ctx) => {
        await ctx.documents.save('Page', { text: 'one' }, { key: 'page' })
        return note('draw', { pages: 1 })
      },
    },
    print: {
      from: 'written',
      to: 'end',
      run: async (state: { pages: number }) => {
        if (isBroken) throw new Error('no paper')
        return note('print', state)
      },
    },
  },
})
const score = task('score', async (lead: { id: string }) => note('score', lead.id.length))
const lead = graph({
  id: 'lead',
  nodes: [
    { id: 'scored', type: 'task', config: { task: 'score', input: { id: { cel: 'input.id' } } } },
    {
      id: 'reviewed',
      type: 'workflow',
      config: { workflow: 'review', input: { cel: 'input.id' } },
    },
    { id: 'sum', type: 'set', config: { total: { cel: 'scored + 1' } } },
  ],
  edges: [
    { from: 'trigger', to: 'scored' },
    { from: 'scored', to: 'reviewed' },
    { from: 'reviewed', to: 'sum' },
  ],
  output: { total: { cel: 'total' }, text: { cel: 'reviewed' } },
})
const workflows = [review, nap, report, score, lead] as const

/** Kept apart from code: two versions, of which a run is of the first. */
const greeting = (text: string) => ({
  id: 'greeting',
  nodes: [
    { id: 'said', type: 'set', config: { text } },
    { id: 'answered', type: 'wait-for-event', config: { mode: 'event', event: 'answer' } },
  ],
  edges: [
    { from: 'trigger', to: 'said' },
    { from: 'said', to: 'answered' },
  ],
  output: { cel: 'text' },
})

/** Is closed when the test ends. */
const open: typeof createEngine = async (options) => {
  const engine = await createEngine(options)
  onTestFinished(() => engine.close())
  return engine
}

describeOn(['postgres18'], 'perdure export and import', (database) => {
  function target() {
    const schema = freshSchema()
    onTestFinished(async () => {
      const client = new pg.Client(urlOf(database))
      await client.connect()
      await client.query(`drop schema if exists ${schema} cascade`)
      await client.end()
    })
    const at = ['--database', urlOf(database), '--schema', schema]
    /** Two hours later, for all connections. */
    const later = async () => {
      const client = new pg.Client(urlOf(database))
      await client.connect()
      await client.query(`create or replace function ${schema}.clock_v1() returns timestamptz language sql volatile as
        'select date_trunc(''milliseconds'', clock_timestamp()) + interval ''2 hours'''`)
      await client.end()
    }
    return { schema, at, later }
  }

  test('runs in the middle of their work go on in PostgreSQL, and each step is executed once in all', async () => {
    const cwd = newFolder()
    const embedded = `file:${join(cwd, '.perdure/data')}`
    const source = await open({ database: embedded, workflows })
    await source.graphs.save(greeting('hello') as never)
    const done = await source.run(score, { id: 'x' })
    await source.start(review, 'bees', { id: 'waiting' })
    await source.start(nap, undefined, { id: 'sleeping' })
    await source.start(report, undefined, { id: 'failed' })
    await source.start(lead, { id: 'four' }, { id: 'middle' })
    await source.start('greeting' as never, {} as never, { id: 'stored' })
    await source.graphs.save(greeting('good evening') as never)
    await eventually(async () => (await source.get('failed'))?.status).toBe('failed')
    for (const id of ['waiting', 'sleeping', 'middle', 'stored']) {
      await eventually(async () => (await source.get(id))?.status).toBe('waiting')
    }
    // The one behind it: first it waits for its score.
    const children = () =>
      source.list({ parentId: 'middle', workflow: 'review', status: 'waiting' })
    await eventually(async () => (await children()).items.length).toBe(1)
    const childId = (await children()).items[0]?.id ?? ''
    await source.signal('waiting', 'approval', 'ada')
    await eventually(async () => (await source.get('waiting'))?.status).toBe('completed')
    await source.start(review, 'ants', { id: 'mail' })
    await eventually(async () => (await source.get('mail'))?.status).toBe('waiting')
    await source.pause('mail')
    await source.signal('mail', 'approval', 'bob')
    const locked = await perdure(['export'], { cwd })
    expect(locked).toMatchObject({ exit: 2, out: '' })
    expect(locked.err).toContain('[DATABASE_LOCKED]')
    await source.close()

    const exported = await perdure(['export', '--out', 'runs.jsonl'], { cwd })
    expect(exported.err).toContain('runs and 1 stored graphs written.')
    expect(exported.err).toContain('are paused here, and go on where they are imported')
    expect(exported.exit).toBe(0)

    const { schema, at, later } = target()
    expect(await perdure(['import', 'runs.jsonl', ...at], { cwd })).toMatchObject({ exit: 0 })
    const again = await perdure(['import', 'runs.jsonl', ...at], { cwd })
    expect(again.exit).toBe(1)
    expect(again.err).toContain('[RUNS_EXIST]')
    const skipped = await perdure(['import', 'runs.jsonl', '--skip-existing', '--json', ...at], {
      cwd,
    })
    expect(skipped.lines).toMatchObject([{ runs: 0, skipped: 9 }])

    // The one that is left behind does nothing more, whoever opens it.
    const left = await open({ database: embedded, workflows })
    expect(await left.get('sleeping')).toMatchObject({ status: 'waiting', reason: 'paused' })

    isBroken = false
    await later()
    const engine = await open({ database: urlOf(database), schema, workflows })
    expect(await engine.handle(nap, 'sleeping').result()).toBe('rested')
    const [page, error] = await engine.documents('failed')
    expect(page).toMatchObject({ content: { text: 'one' } })
    expect(error).toMatchObject({ content: { error: 'no paper' } })
    await engine.retry('failed')
    expect(await engine.handle(report, 'failed').result()).toEqual({ pages: 1 })
    await engine.signal(childId, 'approval', 'eve')
    expect(await engine.handle(lead, 'middle').result()).toEqual({
      total: 5,
      text: 'About four, approved by eve',
    })
    await engine.emit('answer', {})
    expect(await engine.handle('greeting' as never, 'stored').result()).toBe('hello')
    expect((await engine.graphs.get('greeting'))?.version).toBe(2)
    // It was paused, and is.
    expect(await engine.get('mail')).toMatchObject({ reason: 'paused' })
    await engine.resume('mail')
    expect(await engine.handle(review, 'mail').result()).toBe('About ants, approved by bob')
    expect(await engine.get('waiting')).toMatchObject({ output: 'About bees, approved by ada' })
    expect(done.status).toBe('completed')
    expect([...ran].sort()).toEqual(
      [
        ...['draw', 'print', 'lie down', 'get up', 'score', 'score'],
        ...['write', 'write', 'write', 'publish', 'publish', 'publish'],
      ].sort(),
    )
  })

  test('what a worker has is not moved, but may be copied to be looked at', async () => {
    const cwd = newFolder()
    const from = target()
    let release: () => void = () => {}
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const busy = workflow('busy', async (wf) => {
      await wf.do('first', () => 1)
      await wf.do('second', () => gate)
    })
    const engine = await open({
      database: urlOf(database),
      schema: from.schema,
      workflows: [busy],
    })
    const run = await engine.start(busy, undefined, { id: 'b-1' })
    await eventually(async () => (await engine.history('b-1')).items.length).toBe(3)

    const refused = await perdure(['export', 'b-1', '--out', 'runs.jsonl', ...from.at], { cwd })
    expect(refused.exit).toBe(1)
    expect(refused.err).toContain('1 of these runs cannot be moved now: b-1.')
    expect(await engine.get('b-1')).toMatchObject({ status: 'running' })
    await expect(async () => readFileSync(join(cwd, 'runs.jsonl'))).rejects.toThrow('ENOENT')

    const copied = await perdure(['export', 'b-1', '--copy', '--out', 'copy.jsonl', ...from.at], {
      cwd,
    })
    expect(copied.exit).toBe(0)
    const imported = await perdure(['import', 'copy.jsonl'], { cwd })
    expect(imported.out).toBe('1 runs imported.')
    expect(imported.err).toContain('those that have not ended are paused')
    const embedded = `file:${join(cwd, '.perdure/data')}`
    const other = await open({ database: embedded, workflows: [busy] })
    expect(await other.get('b-1')).toMatchObject({ status: 'waiting', reason: 'paused' })
    release()
    await run.result()
  })

  test('an export that nobody reads to its end pauses nothing', async () => {
    const { schema, at } = target()
    const engine = await open({ database: urlOf(database), schema, workflows: [review] })
    await engine.start(review, 'bees', { id: 'read' })
    await eventually(async () => (await engine.get('read'))?.status).toBe('waiting')
    const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
    const reader = spawn(process.execPath, [main, 'export', ...at], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    reader.stdout.destroy()
    const said = text(reader.stderr)
    const [code] = await once(reader, 'exit')
    expect(code).toBe(2)
    expect(await said).toContain('EPIPE')
    expect(await engine.get('read')).toMatchObject({ status: 'waiting', reason: 'signal' })
  })

  test('what a worker had that has died is moved, and its crash is counted', async () => {
    const cwd = newFolder()
    const { schema, at } = target()
    const engine = await createEngine({ database: urlOf(database), schema, workflows: [review] })
    for (const id of ['known', 'unknown']) await engine.start(review, 'bees', { id })
    await eventually(async () => (await engine.list({ status: 'waiting' })).items.length).toBe(2)
    await engine.close()
    const client = new pg.Client(urlOf(database))
    await client.connect()
    const [dead, gone] = [randomUUID(), randomUUID()]
    await client.query(
      `insert into ${schema}.workers values ($1, now() - interval '1 hour', now(), 7, 'b', '[]')`,
      [dead],
    )
    const own = `update ${schema}.runs set owner = $1, status = 'running', reason = null, due_at = null where id = $2`
    await client.query(own, [dead, 'known'])
    await client.query(own, [gone, 'unknown'])
    await client.end()
    const { exit, out } = await perdure(['export', '--workflow', 'review', ...at], { cwd })
    expect(exit).toBe(0)
    const runs = out.split('\n').flatMap((line) => JSON.parse(line).run ?? [])
    expect(runs).toMatchObject([
      { id: 'known', status: 'waiting', owner: null, crashes: 1 },
      { id: 'unknown', status: 'waiting', owner: null, crashes: 1 },
    ])
  })

  test('a file that is cut, changed or no export is refused, and nothing of it is imported', async () => {
    const cwd = newFolder()
    const source = await open({ database: `file:${join(cwd, '.perdure/data')}`, workflows })
    await source.run(score, { id: 'x' }, { id: 's-1' })
    await source.run(score, { id: 'y' }, { id: 's-2' })
    await source.close()
    const { out } = await perdure(['export'], { cwd })
    const [header = '', one = '', ...rest] = out.split('\n')
    const { at } = target()
    const refusals: readonly [string, readonly string[]][] = [
      ['Line 4 of the export cannot be read: the end is missing', [header, one, rest[0] ?? '']],
      [
        'Line 3 of the export cannot be read: 2 runs were written, and 1 are there',
        [header, one, rest[1] ?? ''],
      ],
      ['Line 1 of the export cannot be read: it is not the beginning of one', [one]],
      [
        'Line 1 of the export cannot be read: it has format 2',
        [header.replace('"format":1', '"format":2')],
      ],
      ['Line 2 of the export cannot be read: it is not JSON', [header, one.slice(0, 50)]],
      [
        'violates check constraint',
        [header, one.replace('"status":"completed"', '"status":"waiting"'), ...rest],
      ],
    ]
    for (const [message, lines] of refusals) {
      writeFileSync(join(cwd, 'bad.jsonl'), `${lines.join('\n')}\n`)
      const { exit, err } = await perdure(['import', 'bad.jsonl', ...at], { cwd })
      expect(err).toContain(message)
      expect(exit).toBe(1)
    }
    writeFileSync(join(cwd, 'good.jsonl'), out)
    const { lines } = await perdure(['import', 'good.jsonl', '--json', ...at], { cwd })
    expect(lines).toEqual([{ runs: 2, skipped: 0, definitions: 0, isCopy: false }])
  })
})

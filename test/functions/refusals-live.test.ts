// Wrong calls: one clear error, and nothing has changed.

import { createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { createEngine, type PerdureError, type Schema, task, workflow } from '../../src/index.js'
import { describeOn, freshSchema, urlOf } from '../support/databases.js'
import { eventually, fresh, refusalOf, worldOn } from '../support/world.js'

const positive: Schema<number> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      typeof value === 'number' && value > 0
        ? { value }
        : { issues: [{ message: 'must be positive' }] },
  },
}

/** Each has what a person needs. */
function expectClear(error: PerdureError, code: string): void {
  expect(error.code, error.message).toBe(code)
  expect(error.message.length).toBeGreaterThan(10)
  expect(error.message.length).toBeLessThan(600)
  expect(error.message).not.toContain('\n')
  expect(error.hint.length).toBeGreaterThan(5)
}

describeOn(['pglite', 'postgres18'], 'a wrong call', (database) => {
  const world = worldOn(database)

  test('is refused with a code, a message and a hint, and no row is written', async () => {
    const checked = workflow(fresh('checked'), { input: positive }, async () => 1)
    const plain = workflow(fresh('plain'), async (wf, _: unknown) => wf.waitFor('go'))
    const simple = workflow(fresh('simple'), async () => 1)
    const engine = await world.open([checked, plain], { options: { maxValueBytes: 2_048 } })
    const id = fresh('there')
    await engine.start(plain, 1, { id })
    await eventually(() => world.row(id)).toMatchObject({ status: 'waiting' })
    const megabyte = 'x'.repeat(1_048_576)
    const wrong: [string, string, () => Promise<unknown>][] = [
      ['no definition', 'DEFINITION_UNKNOWN', () => engine.start({} as never)],
      ['a name that cannot be one', 'DEFINITION_UNKNOWN', () => engine.start('a b' as never)],
      ['undefined', 'DEFINITION_UNKNOWN', () => engine.start(undefined as never)],
      ['an input that does not fit', 'INPUT_INVALID', () => engine.start(checked, -1)],
      ['an input of another type', 'INPUT_INVALID', () => engine.start(checked, 'x' as never)],
      ['an empty id', 'ID_INVALID', () => engine.start(plain, 1, { id: '' })],
      ['an id of a megabyte', 'ID_INVALID', () => engine.start(plain, 1, { id: megabyte })],
      ['a numeric id', 'ID_INVALID', () => engine.start(plain, 1, { id: 5 as never })],
      ['an id with a NUL', 'ID_INVALID', () => engine.start(plain, 1, { id: 'a\0b' })],
      ['an id of another run', 'ID_TAKEN', () => engine.start(plain, 2, { id })],
      ['options as input', 'INPUT_INVALID', () => engine.start(simple, { id: 'x' } as never)],
      ['an unknown option', 'OPTION_UNKNOWN', () => engine.start(plain, 1, { tagz: {} } as never)],
      ['a function as input', 'VALUE_UNSTORABLE', () => engine.start(plain, { a: [() => 1] })],
      ['a symbol as input', 'VALUE_UNSTORABLE', () => engine.start(plain, { a: Symbol('s') })],
      ['too large an input', 'VALUE_TOO_LARGE', () => engine.start(plain, megabyte)],
      [
        'a workspace with a space',
        'NAME_INVALID',
        () => engine.start(plain, 1, { workspace: 'a b' }),
      ],
      [
        'a wrong delay',
        'DURATION_INVALID',
        () => engine.start(plain, 1, { delay: 'soon' as never }),
      ],
      [
        'a payload that cannot be stored',
        'VALUE_UNSTORABLE',
        () => engine.signal(id, 'x', { f: () => 1 }),
      ],
      ['too large a payload', 'VALUE_TOO_LARGE', () => engine.signal(id, 'x', megabyte)],
      ['a signal without a name', 'NAME_INVALID', () => engine.signal(id, '')],
      [
        'a message id of a megabyte',
        'ID_INVALID',
        () => engine.signal(id, 'x', 1, { id: megabyte }),
      ],
      ['a signal to nobody', 'RUN_NOT_FOUND', () => engine.signal('nobody', 'x', 1)],
      ['a signal to a wrong id', 'ID_INVALID', () => engine.signal('a b', 'x', 1)],
      ['a cancel of nobody', 'RUN_NOT_FOUND', () => engine.cancel('nobody')],
      ['a cancel with a number', 'OPTION_INVALID', () => engine.cancel(id, 5 as never)],
      ['a retry of nobody', 'RUN_NOT_FOUND', () => engine.retry('nobody')],
      ['a retry of what has not failed', 'RUN_NOT_RETRYABLE', () => engine.retry(id)],
      ['a retry of no attempt', 'OPTION_INVALID', () => engine.retry(id, { expectedAttempt: 0 })],
      ['get with no id', 'ID_INVALID', () => engine.get(undefined as never)],
      [
        'the history of nobody',
        'RUN_NOT_FOUND',
        () => engine.history('nobody') as Promise<unknown>,
      ],
      ['the reason of nobody', 'RUN_NOT_FOUND', () => engine.explain('nobody')],
      ['the result of nobody', 'RUN_NOT_FOUND', () => engine.handle(plain, 'nobody').result()],
      [
        'another workspace through a confined client',
        'OPTION_INVALID',
        () => engine.workspace('acme').start(plain, 1, { workspace: 'umbrella' }),
      ],
    ]
    const before = [await world.counts(), (await world.row(id)).seq]
    for (const [what, code, call] of wrong) {
      const error = await refusalOf(call()).catch((other: unknown) => {
        throw new Error(`${what}: ${String(other)}`)
      })
      expectClear(error, code)
    }
    expect([await world.counts(), (await world.row(id)).seq]).toEqual(before)
  })

  test('that stores a bad value names the path to it', async () => {
    const plain = workflow(fresh('plain'), async (_wf, input: unknown) => input)
    const engine = await world.open([plain])
    const error = await refusalOf(
      engine.start(plain, { order: { lines: [1, { price: () => 5 }] } }),
    )
    expect(error).toMatchObject({
      code: 'VALUE_UNSTORABLE',
      details: { path: expect.stringContaining('price') },
    })
    expect(error.message).toContain('lines')
  })

  test('with a misspelt option says which was meant', async () => {
    const plain = workflow(fresh('plain'), async () => 1)
    const engine = await world.open([plain])
    const error = await refusalOf(engine.start(plain, undefined, { priorty: 1 } as never))
    expect([error.code, `${error.message} ${error.hint}`]).toEqual([
      'OPTION_UNKNOWN',
      expect.stringContaining('priority'),
    ])
  })

  test('to a run whose schema checks signals is refused where it is sent', async () => {
    const checked = workflow(fresh('checked'), { signals: { go: positive } }, async (wf) =>
      wf.waitFor('go'),
    )
    const engine = await world.open([checked])
    const run = await engine.start(checked)
    expectClear(await refusalOf(run.signal('go', -1)), 'PAYLOAD_INVALID')
    expectClear(await refusalOf(engine.signal(run.id, 'go', -1)), 'PAYLOAD_INVALID')
    await run.signal('go', 1)
    expect(await run.result()).toBe(1)
  })

  test('of createEngine on a database that is ahead of this code is refused with DATABASE_NEWER', async () => {
    await world.sql(
      "insert into @schema@.migrations (number, name, breaking) values (9999, 'later', true)",
    )
    try {
      expectClear(await refusalOf(world.open([])), 'DATABASE_NEWER')
    } finally {
      await world.sql('delete from @schema@.migrations where number = 9999')
    }
  })
})

describe('createEngine', () => {
  test('gives up within ten seconds on a port where nobody listens', async () => {
    const port = await new Promise<number>((resolve) => {
      const server = createServer().listen(0, '127.0.0.1', () => {
        const address = server.address()
        server.close(() => resolve(typeof address === 'object' && address ? address.port : 1))
      })
    })
    const startedAt = performance.now()
    const opening = createEngine({ database: `postgres://ada:secret@127.0.0.1:${port}/nothing` })
    const error = await refusalOf(opening)
    expectClear(error, 'DATABASE_UNAVAILABLE')
    expect(error.message).not.toContain('secret')
    expect(performance.now() - startedAt).toBeLessThan(12_000)
  })

  test('refuses two definitions of one name before it touches a database', async () => {
    const workflows = [workflow('order', async () => 1), task('order', async () => 2)]
    const error = await refusalOf(
      createEngine({ database: 'postgres://nowhere.invalid/x', workflows }),
    )
    expectClear(error, 'DEFINITION_INVALID')
  })
})

describeOn(['postgres18'], 'a schema', (database) => {
  test('whose name has a quote is refused, and nothing is made', async () => {
    const wrong = `${freshSchema()}"; drop schema public; --`
    const error = await refusalOf(createEngine({ database: urlOf(database), schema: wrong }))
    expectClear(error, 'SCHEMA_NAME_INVALID')
  })
})

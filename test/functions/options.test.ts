import { describe, expect, test } from 'vitest'
import { readEngineOptions } from '../../src/engine/options.js'
import { importPeer } from '../../src/engine/peer.js'
import { createEngine, PerdureError, task, workflow } from '../../src/index.js'

const order = workflow('order', async () => 1)

async function refusal(options: unknown): Promise<PerdureError> {
  const error: unknown = await createEngine(options as object).catch((e: unknown) => e)
  if (!PerdureError.is(error)) throw new Error(`not refused: ${String(error)}`)
  return error
}

describe('createEngine refuses, before it touches a database,', () => {
  test.each([
    { options: { worflows: [] }, code: 'OPTION_UNKNOWN', says: 'workflows' },
    { options: { databse: 'memory:' }, code: 'OPTION_UNKNOWN', says: 'database' },
    { options: null, code: 'OPTION_INVALID', says: 'object' },
    { options: { workflows: order }, code: 'OPTION_INVALID', says: 'list' },
    {
      options: { workflows: [order, async () => 1] },
      code: 'DEFINITION_INVALID',
      says: 'workflow()',
    },
    { options: { workflows: [class Review {}] }, code: 'DEFINITION_INVALID', says: '@Workflow' },
    { options: { workflows: [undefined] }, code: 'DEFINITION_INVALID', says: 'workflow()' },
    {
      options: { workflows: [order, task('order', async () => 2)] },
      code: 'DEFINITION_INVALID',
      says: 'another name',
    },
    { options: { schema: 'a"b' }, code: 'SCHEMA_NAME_INVALID', says: 'small letter' },
    { options: { schema: 'Upper' }, code: 'SCHEMA_NAME_INVALID', says: 'small letter' },
    { options: { schema: 5 }, code: 'SCHEMA_NAME_INVALID', says: 'small letter' },
    { options: { database: 'mysql://localhost' }, code: 'OPTION_INVALID', says: 'postgres://' },
    { options: { database: 'mysql://a:secret@b/c' }, code: 'OPTION_INVALID', says: 'postgres://' },
    { options: { construct: 'new' }, code: 'OPTION_INVALID', says: 'function' },
    { options: { database: 'nonsense' }, code: 'OPTION_INVALID', says: 'postgres://' },
    { options: { database: 'file:' }, code: 'OPTION_INVALID', says: 'postgres://' },
    { options: { database: '' }, code: 'OPTION_INVALID', says: 'postgres://' },
    { options: { database: {} }, code: 'OPTION_INVALID', says: 'pg.Pool' },
    { options: { database: 5 }, code: 'OPTION_INVALID', says: 'postgres://' },
    { options: { listen: 'a:secret@b' }, code: 'OPTION_INVALID', says: 'postgres://' },
    { options: { listen: true }, code: 'OPTION_INVALID', says: 'or false' },
    { options: { worker: 'yes' }, code: 'OPTION_INVALID', says: 'concurrency' },
    { options: { worker: { concurency: 5 } }, code: 'OPTION_UNKNOWN', says: 'concurrency' },
    { options: { worker: { concurrency: 0 } }, code: 'OPTION_INVALID', says: 'whole number' },
    { options: { worker: { lease: 'soon' } }, code: 'DURATION_INVALID', says: 'whole number' },
    { options: { worker: { lease: 1 } }, code: 'OPTION_INVALID', says: '100ms' },
    { options: { build: '' }, code: 'OPTION_INVALID', says: 'text' },
    { options: { maxValueBytes: 1 }, code: 'OPTION_INVALID', says: '1024' },
    { options: { allowEmbeddedInProduction: 'yes' }, code: 'OPTION_INVALID', says: 'true' },
    { options: { log: console.log }, code: 'OPTION_INVALID', says: 'debug' },
    { options: { log: { info: () => {} } }, code: 'OPTION_INVALID', says: 'debug' },
  ])('$options', async ({ options, code, says }) => {
    const error = await refusal(options)
    expect([error.code, error.hint]).toEqual([code, expect.stringContaining(says)])
    expect(error.message).not.toContain('secret')
  })
})

describe('the database', () => {
  test.each([
    { given: undefined, env: {}, database: { kind: 'file', directory: '.perdure/data' } },
    {
      given: undefined,
      env: { DATABASE_URL: 'postgres://a/b' },
      database: { kind: 'postgres', url: 'postgres://a/b' },
    },
    {
      given: undefined,
      env: { DATABASE_URL: 'postgres://a/b', PERDURE_DATABASE_URL: 'memory:' },
      database: { kind: 'memory' },
    },
    {
      given: undefined,
      env: { DATABASE_URL: '' },
      database: { kind: 'file', directory: '.perdure/data' },
    },
    { given: 'postgresql://a/b', env: {}, database: { kind: 'postgres', url: 'postgresql://a/b' } },
    { given: 'file:./here', env: {}, database: { kind: 'file', directory: './here' } },
    { given: 'file:///abs/there', env: {}, database: { kind: 'file', directory: '/abs/there' } },
    { given: 'memory:', env: { DATABASE_URL: 'postgres://a/b' }, database: { kind: 'memory' } },
  ])('$given with $env is $database', ({ given, env, database }) => {
    expect(readEngineOptions({ database: given }, env).database).toEqual(database)
  })

  test('can be a pool', () => {
    const pool = { query: () => {}, connect: () => {}, options: { host: 'a' } }
    expect(readEngineOptions({ database: pool }, {}).database).toEqual({ kind: 'pool', pool })
  })
})

describe('where notifications are heard', () => {
  const env = { PERDURE_LISTEN_URL: 'postgres://direct/b' }
  test.each([
    { given: undefined, env: {}, listen: null },
    { given: undefined, env, listen: 'postgres://direct/b' },
    { given: false, env, listen: false },
    { given: 'postgresql://other/b', env, listen: 'postgresql://other/b' },
  ] as const)('listen $given with $env is $listen', ({ given, env, listen }) => {
    expect(readEngineOptions({ listen: given }, env).listen).toBe(listen)
  })
})

describe('the build', () => {
  const build = (workflows: unknown[], env = {}) => readEngineOptions({ workflows }, env).build

  test('is the same for the same code and another for other code', () => {
    const again = workflow('order', async () => 1)
    const changed = workflow('order', async () => 2)
    expect(build([order])).toBe(build([again]))
    expect(build([order])).not.toBe(build([changed]))
  })

  test('is what the deploy calls itself', () => {
    expect(build([order], { PERDURE_BUILD: 'v7' })).toBe('v7')
    expect(readEngineOptions({ build: 'mine' }, { PERDURE_BUILD: 'v7' }).build).toBe('mine')
  })
})

describe('a definition', () => {
  test.each([
    { make: () => workflow('1x', async () => 1), code: 'NAME_INVALID' },
    { make: () => workflow('a b', async () => 1), code: 'NAME_INVALID' },
    { make: () => task(5 as never, async () => 1), code: 'NAME_INVALID' },
    { make: () => workflow('w', undefined as never), code: 'DEFINITION_INVALID' },
    { make: () => workflow('w', class {} as never), code: 'DEFINITION_INVALID' },
    { make: () => workflow('w', { vresion: '2' } as never, async () => 1), code: 'OPTION_UNKNOWN' },
    { make: () => workflow('w', { version: 2 } as never, async () => 1), code: 'OPTION_INVALID' },
    { make: () => workflow('w', { version: 'a@b' }, async () => 1), code: 'OPTION_INVALID' },
    { make: () => workflow('w', { input: {} } as never, async () => 1), code: 'OPTION_INVALID' },
    {
      make: () => workflow('w', { signals: { go: 5 } } as never, async () => 1),
      code: 'OPTION_INVALID',
    },
    {
      make: () => workflow('w', { timeout: 'soon' } as never, async () => 1),
      code: 'DURATION_INVALID',
    },
    {
      make: () => task('t', { retries: 1, retry: 1 } as never, async () => 1),
      code: 'OPTION_INVALID',
    },
    { make: () => task('t', { signals: {} } as never, async () => 1), code: 'OPTION_UNKNOWN' },
  ])('is refused with $code: $make', ({ make, code }) => {
    expect(make).toThrow(expect.objectContaining({ code }))
  })

  test('shows its name, version and kind', () => {
    expect({ ...order }).toEqual({ name: 'order', version: '1', kind: 'workflow' })
    expect({ ...task('t', { version: '1.2.0' }, async () => 1) }).toEqual({
      name: 't',
      version: '1.2.0',
      kind: 'task',
    })
  })
})

describe('a missing package', () => {
  const missing = (name: string) =>
    Object.assign(new Error(`Cannot find package '${name}' imported from x`), {
      code: 'ERR_MODULE_NOT_FOUND',
    })

  test('is answered with the line that installs it', async () => {
    const load = () => Promise.reject(missing('pg'))
    await expect(importPeer('pg', 'A PostgreSQL database', load)).rejects.toMatchObject({
      code: 'PEER_MISSING',
      hint: 'npm install pg',
    })
  })

  test('is not blamed for another error', async () => {
    const load = () => Promise.reject(missing('other'))
    await expect(importPeer('pg', 'A PostgreSQL database', load)).rejects.toMatchObject({
      code: 'ERR_MODULE_NOT_FOUND',
    })
  })
})

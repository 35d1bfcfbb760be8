// engine.transaction, and starts and signals inside a transaction of the caller.

import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { type PgClient, type Schema, workflow } from '../../src/index.js'
import { describeOn, urlOf } from '../support/databases.js'
import { eventually, fresh, pause as passes, refusalOf, worldOn } from '../support/world.js'

const text: Schema<string> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      typeof value === 'string' ? { value } : { issues: [{ message: 'must be a text' }] },
  },
}

const echo = workflow(fresh('echo'), async (_, word: string) => word)
const talk = workflow(fresh('talk'), { signals: { say: text } }, async (wf, _: string) => [
  await wf.waitFor('say'),
  await wf.waitFor('say'),
])

describeOn(['pglite', 'postgres18'], 'on a real database', (database) => {
  const world = worldOn(database)
  const table = async (): Promise<string> => {
    const name = `${world.schema}.${fresh('t').replace('-', '_')}`
    await world.sql(`create table ${name} (id text primary key)`)
    return name
  }
  const rows = async (name: string) => (await world.sql(`select id from ${name}`)).length
  const lettersLeft = async () =>
    Number((await world.sql('select count(*)::int as n from @schema@.letters'))[0]?.n)

  describe('engine.transaction', () => {
    test('commits the rows of the caller and the run that belongs to them together', async () => {
      const name = await table()
      const engine = await world.open([echo], { kernel: { pollMs: 60_000 } })
      const { id } = await engine.transaction(async (tx) => {
        await tx.query(`insert into ${name} values ($1)`, ['o-1'])
        return engine.start(echo, 'hello', { id: fresh('o'), transaction: tx })
      })
      // Nobody polls: the worker was woken by the commit.
      expect(await engine.handle(echo, id).result({ timeout: '5s' })).toBe('hello')
      expect(await rows(name)).toBe(1)
    })

    test('that throws has done nothing, and throws on', async () => {
      const name = await table()
      const engine = await world.open([echo])
      const before = await world.counts()
      const id = fresh('o')
      const failed = engine.transaction(async (tx) => {
        await tx.query(`insert into ${name} values ('o-1')`)
        await engine.start(echo, 'hello', { id, transaction: tx })
        throw new Error('changed my mind')
      })
      await expect(failed).rejects.toThrow('changed my mind')
      expect(await rows(name)).toBe(0)
      expect(await engine.get(id)).toBeNull()
      expect(await world.counts()).toEqual(before)
    })

    test('carries signals to runs of the same transaction and to others, in order', async () => {
      const engine = await world.open([talk])
      const there = await engine.start(talk, 'x', { id: fresh('there') })
      const { id } = await engine.transaction(async (tx) => {
        const started = await engine.start(talk, 'x', { id: fresh('new'), transaction: tx })
        await engine.signal(started.id, 'say', 'one', { transaction: tx })
        await engine.handle(talk, started.id).signal('say', 'two', { transaction: tx })
        await there.signal('say', 'three', { transaction: tx, id: 'm-3' })
        await there.signal('say', 'three', { transaction: tx, id: 'm-3' })
        await engine.signal(there.id, 'say', 'four', { transaction: tx })
        return started
      })
      expect(await engine.handle(talk, id).result()).toEqual(['one', 'two'])
      expect(await there.result()).toEqual(['three', 'four'])
      await eventually(lettersLeft).toBe(0)
    })

    test('takes a first message, also for a run that is there already', async () => {
      const engine = await world.open([talk])
      const id = fresh('talk')
      const start = (payload: string) =>
        engine.transaction((transaction) =>
          engine.start(talk, 'x', { id, transaction, message: { name: 'say', payload } }),
        )
      await start('one')
      await start('two')
      expect(await engine.handle(talk, id).result()).toEqual(['one', 'two'])
    })

    test('refuses what is wrong inside, and commits nothing of it', async () => {
      const engine = await world.open([echo, talk])
      const { id } = await engine.start(echo, 'x', { id: fresh('over') })
      await engine.handle(echo, id).result()
      const before = await world.counts()
      const refused = async (call: (tx: PgClient) => Promise<unknown>) =>
        (await refusalOf(engine.transaction(call))).code
      const inside = (tx: PgClient) => ({ transaction: tx })
      expect(await refused((tx) => engine.start(echo, 'y', { id, ...inside(tx) }))).toBe('ID_TAKEN')
      expect(await refused((tx) => engine.signal(id, 'say', 'a', inside(tx)))).toBe('RUN_FINISHED')
      expect(await refused((tx) => engine.signal('no', 'say', 'a', inside(tx)))).toBe(
        'RUN_NOT_FOUND',
      )
      expect(
        await refused(async (tx) => {
          const run = await engine.start(talk, 'x', inside(tx))
          await engine.signal(run.id, 'say', 5, inside(tx))
        }),
      ).toBe('PAYLOAD_INVALID')
      expect(await refused(() => engine.start(echo, 'x'))).toBe('INSIDE_TRANSACTION')
      expect(await refused(() => engine.transaction(async () => 1))).toBe('INSIDE_TRANSACTION')
      expect(await refused((tx) => tx.query('commit'))).toBe('TRANSACTION_INVALID')
      expect(await refused(async (tx) => tx.query('select wrong').catch(() => {}))).toBe(
        'TRANSACTION_INVALID',
      )
      expect((await refusalOf(engine.transaction(5 as never))).code).toBe('OPTION_INVALID')
      const wrong = { transaction: 5 as never }
      expect((await refusalOf(engine.start(echo, 'x', wrong))).code).toBe('OPTION_INVALID')
      expect(await world.counts()).toEqual(before)
      expect(await lettersLeft()).toBe(0)
      expect((await engine.run(echo, 'still there')).status).toBe('completed')
    })

    test('tells the listeners of a run that it has started', async () => {
      const engine = await world.open([echo])
      const heard: string[] = []
      engine.on('workflow.created', ({ runId }) => void heard.push(runId))
      const { id } = await engine.transaction((transaction) =>
        engine.start(echo, 'x', { transaction }),
      )
      await engine.handle(echo, id).result()
      expect(heard.filter((one) => one === id)).toEqual([id])
    })
  })
})

describeOn(['pglite'], 'on the embedded database', (database) => {
  const world = worldOn(database)

  test('a client of something else is refused', async () => {
    const engine = await world.open([echo])
    const transaction = { query: async () => ({ rows: [], rowCount: 0 }) }
    const error = await refusalOf(engine.start(echo, 'x', { transaction }))
    expect(error).toMatchObject({ code: 'TRANSACTION_INVALID' })
    expect(error.hint).toContain('engine.transaction')
  })

  test('a read inside a transaction sees what it has written', async () => {
    const engine = await world.open([echo], { options: { worker: false } })
    const seen = await engine.transaction(async (transaction) => {
      const { id } = await engine.start(echo, 'x', { transaction })
      return engine.get(id)
    })
    expect(seen).toMatchObject({ status: 'pending' })
  })
})

describeOn(['postgres18', 'postgres15'], 'on PostgreSQL', (database) => {
  const world = worldOn(database)
  const connect = async () => {
    const client = new pg.Client(urlOf(database))
    await client.connect()
    return client
  }

  test('a start in a transaction of one’s own client is found after its commit, and never if it is rolled back', async () => {
    const engine = await world.open([echo, talk])
    const client = await connect()
    try {
      const [id, never] = [fresh('own'), fresh('never')]
      await client.query('begin')
      const started = await engine.start(talk, 'x', { id, transaction: client })
      expect(started).toEqual({ id })
      await engine.signal(id, 'say', 'one', { transaction: client })
      await engine.signal(id, 'say', 'two', { transaction: client })
      await passes(200)
      expect(await engine.get(id)).toBeNull()
      await client.query('commit')
      expect(await engine.handle(talk, id).result()).toEqual(['one', 'two'])

      await client.query('begin')
      await engine.start(echo, 'x', { id: never, transaction: client })
      await client.query('rollback')
      await passes(200)
      expect(await engine.get(never)).toBeNull()
      expect((await engine.start(echo, 'y', { id: never })).id).toBe(never)
    } finally {
      await client.end()
    }
  })

  test('an open transaction with a signal to a run does not hold that run up', async () => {
    const steps = workflow(fresh('steps'), async (wf) => {
      for (let i = 1; i <= 20; i += 1) await wf.do(`step ${i}`, () => i)
      return wf.waitFor('go')
    })
    const engine = await world.open([steps])
    const client = await connect()
    try {
      const { id } = await engine.start(steps, undefined, { delay: 200 })
      await client.query('begin')
      await engine.signal(id, 'go', 'on', { transaction: client })
      await eventually(() => engine.get(id)).toMatchObject({ status: 'waiting', reason: 'signal' })
      expect(engine.counters['answer.busy']).toBe(0)
      await client.query('commit')
      expect(await engine.handle(steps, id).result()).toBe('on')
    } finally {
      await client.end()
    }
  })

  test('a client without a transaction, a pool, and another database are refused, and nothing is written', async () => {
    const engine = await world.open([echo])
    const id = fresh('none')
    const client = await connect()
    const pool = new pg.Pool({ connectionString: urlOf(database) })
    try {
      for (const transaction of [client, pool]) {
        const error = await refusalOf(engine.start(echo, 'x', { id, transaction }))
        expect(error).toMatchObject({ code: 'TRANSACTION_INVALID' })
        expect(error.hint).toContain('begin')
      }
      expect(await engine.get(id)).toBeNull()
      const there = await engine.start(echo, 'x', { id, delay: '1h' })
      const mail = refusalOf(there.signal('say', 'a', { transaction: client }))
      expect(await mail).toMatchObject({ code: 'TRANSACTION_INVALID' })
      expect(await world.sql('select 1 from @schema@.letters')).toEqual([])
      const elsewhere = {
        query: (sql: string, params?: unknown[]) =>
          client.query(sql.replaceAll(world.schema, 'nowhere'), params),
      } as never
      await client.query('begin')
      const error = await refusalOf(engine.start(echo, 'x', { transaction: elsewhere }))
      expect(error.message).toContain('not on the database of this engine')
    } finally {
      await client.end()
      await pool.end()
    }
  })
})

// wf.transaction, stateless runs, and two engines on one database.

import { describe, expect, test } from 'vitest'
import { type Engine, task, workflow } from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { eventually, fresh, gate, kindsOf, pause, refusalOf, worldOn } from '../support/world.js'

describeOn(['pglite', 'postgres18'], 'on a real database', (database) => {
  const world = worldOn(database)
  const table = async (): Promise<string> => {
    const name = `${world.schema}.${fresh('t').replace('-', '_')}`
    await world.sql(`create table ${name} (id text primary key)`)
    return name
  }
  const ids = async (name: string) =>
    (await world.sql(`select id from ${name} order by id`)).map((row) => row.id)

  describe('wf.transaction', () => {
    test('commits what the user wrote together with the entry', async () => {
      const name = await table()
      const ship = workflow(fresh('ship'), async (wf) =>
        wf.transaction('ship', async (tx) => {
          await tx.query(`insert into ${name} values ($1)`, ['s-1'])
          // The embedded database has one connection: a look from outside would wait for the transaction.
          return database.name === 'pglite' ? [] : ids(name)
        }),
      )
      const engine = await world.open([ship])
      const outcome = await engine.run(ship)
      expect(outcome).toMatchObject({ status: 'completed', output: [] })
      expect(await ids(name)).toEqual(['s-1'])
      const kinds = await kindsOf(engine, outcome.id)
      expect(kinds).toEqual(['run.created', 'step.completed', 'run.completed'])
    })

    test('that takes long, beside a step that does not, commits like any other', async () => {
      const name = await table()
      const ship = workflow(fresh('ship'), async (wf) => {
        await wf.transaction('first', (tx) => tx.query(`insert into ${name} values ('s-1')`))
        // Long enough to be written down as asked for, and for the other's outcome to want a commit.
        return Promise.all([
          wf.transaction('long', async (tx) => {
            await tx.query(`insert into ${name} values ('s-2')`)
            await pause(300)
            return 'long'
          }),
          wf.do('quick', () => 'quick'),
        ])
      })
      const engine = await world.open([ship])
      const startedAt = performance.now()
      expect(await engine.run(ship)).toMatchObject({ output: ['long', 'quick'] })
      expect(performance.now() - startedAt).toBeLessThan(4_500)
      expect(await ids(name)).toEqual(['s-1', 's-2'])
    })

    test('that waits in line for a connection has its time from when it gets one', async () => {
      const ship = workflow(fresh('ship'), async (wf) =>
        wf.transaction('ship', () => pause(1_000), { timeout: 2_500 }),
      )
      const engine = await world.open([ship])
      // Of those there are four, or one: the last of these begins after two seconds.
      const count = database.name === 'pglite' ? 3 : 9
      const outcomes = await Promise.all(Array.from({ length: count }, () => engine.run(ship)))
      expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['completed']))
    })

    test('rolls back what a throwing function wrote, and its retry finds nothing in the way', async () => {
      const name = await table()
      const ship = workflow(fresh('ship'), async (wf) =>
        wf.transaction(
          'ship',
          async (tx, step) => {
            await tx.query(`insert into ${name} values ('s-1')`)
            if (step.attempt === 1) throw new Error('after the insert')
            const { rows } = await tx.query<{ n: number }>(`select count(*)::int as n from ${name}`)
            return rows[0]?.n
          },
          { retries: 1, retryDelay: 1 },
        ),
      )
      const engine = await world.open([ship])
      expect(await engine.run(ship)).toMatchObject({ status: 'completed', output: 1 })
      expect(await ids(name)).toEqual(['s-1'])
    })

    test('refuses what ends it by itself', async () => {
      const name = await table()
      const ship = workflow(fresh('ship'), async (wf) =>
        wf.transaction('ship', async (tx) => {
          await tx.query(`insert into ${name} values ('s-1')`)
          await tx.query('rollback')
        }),
      )
      const engine = await world.open([ship])
      expect(await engine.run(ship)).toMatchObject({ status: 'failed' })
      expect(await ids(name)).toEqual([])
    })

    test('answers reads of the engine at once, also where there is one connection', async () => {
      let engine: Engine | null = null
      const looks = workflow(fresh('looks'), async (wf) => {
        const { id } = wf.run
        await wf.do('first', () => 1)
        return wf.transaction('look', async (tx) => {
          await tx.query('select 1')
          const info = await engine?.get(id)
          const { items } = (await engine?.history(id)) ?? { items: [] }
          const listed = await engine?.list({ text: id })
          const { reason } = (await engine?.explain(id)) ?? {}
          const kinds = items.map(({ kind }) => kind)
          return { status: info?.status, kinds, listed: listed?.items.length, reason }
        })
      })
      engine = await world.open([looks])
      const outcome = await engine.run(looks)
      expect(outcome).toMatchObject({
        status: 'completed',
        output: {
          status: 'running',
          kinds: ['run.created', 'step.completed'],
          listed: 1,
          reason: 'running',
        },
      })
    })

    test('refuses engine.start, signal and cancel inside with INSIDE_TRANSACTION', async () => {
      const before = workflow(fresh('inside'), async (wf) =>
        wf.transaction('ship', async () => {
          const calls = [
            () => engine.start('other'),
            () => engine.signal('other', 'x'),
            () => engine.cancel('other'),
          ]
          const codes: string[] = []
          for (const call of calls) codes.push((await refusalOf(call())).code)
          return codes
        }),
      )
      const engine = await world.open([before])
      const outcome = await engine.run(before)
      expect(outcome.output).toEqual([
        'INSIDE_TRANSACTION',
        'INSIDE_TRANSACTION',
        'INSIDE_TRANSACTION',
      ])
    })
  })

  test('a stateless run with steps and children writes no row', async () => {
    const double = task(fresh('double'), async (n: number) => n * 2)
    const add = workflow(fresh('add'), async (wf, n: number) => {
      await wf.sleep('a moment', 5)
      return (await wf.do('double', double, n)) + (await wf.do('one', () => 1))
    })
    const engine = await world.open([add, double])
    const before = await world.counts()
    expect(await engine.run(add, 2, { stateless: true })).toMatchObject({
      status: 'completed',
      output: 5,
    })
    expect(await world.counts()).toEqual(before)
  })

  describe('signals', () => {
    test('sent before the run waits are kept, and taken in the order in which they came', async () => {
      const goOn = gate()
      const reads = workflow(fresh('reads'), async (wf) => {
        await wf.do('busy', () => goOn.passed)
        const taken: unknown[] = []
        for (let i = 0; i < 3; i += 1) taken.push(await wf.waitFor(['a', 'b']))
        return taken
      })
      const engine = await world.open([reads])
      const run = await engine.start(reads)
      await run.signal('a', 1)
      await run.signal('b', 2)
      await run.signal('a', 3)
      goOn.open()
      expect(await run.result()).toEqual([
        { name: 'a', payload: 1 },
        { name: 'b', payload: 2 },
        { name: 'a', payload: 3 },
      ])
    })

    test('sent before any worker has the run are kept', async () => {
      const reads = workflow(fresh('reads'), async (wf) => [
        await wf.waitFor('a'),
        await wf.waitFor('a'),
      ])
      const client = await world.open([reads], { options: { worker: false } })
      const run = await client.start(reads)
      await run.signal('a', 1, { id: 'one' })
      await run.signal('a', 1, { id: 'one' })
      await run.signal('a', 2, { id: 'two' })
      await world.open([reads])
      expect(await run.result()).toEqual([1, 2])
    })

    test('that do not come in time are WAIT_TIMED_OUT, or null if asked for', async () => {
      const waits = workflow(fresh('waits'), async (wf) => [
        await wf.waitFor('a', { timeout: 30 }).catch((error: { code: string }) => error.code),
        await wf.waitFor('a', { timeout: 30, orNull: true }),
        await wf.waitFor('a', { timeout: new Date(0), orNull: true }),
      ])
      const engine = await world.open([waits])
      expect((await engine.run(waits)).output).toEqual(['WAIT_TIMED_OUT', null, null])
    })

    test('accepted before a deadline beat it, even if every worker was away past both', async () => {
      const waits = workflow(fresh('waits'), async (wf) =>
        wf.waitFor('a', { timeout: '1h', orNull: true }),
      )
      const first = await world.open([waits])
      const run = await first.start(waits)
      await eventually(() => world.row(run.id)).toMatchObject({ reason: 'signal' })
      await first.close()
      const client = await world.open([waits], { options: { worker: false } })
      await client.signal(run.id, 'a', 'in time')
      await world.advance(7_200_000)
      await world.open([waits])
      expect(await client.handle(waits, run.id).result()).toBe('in time')
    })
  })

  describe('two engines', () => {
    test('share the work, and no step runs twice', async () => {
      const ran: string[] = []
      const make = (by: string) =>
        task('shared-work', { version: '1' }, async (n: number) => {
          ran.push(`${by} ${n}`)
          await pause(20)
          return n
        })
      const kernel = { concurrency: 2 }
      const client = await world.open([], { options: { worker: false } })
      const engines = [
        await world.open([make('one')], { kernel }),
        await world.open([make('two')], { kernel }),
      ]
      const runs = await Promise.all(
        Array.from({ length: 24 }, (_, n) => client.start('shared-work', n)),
      )
      expect(await Promise.all(runs.map((run) => run.result()))).toEqual(runs.map((_, n) => n))
      expect(ran).toHaveLength(24)
      expect(new Set(ran.map((line) => line.split(' ')[1])).size).toBe(24)
      for (const by of ['one', 'two']) {
        expect(ran.filter((line) => line.startsWith(by)).length).toBeGreaterThan(3)
      }
      expect(engines).toHaveLength(2)
    })

    test('hand over: close lets the running step finish, and the other goes on at once', async () => {
      const ran: string[] = []
      const finish = gate()
      const running = gate()
      const make = (by: string) =>
        workflow('handed-over', async (wf) => {
          await wf.do('first', async () => {
            ran.push(`${by} first`)
            running.open()
            await finish.passed
          })
          await wf.do('second', () => void ran.push(`${by} second`))
          return by
        })
      const options = { build: 'same' }
      const first = await world.open([make('one')], { options })
      const run = await first.start('handed-over')
      await running.passed
      const second = await world.open([make('two')], { options })
      const closing = first.close()
      setTimeout(() => finish.open(), 60)
      await closing
      const closedAt = performance.now()
      expect(await second.handle('handed-over', run.id).result()).toBe('two')
      // The lease is 30 s.
      expect(performance.now() - closedAt).toBeLessThan(3_000)
      expect(ran).toEqual(['one first', 'two second'])
    })
  })
})

// The user's own database tools: their transaction starts and signals runs, and they stand on the transaction of a step.

import { drizzle } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import { CamelCasePlugin, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { DataSource, type EntityManager } from 'typeorm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  machine,
  type OpenTransaction,
  type PgClient,
  type TransitionContext,
  workflow,
} from '../../src/index.js'
import { describeOn, urlOf } from '../support/databases.js'
import { fresh, worldOn } from '../support/world.js'

interface Tables {
  orders: { orderId: string }
}
const orders = pgTable('orders', { orderId: text('order_id').primaryKey() })
const INSERT = 'insert into public.orders (order_id) values ($1)'

/** `tx` makes the tool of the client of a step, and `write` writes an order with it, or with a transaction of the tool's own. */
interface Tool<T> {
  readonly tx: (client: PgClient) => T
  readonly write: (tx: T, id: string) => Promise<unknown>
}
const toolOf = <T>(tool: Tool<T>): Tool<T> => tool

const onPg = toolOf<PgClient>({
  tx: (client) => client,
  write: (tx, id) => tx.query(INSERT, [id]),
})

const onKysely = toolOf<Kysely<Tables>>({
  // Kysely takes its connections from a pool; this one has the connection of the step and no other.
  tx: (client) => {
    const connection = { query: client.query.bind(client), release: () => {} }
    const pool = { connect: async () => connection as never, end: async () => {} }
    return new Kysely({
      dialect: new PostgresDialect({ pool }),
      plugins: [new CamelCasePlugin()],
    })
  },
  write: (tx, id) => tx.withSchema('public').insertInto('orders').values({ orderId: id }).execute(),
})

const onDrizzle = toolOf<ReturnType<typeof drizzle>>({
  tx: (client) => drizzle(client as unknown as pg.Client) as never,
  write: async (tx, id) => {
    await tx.insert(orders).values({ orderId: id })
    const found = await tx.select().from(orders)
    expect(found).toContainEqual({ orderId: id })
  },
})

const source = new DataSource({ type: 'postgres', entities: [] })
const onTypeOrm = toolOf<EntityManager>({
  tx: (client) => {
    const runner = source.createQueryRunner()
    return Object.assign(runner, { databaseConnection: client }).manager
  },
  write: (tx, id) => tx.query(INSERT, [id]),
})

describeOn(['pglite', 'postgres18'], 'in wf.transaction and ctx.transaction()', (database) => {
  const world = worldOn(database)
  beforeAll(() => world.sql('create table public.orders (order_id text primary key)'))
  afterAll(() => world.sql('drop table public.orders'))

  async function written<T>({ tx, write }: Tool<T>) {
    let attempts = 0
    const order = workflow(fresh('order'), async (wf, id: string) => {
      const writing = async (given: unknown) => {
        attempts += 1
        await write(given as T, id)
        if (attempts === 1) throw new Error('rolled back')
      }
      await wf.transaction('write', writing, { retries: 1, retryDelay: '1ms' })
    })
    const placed = machine(fresh('placed'), {
      transitions: {
        place: {
          to: 'end',
          run: (_: object, ctx: TransitionContext<string>) =>
            ctx.transaction(async (given) => void (await write(given as T, ctx.input))),
        },
      },
    })
    const engine = await world.open([order, placed], { options: { tx } })
    const ids = [fresh('one'), fresh('two')] as const
    await (await engine.start(order, ids[0])).result()
    await (await engine.start(placed, ids[1] as never)).result()
    const rows = await world.sql('select order_id as id from public.orders')
    return { attempts, there: ids.map((id) => rows.some((row) => row.id === id)) }
  }
  const once = { attempts: 2, there: [true, true] }

  test('pg: what is written commits with the step, or not at all', async () => {
    expect(await written(onPg)).toEqual(once)
  })
  test('Kysely: what is written commits with the step, or not at all', async () => {
    expect(await written(onKysely)).toEqual(once)
  })
  test('Drizzle: what is written commits with the step, or not at all', async () => {
    expect(await written(onDrizzle)).toEqual(once)
  })
  // It has no way to the embedded database.
  if (database.name === 'pglite') return
  test('TypeORM: what is written commits with the step, or not at all', async () => {
    expect(await written(onTypeOrm)).toEqual(once)
  })
})

describeOn(['postgres18'], 'in a transaction of the caller', (database) => {
  const world = worldOn(database)
  const settings = { connectionString: urlOf(database), max: 2 }
  const pool = new pg.Pool(settings)
  const dialect = new PostgresDialect({ pool: new pg.Pool(settings) })
  const kysely = new Kysely<Tables>({ dialect, plugins: [new CamelCasePlugin()] })
  const typeOrm = new DataSource({ type: 'postgres', url: urlOf(database), entities: [] })

  beforeAll(async () => {
    await world.sql('create table public.orders (order_id text primary key)')
    await typeOrm.initialize()
  })
  afterAll(async () => {
    await pool.end()
    await kysely.destroy()
    await typeOrm.destroy()
    await world.sql('drop table public.orders')
  })

  type Transact<T> = (work: (tx: T & OpenTransaction) => Promise<void>) => Promise<void>

  async function kept<T>({ write }: Tool<T>, transact: Transact<T>) {
    const talk = workflow(fresh('talk'), async (wf, word: string) => [word, await wf.waitFor('go')])
    const engine = await world.open([talk])
    const ids = [fresh('kept'), fresh('lost')] as const
    const place = async (tx: T & OpenTransaction, id: string) => {
      await write(tx, id)
      await engine.start(talk, 'hello', { id, transaction: tx })
      await engine.signal(id, 'go', 'there', { transaction: tx })
    }
    await transact((tx) => place(tx, ids[0]))
    expect(await engine.handle(talk, ids[0]).result()).toEqual(['hello', 'there'])
    const failed = transact(async (tx) => {
      await place(tx, ids[1])
      throw new Error('changed my mind')
    })
    await expect(failed).rejects.toThrow('changed my mind')
    const rows = await world.sql('select order_id as id from public.orders')
    const runs = await Promise.all(ids.map((id) => engine.get(id)))
    return ids.map((id, i) => ({ row: rows.some((row) => row.id === id), run: runs[i] !== null }))
  }
  const bothOrNone = [
    { row: true, run: true },
    { row: false, run: false },
  ]

  test('pg: a run and a signal are there when it commits, and not when it does not', async () => {
    const transact: Transact<PgClient> = async (work) => {
      const client = await pool.connect()
      await client.query('begin')
      const how = await work(client).then(
        () => 'commit',
        async (error: unknown) => {
          await client.query('rollback')
          client.release()
          throw error
        },
      )
      await client.query(how)
      client.release()
    }
    expect(await kept(onPg, transact)).toEqual(bothOrNone)
  })
  test('Kysely: a run and a signal are there when it commits, and not when it does not', async () => {
    const transact: Transact<Kysely<Tables>> = (work) => kysely.transaction().execute(work)
    expect(await kept(onKysely, transact)).toEqual(bothOrNone)
  })
  test('Drizzle: a run and a signal are there when it commits, and not when it does not', async () => {
    const transact: Transact<ReturnType<typeof drizzle>> = (work) =>
      drizzle(pool).transaction((tx) => work(tx as never))
    expect(await kept(onDrizzle, transact)).toEqual(bothOrNone)
  })
  test('TypeORM: a run and a signal are there when it commits, and not when it does not', async () => {
    const transact: Transact<EntityManager> = (work) => typeOrm.transaction(work)
    expect(await kept(onTypeOrm, transact)).toEqual(bothOrNone)
  })

  test('what is none of them is refused, and says what is taken', async () => {
    const talk = workflow(fresh('talk'), async () => {})
    const engine = await world.open([talk])
    const start = engine.start(talk, undefined, { transaction: { sql: 'none' } as never })
    await expect(start).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringContaining('of pg, Kysely, Drizzle or TypeORM'),
    })
  })
})

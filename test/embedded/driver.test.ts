import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { DriverError } from '../../src/store/driver.js'
import { runOutside } from '../../src/store/driver-embedded/inside.js'
import { openEmbedded } from '../../src/store/driver-embedded/open-embedded.js'
import { failureOf, notes, type Opened, quiet, World } from './world.js'

/** A database in memory costs seconds and half a gigabyte, so these tests share two, each time with empty tables. */
const kept = new Map<number, Promise<Opened>>()

async function inMemory(which = 1): Promise<Opened> {
  const opening =
    kept.get(which) ??
    openEmbedded({ directory: null, production: false, allowInProduction: false, log: quiet })
  kept.set(which, opening)
  const driver = await opening
  await driver.script(
    'drop table if exists notes, other; create table notes (n int4 primary key, pad text)',
  )
  return driver
}

describe('a statement', { timeout: 60_000 }, () => {
  test('gives and takes numbers, texts, booleans and null', async () => {
    const driver = await inMemory()
    const [row] = await driver.query(
      'read',
      `select $1::int4 as i, $2::float8 as f, $3::text as t, $4::bool as b, $5::text as n,
              ($6::jsonb ->> 'a')::int4 as j, $7::bytea::text as y, $8::text as k, 0.5::float8 as h`,
      [-7, 1e21, 'ü"\\ \u2028', true, null, '{"a":3}', '\\x00ff', 12],
    )
    expect(row).toEqual({
      i: -7,
      f: 1e21,
      t: 'ü"\\ \u2028',
      b: true,
      n: null,
      j: 3,
      y: '\\x00ff',
      k: '12',
      h: 0.5,
    })
  })

  test('that fails says its SQLSTATE and does no harm to the next one', async () => {
    const driver = await inMemory()
    const insert = "insert into notes values (1, 'x')"
    await driver.query('commit', insert, [])
    const failure = await failureOf(driver.query('commit', insert, []))
    expect(failure).toBeInstanceOf(DriverError)
    expect(failure).toMatchObject({ sqlState: '23505', connection: false })
    expect(await failureOf(driver.query('read', 'select $1::text', ['\0']))).toMatchObject({
      sqlState: '22021',
    })
    expect(await notes(driver)).toEqual([1])
  })

  test('after close says that the connection is gone', async () => {
    await using world = await World.initialised()
    const driver = await world.open()
    const before = driver.query('read', 'select 1 as one', [])
    await Promise.all([driver.close(), driver.close()])
    expect(await before).toEqual([{ one: 1 }])
    expect(await failureOf(driver.query('read', 'select 1', []))).toMatchObject({
      sqlState: '08003',
      connection: true,
    })
  })
})

describe('a script', { timeout: 60_000 }, () => {
  test('happens whole or not at all', async () => {
    const driver = await inMemory()
    const failure = await failureOf(
      driver.script("insert into notes values (1, 'x'); create table other (a int4); select 1/0"),
    )
    expect(failure).toMatchObject({ sqlState: '22012' })
    expect(await notes(driver)).toEqual([])
    await driver.script('create table other (a int4); insert into notes values (2)')
    expect(await notes(driver)).toEqual([2])
  })
})

describe('a transaction', { timeout: 60_000 }, () => {
  test('has the connection until it is committed', async () => {
    const driver = await inMemory()
    const transaction = await driver.begin(5_000)
    await transaction.query('insert into notes values (1)')
    const others = notes(driver)
    await transaction.query('insert into notes values (2)')
    await transaction.commit()
    expect(await others).toEqual([1, 2])
  })

  test('leaves nothing when it is rolled back, and takes no statement afterwards', async () => {
    const driver = await inMemory()
    const transaction = await driver.begin(5_000)
    // Not awaited: it must still fall inside.
    const insert = transaction.query('insert into notes values (1)')
    const rollback = transaction.rollback()
    const late = failureOf(transaction.query('insert into notes values (2)'))
    await Promise.all([insert, rollback])
    expect(await late).toMatchObject({ sqlState: '25P01' })
    expect(await failureOf(transaction.commit())).toMatchObject({ sqlState: '25P01' })
    await transaction.rollback()
    expect(await notes(driver)).toEqual([])
  })

  test('gives values and counts as node-postgres does', async () => {
    const driver = await inMemory()
    const transaction = await driver.begin(5_000)
    const at = new Date('2026-03-04T05:06:07.089Z')
    const values = await transaction.query(
      `select $1::int8 as big, $2::numeric as exact, $3::timestamptz as at, $4::jsonb as doc, $5::text[] as list,
              $6::bytea as bytes, $7::int4[] as numbers, $8::timestamp as wall`,
      [2n ** 60n, 1.5, at, { a: [1] }, ['a"b', null, '\\'], Buffer.from('hi'), [1, 2], at],
    )
    expect(values).toEqual({
      rows: [
        {
          big: String(2n ** 60n),
          exact: '1.5',
          at,
          doc: { a: [1] },
          list: ['a"b', null, '\\'],
          bytes: Buffer.from('hi'),
          numbers: [1, 2],
          wall: at,
        },
      ],
      rowCount: 1,
      command: 'SELECT',
    })
    const counts = []
    for (const sql of [
      'insert into notes select generate_series(1, 5)',
      "update notes set pad = 'x' where n > 2 returning n",
      'delete from notes where n = 1',
      'select * from notes',
      'select * from notes where n > 100',
      'create table other (a int4)',
    ]) {
      counts.push((await transaction.query(sql)).rowCount)
    }
    expect(counts).toEqual([5, 3, 1, 4, 0, null])
    await transaction.rollback()
  })

  test('is rolled back at its limit, and the others go on', async () => {
    const driver = await inMemory()
    const transaction = await driver.begin(100)
    await transaction.query('insert into notes values (1)')
    expect(await notes(driver)).toEqual([])
    expect(await failureOf(transaction.query('select 1'))).toMatchObject({ sqlState: '25P04' })
    expect(await failureOf(transaction.commit())).toMatchObject({ sqlState: '25P04' })
    await transaction.rollback()
  })

  test('is rolled back at its limit also when it never pauses', async () => {
    const driver = await inMemory()
    const transaction = await driver.begin(100)
    const failure = await failureOf(
      (async () => {
        for (;;) await transaction.query('select 1')
      })(),
    )
    expect(failure).toMatchObject({ sqlState: '25P04' })
  })

  test('is rolled back also when one statement used up its time', async () => {
    const driver = await inMemory()
    const transaction = await driver.begin(20)
    await transaction.query('insert into notes select generate_series(1, 100000)')
    expect(await failureOf(transaction.commit())).toMatchObject({ sqlState: '25P04' })
    expect(await notes(driver)).toEqual([])
  })

  test('cannot be longer than five seconds', async () => {
    const driver = await inMemory()
    const transaction = await driver.begin(60_000)
    const from = performance.now()
    await driver.query('read', 'select 1', [])
    expect(performance.now() - from).toBeGreaterThan(4_000)
    expect(performance.now() - from).toBeLessThan(8_000)
    await transaction.rollback()
  })

  test('with a failed statement is not committed', async () => {
    const driver = await inMemory()
    const transaction = await driver.begin(5_000)
    await transaction.query('insert into notes values (1)')
    // As node-postgres tells it, and nothing of the statement or its parameters.
    const failure = await failureOf(transaction.query('select 1/$1::int', [0]))
    expect({ ...(failure as object) }).toEqual({ name: 'error', code: '22012', severity: 'ERROR' })
    expect(await failureOf(transaction.commit())).toMatchObject({ sqlState: '25P02' })
    expect(await notes(driver)).toEqual([])
  })

  test('that ends itself by SQL is reported and takes nothing more', async () => {
    const driver = await inMemory()
    const transaction = await driver.begin(5_000)
    expect(await failureOf(transaction.query('rollback'))).toMatchObject({ sqlState: '2D000' })
    expect(await failureOf(transaction.query('insert into notes values (1)'))).toMatchObject({
      sqlState: '2D000',
    })
    expect(await notes(driver)).toEqual([])
  })

  test('that is open lets close wait for its end', async () => {
    await using world = await World.initialised()
    const driver = await world.open()
    const transaction = await driver.begin(200)
    await driver.close()
    expect(await failureOf(transaction.commit())).toMatchObject({ sqlState: '25P04' })
  })
})

describe('inside a transaction', { timeout: 60_000 }, () => {
  test('a read sees the transaction', async () => {
    const driver = await inMemory()
    const transaction = await driver.begin(5_000)
    const seen = await transaction.inside(async () => {
      await transaction.query('insert into notes values (1)')
      await sleep(1)
      return notes(driver)
    })
    expect(seen).toEqual([1])
    await transaction.rollback()
  })

  test('a write, a script and a second transaction are refused at once', async () => {
    const driver = await inMemory()
    const transaction = await driver.begin(5_000)
    await transaction.inside(async () => {
      for (const attempt of [
        driver.query('commit', 'insert into notes values (1)', []),
        driver.script('select 1'),
        driver.begin(100),
      ]) {
        expect(await failureOf(attempt)).toMatchObject({
          code: 'INSIDE_TRANSACTION',
          hint: 'await it after the transaction',
        })
      }
    })
    await transaction.commit()
    expect(await notes(driver)).toEqual([])
  })

  test('work that leaves it, and the beat, wait for its end', async () => {
    const driver = await inMemory()
    const transaction = await driver.begin(5_000)
    const later = transaction.inside(() => [
      runOutside(() => driver.query('commit', 'insert into notes values (1)', [])),
      driver.query('beat', 'insert into notes values (2)', []),
    ])
    await transaction.rollback()
    await Promise.all(later)
    expect(await notes(driver)).toEqual([1, 2])
  })

  test('that has ended, or is another driver’s, writes are as anywhere', async () => {
    const driver = await inMemory()
    const other = await inMemory(2)
    const transaction = await driver.begin(5_000)
    await transaction.inside(async () => {
      await other.query('commit', 'insert into notes values (1)', [])
      await transaction.commit()
      await driver.query('commit', 'insert into notes values (2)', [])
    })
    expect([await notes(other), await notes(driver)]).toEqual([[1], [2]])
  })
})

describe('a notification', { timeout: 60_000 }, () => {
  test('reaches the listeners of its channel, later, until they leave', async () => {
    const driver = await inMemory()
    const heard: string[] = []
    const leave = await driver.listen('a', (payload) => heard.push(`1 ${payload}`))
    await driver.listen('a', () => {
      throw new Error('a bad listener')
    })
    await driver.listen('a', (payload) => heard.push(`2 ${payload}`))
    await driver.listen('b', (payload) => heard.push(`3 ${payload}`))
    driver.notify('a', 'x')
    expect(heard).toEqual([])
    await sleep(5)
    expect(heard).toEqual(['1 x', '2 x'])
    await leave()
    driver.notify('a', 'y')
    driver.notify('error', 'z')
    await sleep(5)
    expect(heard).toEqual(['1 x', '2 x', '2 y'])
  })
})

describe('a directory', { timeout: 60_000 }, () => {
  test('keeps what was written', async () => {
    await using world = await World.initialised()
    const driver = await world.open()
    await driver.query('commit', 'insert into notes values (1)', [])
    await driver.close()
    expect(await notes(await world.open())).toEqual([1])
  })
})

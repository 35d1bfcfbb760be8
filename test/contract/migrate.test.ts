// Migrations, and the server they find.

import { expect, test } from 'vitest'
import type { Driver } from '../../src/store/driver.js'
import { openPgDriver } from '../../src/store/driver-pg/driver.js'
import { migrate, migrationSql } from '../../src/store/migrate.js'
import { MIGRATIONS } from '../../src/store/sql.generated.js'
import { openSqlStore } from '../../src/store/sql-store.js'
import { describeOn, freshSchema, urlOf } from './open-stores.js'

describeOn(['postgres15', 'postgres18'], 'migrate', (database) => {
  const open = () => openPgDriver({ target: urlOf(database) })

  test('five at once apply each migration once', async () => {
    const schema = freshSchema()
    const drivers = await Promise.all(Array.from({ length: 5 }, open))
    await Promise.all(drivers.map((driver) => migrate(driver, schema)))
    const [driver] = drivers
    const rows = await driver?.query('read', `select number from ${schema}.migrations`, [])
    const applied = rows?.map(({ number }) => Number(number)).sort((a, b) => a - b)
    expect(applied).toEqual(MIGRATIONS.map((m) => m.number))
    await driver?.script(`drop schema ${schema} cascade`)
    await Promise.all(drivers.map((each) => each.close()))
  })

  test('the printed SQL is all of it, and may be run again', async () => {
    const schema = freshSchema()
    const driver = await open()
    await driver.script(migrationSql(schema))
    await driver.script(migrationSql(schema))
    const store = await openSqlStore({ driver, schema, migrate: false })
    expect(await store.read.get('default', 'nobody' as never)).toBeNull()
    await driver.script(`drop schema ${schema} cascade`)
    await store.close()
  })

  test('a database with a newer migration is refused', async () => {
    const schema = freshSchema()
    const driver = await open()
    await migrate(driver, schema)
    await driver.script(
      `insert into ${schema}.migrations (number, name, breaking) values (9999, 'x', false)`,
    )
    await expect(openSqlStore({ driver, schema })).rejects.toMatchObject({ code: 'DATABASE_NEWER' })
    await driver.script(`drop schema ${schema} cascade`)
    await driver.close()
  })

  test('a migration that fails leaves nothing behind', async () => {
    const schema = freshSchema()
    const driver = await open()
    const broken = migrationSql(schema).replace('end $perdure$;', 'perform 1 / 0;\nend $perdure$;')
    await expect(driver.script(broken)).rejects.toMatchObject({ sqlState: '22012' })
    const rows = await driver.query('read', 'select to_regnamespace($1)::text as n', [schema])
    expect(rows).toEqual([{ n: null }])
    await driver.close()
  })

  test('instants cross exactly, whatever the session’s time zone', async () => {
    const driver = await openPgDriver({
      target: { connectionString: urlOf(database), options: '-c timezone=America/New_York' },
    })
    const schema = freshSchema()
    await migrate(driver, schema)
    for (const ms of [0, -1, 1_699_164_000_001, 1_710_054_000_999, 8_640_000_000_000_000]) {
      const text = `select ${schema}.ms_v1(${schema}.instant_v1($1::float8)) as ms`
      expect(await driver.query('read', text, [ms])).toEqual([{ ms }])
    }
    await driver.script(`drop schema ${schema} cascade`)
    await driver.close()
  })

  test('the clock is moved by a setting, and only by it', async () => {
    const schema = freshSchema()
    const moved = await openPgDriver({
      target: {
        connectionString: urlOf(database),
        options: '-c perdure.clock_offset_ms=-3600000',
      },
    })
    const plain = await open()
    await migrate(plain, schema)
    const clock = async (driver: Driver) => {
      const text = `select ${schema}.ms_v1(${schema}.clock_v1()) as ms`
      return Number((await driver.query('read', text, []))[0]?.ms)
    }
    const difference = (await clock(plain)) - (await clock(moved))
    expect(Math.abs(difference - 3_600_000)).toBeLessThan(5_000)
    await plain.script(`drop schema ${schema} cascade`)
    await Promise.all([moved.close(), plain.close()])
  })
})

test('a schema name that is not one, or that of the server, is refused before anything is asked (B49)', async () => {
  const driver = { query: () => expect.unreachable() } as unknown as Driver
  for (const schema of [
    '',
    'A',
    'a-b',
    'a"b',
    '1a',
    'a'.repeat(49),
    'pg_x',
    "a';drop",
    'information_schema',
  ]) {
    await expect(openSqlStore({ driver, schema })).rejects.toMatchObject({
      code: 'SCHEMA_NAME_INVALID',
    })
    expect(() => migrationSql(schema)).toThrow('cannot be a schema')
  }
})

test('a standby is refused', async () => {
  const driver = {
    description: 'postgresql://replica:5432/x',
    query: async () => [{ standby: true, version: 150_000, migrated: true }],
  } as unknown as Driver
  await expect(openSqlStore({ driver, schema: 'perdure' })).rejects.toMatchObject({
    code: 'DATABASE_UNAVAILABLE',
    message: expect.stringContaining('standby'),
  })
})

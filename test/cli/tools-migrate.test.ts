// perdure migrate.

import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { createEngine } from '../../src/index.js'
import { describeOn, freshSchema, urlOf } from '../support/databases.js'
import { newFolder, perdure } from './tools-support.js'

describeOn(['postgres18'], 'perdure migrate', (database) => {
  async function place() {
    const schema = freshSchema()
    const client = new pg.Client(urlOf(database))
    await client.connect()
    onTestFinished(async () => {
      await client.query(`drop schema if exists ${schema} cascade`)
      await client.end()
    })
    return { client, schema, at: ['--database', urlOf(database), '--schema', schema] }
  }

  test('says what is pending, applies it once, and names it', async () => {
    const { client, schema, at } = await place()
    const pending = await perdure(['migrate', '--check', ...at])
    expect(pending.exit).toBe(1)
    expect(pending.out).toContain('0001_tables  pending')
    const { rows } = await client.query('select to_regnamespace($1) as found', [schema])
    expect(rows).toEqual([{ found: null }])

    const applied = await perdure(['migrate', ...at])
    expect(applied.exit).toBe(0)
    expect(applied.out).toBe(pending.out.replaceAll('pending', 'applied'))
    const again = await perdure(['migrate', ...at])
    expect(again.out).toMatch(/is up to date \(\d+\)$/)
    const { exit, lines } = await perdure(['migrate', '--check', '--json', ...at])
    expect(exit).toBe(0)
    expect(lines).toMatchObject([{ schema, pending: [] }])
  })

  test('prints SQL that brings a schema to this version, and may be run twice', async () => {
    const { client, schema, at } = await place()
    const { out, exit } = await perdure(['migrate', '--dump-sql', '--schema', schema])
    expect(exit).toBe(0)
    expect(out).toMatch(/^begin;\n.*\ncommit;$/s)
    expect(out).not.toContain('@schema@')
    await client.query(out)
    await client.query(out)
    expect(await perdure(['migrate', '--check', ...at])).toMatchObject({ exit: 0 })
    await (await createEngine({ database: urlOf(database), schema })).close()
  })

  test('a database that cannot be reached is exit 2', async () => {
    const { exit, err } = await perdure(['migrate', '--database', 'postgres://127.0.0.1:1/none'])
    expect(exit).toBe(2)
    expect(err).toContain('[DATABASE_UNAVAILABLE]')
  })
})

test('brings an embedded database to this version as well', async () => {
  const cwd = newFolder()
  expect(await perdure(['migrate', '--check'], { cwd })).toMatchObject({ exit: 2 })
  expect((await perdure(['migrate'], { cwd })).out).toContain('0001_tables  applied')
  expect(await perdure(['migrate', '--check'], { cwd })).toMatchObject({ exit: 0 })
})

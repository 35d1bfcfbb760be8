// Brings a schema to the version of this code. Several migrators at once are fine: the first has the lock, the
// others find its work done.

import { PerdureError } from '../model/errors.js'
import { SCHEMA_NAME } from '../model/ids.js'
import type { Driver } from './driver.js'
import { MIGRATIONS } from './sql.generated.js'
import { sqlOf } from './sql.js'
import { numberOf, onlyRow } from './wire.js'

/** Applies what is missing; refuses a database that is ahead of this code. */
export async function migrate(driver: Driver, schema: string): Promise<void> {
  checkSchemaName(schema)
  if ((await appliedNumber(driver, schema)) === newest()) return
  await driver.script(migrationSql(schema))
  await appliedNumber(driver, schema)
}

export interface Migration {
  readonly number: number
  readonly name: string
  readonly breaking: boolean
}

/** What `migrate` would apply. `applied`: the last one that the database has; 0: none. Throws DATABASE_NEWER. */
export async function pendingMigrations(
  driver: Driver,
  schema: string,
): Promise<{ readonly applied: number; readonly pending: readonly Migration[] }> {
  checkSchemaName(schema)
  const applied = await appliedNumber(driver, schema)
  const pending = MIGRATIONS.filter(({ number }) => number > applied)
  return {
    applied,
    pending: pending.map(({ number, name, breaking }) => ({ number, name, breaking })),
  }
}

/** The highest migration of the database; 0 for an empty one. Throws DATABASE_NEWER. */
async function appliedNumber(driver: Driver, schema: string): Promise<number> {
  const sql = sqlOf(schema)
  const server = onlyRow(await driver.query('read', sql.server, [schema]))
  if (server.migrated !== true) return 0
  const number = numberOf(onlyRow(await driver.query('read', sql.migrated, [])), 'number')
  if (number > newest()) throw databaseNewer(driver, schema, number)
  return number
}

/** All of it as one text that may be run again and again: what `migrate` runs, and what people may read first. */
export function migrationSql(schema: string): string {
  checkSchemaName(schema)
  const steps = MIGRATIONS.map(({ number, name, breaking, sql }) => {
    const tag = `$perdure_${String(number).padStart(4, '0')}$`
    return [
      `  if not exists (select 1 from ${schema}.migrations where number = ${number}) then`,
      `    execute ${tag}`,
      sql.replaceAll('@schema@', schema),
      `${tag};`,
      `    insert into ${schema}.migrations (number, name, breaking) values (${number}, '${name}', ${breaking});`,
      '  end if;',
    ].join('\n')
  })
  return [
    `select pg_advisory_xact_lock(hashtextextended('perdure migrations of ${schema}', 0));`,
    'do $perdure$',
    'begin',
    // `create schema if not exists` needs the right to create one even where it exists.
    `  if to_regnamespace('${schema}') is null then`,
    `    create schema ${schema};`,
    '  end if;',
    `  create table if not exists ${schema}.migrations (`,
    '    number int primary key, name text not null, breaking boolean not null, applied_at timestamptz not null default now());',
    ...steps,
    'end $perdure$;',
    '',
  ].join('\n')
}

export function checkSchemaName(schema: string): void {
  const isOfServer = schema.startsWith('pg_') || schema === 'information_schema'
  if (SCHEMA_NAME.test(schema) && !isOfServer) return
  throw new PerdureError('SCHEMA_NAME_INVALID', `${JSON.stringify(schema)} cannot be a schema.`, {
    hint: 'use a small letter or _, then up to 47 of small letters, digits and _; not beginning with pg_',
  })
}

function newest(): number {
  return Math.max(0, ...MIGRATIONS.map(({ number }) => number))
}

function databaseNewer(driver: Driver, schema: string, number: number): PerdureError {
  return new PerdureError(
    'DATABASE_NEWER',
    `The schema "${schema}" of ${driver.description} has migration ${number}; this version knows ${newest()}.`,
    { hint: 'deploy the newer version of perdure, or use another schema' },
  )
}

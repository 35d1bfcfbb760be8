// The tables of a database, brought to this version.

import { migrate, migrationSql, pendingMigrations } from '../store/migrate.js'
import { type Place, withDatabase } from './open.js'

export interface Migrations {
  /** For people: where the data is. */
  readonly database: string
  readonly schema: string
  /** The last one that it had, and those that this version has beyond it, as 0007_schedules. */
  readonly applied: number
  readonly pending: readonly string[]
}

/** Applies what is pending; `isChecking`: only says what it is. */
export function migrateDatabase(place: Place, isChecking: boolean): Promise<Migrations> {
  return withDatabase(
    place,
    async ({ driver, schema }) => {
      const { applied, pending } = await pendingMigrations(driver, schema)
      if (!isChecking) await migrate(driver, schema)
      const names = pending.map(({ number, name }) => `${String(number).padStart(4, '0')}_${name}`)
      return { database: driver.description, schema, applied, pending: names }
    },
    !isChecking,
  )
}

/** All of it for psql: in one transaction, and nothing where it was applied before. */
export const migrationScript = (schema: string): string =>
  `begin;\n${migrationSql(schema)}\ncommit;`

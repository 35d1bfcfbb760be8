// perdure migrate: the tables of a database, brought to this version.

import { EXIT } from '../exit.js'
import { placeOf } from '../place.js'
import type { AddCommand } from '../program.js'

interface Options {
  readonly dumpSql?: boolean
  readonly check?: boolean
}

export const addMigrate: AddCommand = ({ io, root, act }) => {
  const command = root
    .command('migrate')
    .description('bring the tables of the database to this version')
    .option('--check', 'write nothing; exit 1 if something is pending')
    .option('--dump-sql', 'print the SQL, for psql; it may be run again and again')
  act<Options>(command, async (_, options) => {
    const { migrateDatabase, migrationScript } = await import('../../tools/migrations.js')
    if (options.dumpSql) {
      io.out(migrationScript(options.schema ?? 'perdure'))
      return EXIT.done
    }
    const isChecking = options.check === true
    const done = await migrateDatabase(placeOf(io, options), isChecking)
    const { pending, applied, database, schema } = done
    if (options.json)
      io.out(
        JSON.stringify({
          database,
          schema,
          applied,
          [isChecking ? 'pending' : 'migrated']: pending,
        }),
      )
    else {
      for (const name of pending) io.out(`${name}  ${isChecking ? 'pending' : 'applied'}`)
      if (pending.length === 0) io.out(`${schema} in ${database} is up to date (${applied})`)
      if (isChecking && pending.length > 0)
        io.err('  next: perdure migrate, or take the SQL: perdure migrate --dump-sql')
    }
    return isChecking && pending.length > 0 ? EXIT.failed : EXIT.done
  })
}

// PGlite as the programs of the documentation get it in tests: a database in memory that was closed is emptied and given to
// the next program, because making one takes three seconds of a core. One in a directory is the real thing.

import { PGlite as Real } from '../../node_modules/@electric-sql/pglite/dist/index.js'

interface Options {
  readonly dataDir?: string
}

/** Everything but what an engine finds there anyway: the schema that it would make, without rows. */
const EMPTY = `
do $$
declare s name; tables text;
begin
  for s in select nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema' loop
    if s <> 'perdure' then
      execute format('drop schema %I cascade', s);
    else
      select string_agg(format('%I.%I', schemaname, tablename), ', ') into tables
        from pg_tables where schemaname = s and tablename <> 'migrations';
      execute 'truncate ' || tables || ' restart identity cascade';
    end if;
  end loop;
  create schema public;
end $$;`

const free: Real[] = []

export class PGlite extends Real {
  static override async create(options?: unknown): Promise<never> {
    const { dataDir } = (options ?? {}) as Options
    const db = (!dataDir && free.pop()) || (await Real.create(options as never))
    if (!dataDir) keep(db)
    return db as never
  }
}

/** A database that cannot be emptied is closed. */
function keep(db: Real): void {
  const close = Real.prototype.close.bind(db)
  db.close = async () => {
    try {
      if (db.isInTransaction()) await db.exec('rollback')
      await db.exec(EMPTY)
      await db.exec('discard all')
      free.push(db)
    } catch {
      await close()
    }
  }
}

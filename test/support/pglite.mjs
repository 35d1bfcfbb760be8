// PGlite as programs that tests run one after the other get it: a database in memory that was closed is emptied and given to
// the next program, because making one takes three seconds of a core. One in a directory is the real thing.

import { PGlite as Real } from '../../node_modules/@electric-sql/pglite/dist/index.js'

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

const create = Real.create.bind(Real)
const free = []

export class PGlite extends Real {
  static async create(options = {}) {
    if (options.dataDir) return create(options)
    const db = free.pop() ?? (await create(options))
    db.close = () => giveBack(db)
    return db
  }
}

/** A database that cannot be emptied is closed. */
async function giveBack(db) {
  try {
    if (db.isInTransaction()) await db.exec('rollback')
    await db.exec(EMPTY)
    await db.exec('discard all')
    free.push(db)
  } catch {
    await Real.prototype.close.call(db)
  }
}

/** For a process whose modules nobody redirects. Making a database makes another one on the way, which is none of ours. */
export function installPool() {
  let making = 0
  Real.create = async (options) => {
    if (making > 0) return create(options)
    making += 1
    try {
      return await PGlite.create(options)
    } finally {
      making -= 1
    }
  }
}

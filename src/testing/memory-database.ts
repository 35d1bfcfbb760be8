// A database for a life that lasts milliseconds: runs are kept in the store in memory, which the contract suite holds
// to what the SQL store does. Only what user code says in SQL needs a real database, which is opened when it is asked
// for the first time.

import type { CallersTransaction, StepTransaction, ToolStore } from '../kernel/store.js'
import type { DriverTransaction } from '../store/driver.js'
import { asStoreError } from '../store/errors.js'
import { MemoryStore } from '../store/memory.js'
import { asDriverError, invalidTransaction } from '../store/step-transaction.js'
import { type Owner, openUserTables, type TestDatabase, type UserTables } from './database.js'

type Begin = (limitMs: number) => Promise<DriverTransaction>

export async function openMemoryDatabase(nowMs: number): Promise<TestDatabase> {
  let now = nowMs
  let tables: Promise<UserTables> | null = null
  const memory = new MemoryStore({ now: () => now })
  const begin = async (owner: Owner, limitMs: number): Promise<DriverTransaction> => {
    tables ??= openUserTables()
    return (await tables).begin(owner, limitMs)
  }
  return {
    openStore: async (owner) => {
      // Whoever was there before is dead.
      memory.workers.clear()
      return withSql(memory, (limitMs) => begin(owner, limitMs))
    },
    setNow: async (ms) => {
      now = ms
    },
    close: async () => {
      const opened = tables
      tables = null
      await (await opened)?.close()
    },
  }
}

function withSql(memory: MemoryStore, begin: Begin): ToolStore {
  const own: Partial<ToolStore> = {
    open: async (by, limitMs) =>
      stepTransaction(await memory.open(by, limitMs), await begin(limitMs)),
    begin: async (limitMs) => callersTransaction(await memory.begin(limitMs), await begin(limitMs)),
    close: async () => {},
  }
  return new Proxy(memory, {
    get: (target, key) => {
      const value: unknown = Reflect.get(key in own ? own : target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** One after the other, and nobody looks in between: a crash falls before both or behind both. */
function stepTransaction(run: StepTransaction, sql: DriverTransaction): StepTransaction {
  return {
    query: (text, params) => sql.query(text, params),
    rollback: () => sql.rollback(),
    inside: (work) => sql.inside?.(work) ?? work(),
    close: async (delta, options) => {
      try {
        await checked(sql)
      } catch (error) {
        await sql.rollback()
        const driverError = asDriverError(error)
        throw invalidTransaction(driverError) ?? asStoreError(driverError)
      }
      const committed = await run.close(delta, options)
      await (committed.answers[0]?.kind === 'done' ? sql.commit() : sql.rollback())
      return committed
    },
  }
}

/** The store knows a caller's transaction by the object that it gave. */
function callersTransaction(runs: CallersTransaction, sql: DriverTransaction): CallersTransaction {
  const { commit, rollback } = runs
  const own: CallersTransaction = {
    query: (text, params) => sql.query(text, params),
    inside: (work) => sql.inside?.(work) ?? work(),
    commit: async () => {
      await checked(sql)
      await commit()
      await sql.commit()
    },
    rollback: async () => {
      await rollback()
      await sql.rollback()
    },
  }
  return Object.assign(runs, own)
}

/** What the database would refuse at the commit is refused now: in memory nothing can be taken back. */
async function checked(sql: DriverTransaction): Promise<void> {
  await sql.query('set constraints all immediate')
}

// Where golden journals are written and read again: the tables of a store, which can be taken out and put in, and an
// engine on them with a clock that is moved by hand.

import { composeEngine } from '../../src/compose-engine.js'
import { readEngineOptions } from '../../src/engine/options.js'
import type { Engine } from '../../src/index.js'
import type { Execution } from '../../src/kernel/attempt.js'
import type { ToolStore } from '../../src/kernel/store.js'
import { NO_HINTS } from '../../src/live-hints.js'
import { generatorOf } from '../../src/model/random.js'
import type { Driver } from '../../src/store/driver.js'
import { type MemoryRun, openMemoryStore } from '../../src/store/memory.js'
import { openSqlStore } from '../../src/store/sql-store.js'
import { Lives } from '../../src/testing/lives.js'
import { advance, type Settling, settle } from '../../src/testing/settle.js'
import { TestClock } from '../../src/testing/test-clock.js'
import type { Program } from './programs.js'
import { eachTable, metaOf, type Row, TABLES, type Tables } from './rows.js'

export interface Shelf {
  /** As a process opens it that has just started: whoever was there before is dead. */
  open(): Promise<ToolStore>
  setNow(ms: number): Promise<void>
  put(tables: Tables): Promise<void>
  take(): Promise<Tables>
  empty(): Promise<void>
}

// ── in SQL ──────────────────────────────────────────────────────────────────────────────────────────────────

/** A schema of its own, with a clock that reads a table. */
export async function sqlShelf(driver: Driver, schema: string): Promise<Shelf> {
  const own: Driver = { ...view(driver), close: async () => {} }
  await (await openSqlStore({ driver: own, schema })).close()
  await driver.script(`
    create table ${schema}.golden_clock (ms float8 not null);
    insert into ${schema}.golden_clock values (0);
    create or replace function ${schema}.clock_v1() returns timestamptz language sql volatile as
      $f$ select ${schema}.instant_v1(ms) from ${schema}.golden_clock $f$;`)
  const every = ['letters', 'feed', 'workers', ...TABLES]
  return {
    open: () => openSqlStore({ driver: own, schema, migrate: false, alone: true }),
    setNow: async (ms) => {
      await driver.query('commit', `update ${schema}.golden_clock set ms = $1::float8`, [ms])
    },
    put: async (tables) => {
      for (const table of TABLES) await insert(driver, `${schema}.${table}`, tables[table])
    },
    take: async () => {
      // One statement: one moment.
      const columns = TABLES.map(
        (table) =>
          `(select coalesce(json_agg(t), '[]') from (select * from ${schema}.${table} order by 1, 2) t)::text as ${table}`,
      )
      const [row] = await driver.query('read', `select ${columns.join(', ')}`, [])
      return eachTable((table) => JSON.parse(String(row?.[table])) as Row[])
    },
    empty: () => driver.script(every.map((table) => `delete from ${schema}.${table};`).join('\n')),
  }
}

/** By the columns of the file: those that are younger than it get their defaults. */
async function insert(driver: Driver, table: string, rows: readonly Row[]): Promise<void> {
  const [first] = rows
  if (!first) return
  const columns = Object.keys(first).join(', ')
  await driver.query(
    'commit',
    `insert into ${table} (${columns}) select ${columns} from json_populate_recordset(null::${table}, $1::json)`,
    [JSON.stringify(rows)],
  )
}

function view(driver: Driver): Driver {
  return {
    kind: driver.kind,
    description: driver.description,
    query: (lane, sql, params) => driver.query(lane, sql, params),
    script: (sql) => driver.script(sql),
    begin: (limitMs) => driver.begin(limitMs),
    notify: () => {},
    listen: async () => async () => {},
    close: () => driver.close(),
  }
}

// ── in memory ───────────────────────────────────────────────────────────────────────────────────────────────

export function memoryShelf(): Shelf {
  let nowMs = 0
  const store = openMemoryStore({ now: () => nowMs })
  return {
    open: async () => {
      store.workers.clear()
      return store
    },
    setNow: async (ms) => {
      nowMs = ms
    },
    put: async (tables) => {
      for (const row of tables.runs) {
        const run = memoryRun(row, tables)
        store.keep(run)
        store.byId.set(`${run.run.workspace}\u001f${run.run.id}`, run.uid)
      }
    },
    take: async () => tablesOf([...store.runs.values()]),
    empty: async () => {
      store.runs.clear()
      store.byId.clear()
    },
  }
}

const msOf = (at: unknown): number | null => (at === null ? null : Date.parse(String(at)))
const textOf = (ms: number | null): string | null =>
  ms === null ? null : new Date(ms).toISOString()

function memoryRun(row: Row, tables: Tables): MemoryRun {
  const own = ({ uid }: Row): boolean => uid === row.uid
  const withMeta = (one: Row) => ({
    ...one,
    at: msOf(one.at),
    meta: one.meta === null ? null : metaOf(one),
  })
  const journal = tables.journal.filter(own).map(withMeta)
  const messages = tables.messages
    .filter(own)
    .map((one) => ({ ...withMeta(one), takenSeq: one.taken_seq, replySeq: one.reply_seq ?? null }))
  const parent = row.parent_uid === null ? null : { uid: row.parent_uid, id: row.parent_id }
  const created = tables.journal.find((entry) => own(entry) && entry.seq === 1)
  return {
    ...row,
    run: {
      ...{ uid: row.uid, id: row.id, workspace: row.workspace, definition: row.def },
      ...{
        version: row.version,
        input: created?.payload,
        order: created ? (metaOf(created).order ?? null) : null,
      },
      ...{
        tags: JSON.parse(String(row.tags)),
        priority: row.priority,
        parent,
        delayMs: 0,
        timeoutMs: null,
      },
    },
    undoOpen: row.undo_open,
    state: tables.states.find(own)?.state ?? null,
    place: tables.states.find(own)?.place ?? null,
    error: tables.states.find(own)?.error ?? null,
    documents: tables.documents
      .filter(own)
      .toSorted((a, b) => Number(a.position_seq) - Number(b.position_seq))
      .map((one) => ({ ...one, isHidden: one.hidden, untilSeq: one.until_seq })),
    divergedBuilds: row.diverged_builds ?? [],
    dueAt: msOf(row.due_at),
    slot: null,
    asksAt: null,
    createdAt: msOf(row.created_at),
    updatedAt: msOf(row.updated_at),
    startedAt: msOf(row.started_at),
    finishedAt: msOf(row.finished_at),
    deadlineAt: msOf(row.deadline_at),
    journal,
    messages,
  } as unknown as MemoryRun
}

function tablesOf(runs: readonly MemoryRun[]): Tables {
  const text = (meta: object | null) => (meta === null ? null : JSON.stringify(meta))
  return {
    runs: runs.map(({ uid, run, status, createdAt }) => ({
      ...{ uid, id: run.id, def: run.definition, status, created_at: textOf(createdAt) },
      parent_uid: run.parent?.uid ?? null,
    })),
    journal: runs.flatMap(({ uid, journal }) =>
      journal.map((entry) => ({ ...entry, uid, at: textOf(entry.at), meta: text(entry.meta) })),
    ),
    messages: [],
    states: runs.flatMap(({ uid, state }) => (state === null ? [] : [{ uid, state }])),
    documents: runs.flatMap(({ uid, documents }) =>
      documents.map((one, no) => {
        const { seq, untilSeq: until_seq, isHidden: hidden } = one
        return { ...one, uid, seq, no, until_seq, hidden, position_seq: no, position_no: 0 }
      }),
    ),
  }
}

// ── the engine ──────────────────────────────────────────────────────────────────────────────────────────────

export interface Stage {
  readonly engine: Engine
  /** Steps whose code was called, in order. */
  readonly executed: readonly Execution[]
  readonly nowMs: number
  advanceTo(ms: number): Promise<void>
  settle(): Promise<void>
  /** As kill -9: the next process takes over. */
  crash(): Promise<void>
  close(): Promise<void>
}

interface StageOptions {
  readonly nowMs: number
  /** Ids are made of it: who goes on with recorded runs has another than who recorded them, or makes the same ones. */
  readonly seed: string
  readonly committed?: () => Promise<void>
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} }

export async function openStage(
  shelf: Shelf,
  { definitions, errors }: Pick<Program, 'definitions' | 'errors'>,
  { nowMs, seed, committed = async () => {} }: StageOptions,
): Promise<Stage> {
  // A stack would tell where this repository is.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  const clock = new TestClock(nowMs)
  const executed: Execution[] = []
  const generator = generatorOf(seed)
  const byte = (): number => Math.floor(generator.fraction() * 256)
  let lives: Lives | null = null
  await shelf.setNow(nowMs)
  const options = {
    database: 'memory:',
    workflows: definitions,
    errors,
    log: quiet,
    build: 'golden',
  }
  const engine = await composeEngine(readEngineOptions(options, {}), {
    opened: { store: await shelf.open(), hints: NO_HINTS },
    createKernel: async (given) => {
      lives = new Lives(
        {
          clock,
          log: quiet,
          random: {
            bytes: (count) => Uint8Array.from({ length: count }, byte),
            fraction: () => generator.fraction(),
          },
          watcher: {
            saw: () => {},
            commit: async (_life, { work }) => {
              const answer = await work()
              await committed()
              return answer
            },
          },
          execute: (life) => async (execution) => {
            life.running.add(execution)
            executed.push(execution)
            try {
              return await execution.order.execute(execution.attempt)
            } finally {
              life.running.delete(execution)
              life.slow.delete(execution)
              life.moves += 1
            }
          },
          isAskedTwice: () => false,
          openStore: () => shelf.open(),
          closed: async () => {},
        },
        given,
      )
      await lives.begun()
      return lives
    },
  })
  const settling = (): Settling => {
    if (lives === null) throw new Error('the stage is not there yet')
    return {
      lives,
      clock,
      patienceMs: 20,
      setNow: (ms) => shelf.setNow(ms),
      lastStepOf: () => null,
    }
  }
  return {
    engine,
    executed,
    get nowMs() {
      return clock.nowMs
    },
    advanceTo: (ms) => advance(settling(), Math.max(0, ms - clock.nowMs)),
    settle: () => settle(settling()),
    crash: () => settling().lives.crash(),
    close: async () => {
      await engine.close()
      Error.stackTraceLimit = stackTraceLimit
    },
  }
}

// A run of ten thousand steps: its last step costs what its first did.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { composeEngine } from '../../src/compose-engine.js'
import { readEngineOptions } from '../../src/engine/options.js'
import { type Engine, workflow } from '../../src/index.js'
import { newCounters } from '../../src/kernel/counters.js'
import { openHints } from '../../src/live-hints.js'
import type { Driver } from '../../src/store/driver.js'
import { openPgDriver } from '../../src/store/driver-pg/driver.js'
import { openSqlStore } from '../../src/store/sql-store.js'
import { isFast } from '../support/databases.js'
import { hasBinaries, type Postgres, startPostgres } from '../support/servers.mjs'

const STEPS = 10_000
const WINDOW = 100
/** The first step of each window: some early, some late. */
const EARLY = [10, 110, 210, 310]
const LATE = [9_500, 9_600, 9_700, 9_800]

interface Cost {
  readonly walBytes: number
  readonly statements: number
  readonly rows: number
}

// WAL is counted per server, so the run has one of its own. One version is enough: it takes half a minute.
describe('a long history on postgres18', () => {
  const version = 18
  const isPossible = !isFast() && hasBinaries(version)
  let server: Postgres | null = null
  let engine: Engine | null = null
  let driver: Driver | null = null
  let statements = 0

  const long = workflow('long', async (wf) => {
    for (let i = 1; i <= STEPS; i += 1) await wf.do('step', () => marks(i))
    return 'done'
  })
  const marked = new Map<number, { lsn: string; statements: number; rows: number }>()
  const wanted = new Set([...EARLY, ...LATE].flatMap((first) => [first, first + WINDOW]))
  const marks = async (i: number): Promise<number> => {
    if (!wanted.has(i)) return i
    const [row] =
      (await driver?.query(
        'read',
        `select pg_current_wal_insert_lsn()::text as lsn, (select max(seq) from perdure.journal) as rows`,
        [],
      )) ?? []
    marked.set(i, { lsn: String(row?.lsn), rows: Number(row?.rows), statements })
    return i
  }

  beforeAll(async () => {
    if (!isPossible) return
    const settings = { autovacuum: 'off', checkpoint_timeout: '1h', max_wal_size: '4GB' }
    server = await startPostgres({ version, settings })
    driver = await openPgDriver({ target: server.url })
    const bare = await openPgDriver({ target: server.url })
    const counting: Driver = {
      ...bare,
      query: (lane, sql, params) => {
        if (lane === 'commit') statements += 1
        return bare.query(lane, sql, params)
      },
    }
    const options = { database: server.url, workflows: [long], schema: 'perdure' }
    const store = await openSqlStore({ driver: counting, schema: 'perdure' })
    const silent = () => {}
    const log = { debug: silent, info: silent, warn: silent, error: silent }
    engine = await composeEngine(readEngineOptions({ ...options, log }, {}), {
      opened: { store, hints: await openHints(counting, 'perdure', log) },
      // Beats and claims write too: as few as can be.
      kernel: { counters: newCounters(), pollMs: 60_000, leaseMs: 600_000 },
    })
    await (await engine.start(long as never, undefined, { id: 'long' })).result()
  }, 120_000)
  afterAll(async () => {
    await engine?.close()
    await driver?.close()
    await server?.stop()
  })

  const cost = async (first: number): Promise<Cost> => {
    const [from, to] = [marked.get(first), marked.get(first + WINDOW)]
    if (!from || !to) throw new Error(`no marks at ${first}`)
    const sql = 'select pg_wal_lsn_diff($1::pg_lsn, $2::pg_lsn)::float8 as bytes'
    const [row] = (await driver?.query('read', sql, [to.lsn, from.lsn])) ?? []
    return {
      walBytes: Number(row?.bytes),
      statements: to.statements - from.statements,
      rows: to.rows - from.rows,
    }
  }
  /** A page that is written whole for the first time after a checkpoint is no cost of the step. */
  const cheapest = async (windows: readonly number[]): Promise<Cost> => {
    const costs = await Promise.all(windows.map(cost))
    const least = (of: keyof Cost) => Math.min(...costs.map((one) => one[of]))
    return { walBytes: least('walBytes'), statements: least('statements'), rows: least('rows') }
  }

  test.skipIf(!isPossible)(
    '[X13] storing step 9,900 costs the rows, statements and WAL bytes of step 10, within 20 %',
    async () => {
      const [early, late] = [await cheapest(EARLY), await cheapest(LATE)]
      expect(early.rows).toBe(WINDOW)
      expect(late.rows).toBe(WINDOW)
      for (const of of ['walBytes', 'statements'] as const) {
        expect(late[of] / early[of], `${of}: ${early[of]} early, ${late[of]} late`).toBeGreaterThan(
          0.8,
        )
        expect(late[of] / early[of], `${of}: ${early[of]} early, ${late[of]} late`).toBeLessThan(
          1.2,
        )
      }
    },
  )

  test.skipIf(!isPossible)(
    '[X13] a history of 10,000 steps is read page by page, in order, both ways',
    async () => {
      for (const order of ['oldest', 'newest'] as const) {
        const seqs: number[] = []
        let after: string | undefined
        let pages = 0
        do {
          const page = await engine?.history('long', { limit: 1_000, order, after })
          pages += 1
          for (const entry of page?.items ?? []) {
            seqs.push(entry.seq)
            if (entry.kind === 'step.completed') expect(entry.output).toBe(entry.seq - 1)
          }
          after = page?.next ?? undefined
        } while (after !== undefined)
        const expected = Array.from({ length: STEPS + 2 }, (_, i) => i + 1)
        expect(seqs).toEqual(order === 'oldest' ? expected : expected.reverse())
        expect(pages).toBe(11)
      }
    },
  )
})

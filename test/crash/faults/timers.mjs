// A hundred thousand timers that are due in the same millisecond, and two workers that have just been started.

import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createEngine } from '../../../dist/index.js'
import { makeFaultWorkloads } from '../workloads-faults.mjs'
import { Outcome } from './ground.mjs'
import { crew, dismissed, until } from './load.mjs'

const BATCH = 100_000
const HOUR = 3_600_000
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

export const timers = {
  id: 'f26',
  title: 'Very many timers are due in the same millisecond',
  ...{ unit: 'timers', count: 3 * BATCH, short: 500, seconds: 400 },
  checked:
    'of 100,000 at once every timer fires once, none early; every run completes; the memory of the workers stays bounded',
  async run(ground, count) {
    const outcome = new Outcome(ground.onProgress)
    while (ground.goesOn(outcome, count)) {
      const size = Math.min(BATCH, count - outcome.done)
      await ground.inWorld({ leaseMs: 30_000 }, (world) => oneBatch(ground, world, size, outcome))
    }
    outcome.percentiles('a read meanwhile', 500)
    outcome.percentiles('lateness')
    return outcome
  },
}

async function oneBatch(ground, world, size, outcome) {
  const { definitions } = makeFaultWorkloads({})
  const alarm = definitions.find(({ name }) => name === 'alarm')
  const options = { database: ground.url, schema: world.name, workflows: [alarm], log: quiet }
  const engine = await createEngine({ ...options, worker: { concurrency: 500 } })
  let reader = null
  let crewed = []
  try {
    const at = Date.now() + HOUR
    for (let from = 0; from < size; from += 5_000) {
      const length = Math.min(5_000, size - from)
      await engine.startMany(
        alarm,
        Array.from({ length }, () => ({ input: { at } })),
      )
      if (ground.isOver && outcome.done > 0) break
    }
    const count = async (fits) => {
      const rows = await world.query(
        `select count(*)::int as count from @schema@.runs where def = 'alarm' and ${fits}`,
      )
      return rows[0].count
    }
    // In memory it keeps ten thousand of them: without it every one has to be read again.
    if (!(await until(async () => (await count("status <> 'waiting'")) === 0, 300_000, 200)))
      outcome.broken.push('not all runs have come to their timers')
    await engine.close()
    reader = await createEngine({ ...options, worker: false })
    const ids = (await world.query('select id from @schema@.runs order by random() limit 100')).map(
      ({ id }) => id,
    )
    // For these the clock of the database is where the timers are due.
    const later = new URL(ground.url)
    later.searchParams.set('options', `-c perdure.clock_offset_ms=${HOUR + 60_000}`)
    crewed = await crew(world, 2, {
      ...{ database: later.href, concurrency: 100, pollMs: 1_000, listen: false },
    })
    const memory = crewed.map(({ pid }) => residentMb(pid))
    const total = await count('true')
    const isDone = until(async () => (await count('finished_at is null')) === 0, 600_000, 250)
    let isOver = false
    void isDone.then(() => {
      isOver = true
    })
    while (!isOver) {
      const from = performance.now()
      await reader.get(ground.pick(ids))
      outcome.sample('a read meanwhile', performance.now() - from)
      for (const [i, { pid }] of crewed.entries())
        outcome.atMost('memory that a worker gained', residentMb(pid) - memory[i], 150, 'MB')
      await sleep(100)
    }
    if (!(await isDone)) outcome.broken.push('not all timers have fired within ten minutes')
    await dismissed(crewed, outcome)
    outcome.broken.push(...(await checkTimers((sql) => world.query(sql), 'alarm')))
    outcome.sample('lateness', await lateness(world))
    outcome.runs += total
    outcome.did(total)
  } finally {
    for (const victim of crewed) victim.signal('SIGKILL')
    await engine.close()
    await reader?.close()
  }
}

/** In the database, because there are many. `@schema@` stands for the schema. */
export async function checkTimers(query, def) {
  const bad = await query(`
    select r.id, r.status,
        count(j.seq) filter (where j.kind = 'timer.fired')::int as fired,
        count(j.seq) filter (where j.kind like 'run.%' and j.kind <> 'run.created')::int as ends,
        count(j.seq) filter (where j.kind = 'timer.fired'
          and (extract(epoch from j.at) * 1000)::float8 < (j.meta::json ->> 'dueAt')::float8)::int as early
      from @schema@.runs r left join @schema@.journal j using (uid) where r.def = '${def}' group by r.uid, r.id, r.status
      having r.status <> 'completed' or count(j.seq) filter (where j.kind = 'timer.fired') <> 1
        or count(j.seq) filter (where j.kind like 'run.%' and j.kind <> 'run.created') <> 1
        or bool_or(j.kind = 'timer.fired'
          and (extract(epoch from j.at) * 1000)::float8 < (j.meta::json ->> 'dueAt')::float8)
      limit 20`)
  return bad.map(
    ({ id, status, fired, ends, early }) =>
      `${id}: ${status}, its timer fired ${fired} times (${early} early), ${ends} ends`,
  )
}

/** Behind the first one: the workers were started when all were due already. */
async function lateness(world) {
  const rows = await world.query(
    `select (extract(epoch from at - min(at) over ()) * 1000)::float8 as ms from @schema@.journal where kind = 'timer.fired'`,
  )
  return rows.map(({ ms }) => ms)
}

function residentMb(pid) {
  try {
    const [, kb] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [0, 0]
    return Math.round(Number(kb) / 1024)
  } catch {
    return 0
  }
}

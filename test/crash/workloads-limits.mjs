// Workloads that the engine holds back or starts by itself: runs one at a time of each key, runs of a rate, times, and events.

import { setTimeout as sleep } from 'node:timers/promises'
import { task, workflow } from '../../dist/index.js'
import { alsoEnded, shows } from './workloads-scopes.mjs'

const KEYS = 2
const SAME_KEY = [1, 2, 3]
export const PACE = { runs: 2, perMs: 1_000, started: 4 }
const SLOTS_MIN = 2
const LOOK_EVERY_MS = 150

/** Those that have come in and have not left, but for itself. */
const INSIDE = `select run from effects e where step = 'enter' and key = $1 and run <> $2
  and not exists (select 1 from effects l where l.run = e.run and l.step = 'leave')`
const INSERT = 'insert into effects (run, step, key) values ($1, $2, $3)'

/** @param {{ does: Function, ledger: object, begin: Function, say: Function, world: string }} tools */
export function makeLimitWorkloads({ does, ledger, begin, say, world }) {
  /** Says whom it has met. */
  const keyed = workflow(
    'keyed',
    { limits: { perKey: { key: 'k', concurrency: 1 } } },
    async (wf, { k }) => {
      const room = `${world} ${k}`
      await wf.transaction('enter', async (tx, step) => {
        await ledger.begun(step, 'enter')
        const { rows } = await tx.query(INSIDE, [room, step.run.id])
        await tx.query(INSERT, [step.run.id, 'enter', room])
        return rows.map(({ run }) => run)
      })
      await wf.do('work', does('work', 1))
      await wf.transaction('leave', async (tx, step) => {
        await ledger.begun(step, 'leave')
        await tx.query(INSERT, [step.run.id, 'leave', room])
      })
      return 'done'
    },
  )

  const rate = { runs: PACE.runs, per: PACE.perMs }
  const paced = task('paced', { limits: { perKey: { key: 'k', rate } } }, async (_, step) => {
    await ledger.begun(step, 'run')
    return 'done'
  })

  const ticked = task('ticked', async (_, step) => {
    await ledger.begun(step, 'run')
    return 'done'
  })

  const greeted = task(
    'greeted',
    { triggers: [{ type: 'event', event: 'announced' }] },
    async (_, step) => {
      await ledger.begun(step, 'run')
      return 'done'
    },
  )
  const announcer = workflow('announcer', async (wf) => {
    await wf.do('before', does('before', 1))
    wf.emit('announced', { by: wf.run.id })
    return wf.do('after', does('after', 2))
  })

  // ── from outside ──────────────────────────────────────────────────────────────────────────────────────────

  /** The first one under the id, the others with a number behind it. */
  const several = async (engine, definition, id, { k, count }) => {
    const handles = []
    for (let n = 1; n <= count; n += 1) {
      const own = n === 1 ? id : `${id}-${n}`
      handles.push(await engine.start(definition, { k }, { id: own }))
      say({ acked: own })
    }
    const [first, ...others] = handles
    return alsoEnded(first, async () => {
      for (const other of others) await shows(engine, other.id, () => false)
    })
  }
  const all = async (engine, filter) => {
    const items = []
    for await (const run of engine.list(filter)) items.push(run)
    return items
  }
  /** Until the schedule has had so many runs, and all of them have ended. */
  const ticks = async (engine, schedule) => {
    for (;;) {
      const runs = await all(engine, { tags: { schedule } })
      if (runs.length >= SLOTS_MIN && runs.every(({ finishedAt }) => finishedAt)) return
      await sleep(LOOK_EVERY_MS)
    }
  }
  const OPEN = { workflow: greeted, status: ['pending', 'running', 'waiting'] }

  const kinds = {
    keyed: {
      drive: (engine, id) => {
        const k = Number(id.split('-').at(-1)) % KEYS
        return several(engine, keyed, id, { k, count: SAME_KEY.length })
      },
    },
    paced: {
      drive: (engine, id) => several(engine, paced, id, { k: id, count: PACE.started }),
    },
    /** A schedule of that id, and no run. It is stopped when a few of its times have come. */
    ticker: {
      drive: async (engine, id) => {
        await engine.schedules.set({ id, workflow: ticked, every: '1s', missed: 'all' })
        await ticks(engine, id)
        await engine.schedules.pause(id)
        await ticks(engine, id)
        return { result: async () => {}, status: async () => 'completed' }
      },
    },
    announcer: {
      drive: async (engine, id) => {
        const handle = await begin(engine, announcer, id)
        const ids = [`${id}-1`, `${id}-2`]
        for (const event of [...ids, ...ids])
          await engine.emit('announced', { by: event }, { id: event })
        return alsoEnded(handle, async () => {
          for (const event of ids) await shows(engine, `event:${event}:greeted`, () => false)
          while ((await all(engine, OPEN)).length > 0) await sleep(LOOK_EVERY_MS)
        })
      },
    },
  }
  return { definitions: [keyed, paced, ticked, greeted, announcer], kinds }
}

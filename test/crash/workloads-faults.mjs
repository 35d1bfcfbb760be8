// What the victims of single faults execute (test/crash/faults). As in workloads.mjs every drive is safe to repeat.

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PerdureError, workflow } from '../../dist/index.js'
import { shows, unlessOver } from './workloads-scopes.mjs'

const STROLL = { steps: 40, stepMs: 15 }
/** As long as a wait of `tight` lasts; the signal comes about then. */
const TIGHT_MS = 60
const CLICKS = 4
const BLOCKED_MS_MAX = 60_000
const REFUSALS = ['ATTEMPT_CHANGED', 'RUN_NOT_RETRYABLE']

export function makeFaultWorkloads({ ledger, flags, say }) {
  /** True for the first that asks, in whatever process. */
  const isFirst = (name) => {
    try {
      writeFileSync(join(flags, name), '', { flag: 'wx' })
      return true
    } catch {
      return false
    }
  }
  const does =
    (name, value, ms = 4) =>
    async (step) => {
      await ledger.begun(step, name)
      await sleep(ms)
      return value
    }
  const writes =
    (name, text, params = []) =>
    async (tx, step) => {
      await ledger.begun(step, name)
      const values = [step.run.id, name, step.key]
      await tx.query('insert into effects (run, step, key) values ($1, $2, $3)', values)
      if (text) await tx.query(text, params)
      return name
    }

  /** Many short steps: wherever it is interrupted, the next is a moment away. */
  const stroll = workflow('stroll', async (wf) => {
    let sum = 0
    for (let i = 1; i <= STROLL.steps; i += 1)
      sum += await wf.do(`s${i}`, does(`s${i}`, i, STROLL.stepMs))
    return sum
  })

  /** Its first execution leaves the process deaf until another has taken the run over. */
  const blocker = workflow('blocker', async (wf) => {
    await wf.do('before', does('before', 1))
    await wf.do('block', async (step) => {
      await ledger.begun(step, 'block')
      if (!isFirst(`${step.run.id}-blocked`)) {
        isFirst(`${step.run.id}-taken`)
        return 'free'
      }
      const until = performance.now() + BLOCKED_MS_MAX
      while (!existsSync(join(flags, `${step.run.id}-taken`)) && performance.now() < until);
      return 'blocked'
    })
    return wf.do('after', does('after', 'over'))
  })

  /** Its first execution takes all the memory there is. */
  const hog = workflow('hog', async (wf) => {
    const paid = await wf.transaction('paid', writes('paid'))
    await wf.do('hog', async (step) => {
      await ledger.begun(step, 'hog')
      if (!isFirst(`${step.run.id}-hog`)) return 'modest'
      say({ mark: 'hogs', run: step.run.id })
      const kept = []
      for (;;) {
        kept.push(new Array(100_000).fill(step.key + kept.length))
        await sleep(0)
      }
    })
    return { paid, last: await wf.do('last', does('last', 'last')) }
  })

  /** Holds its connection for a while. */
  const crowded = workflow('crowded', async (wf) =>
    wf.transaction('slow', writes('slow', 'select pg_sleep(0.1)')),
  )

  const nested = workflow('nested', async (wf) => {
    await wf.do('x', does('x', 1))
    await wf.sleep('pause', 20)
    return wf.do('y', does('y', 2))
  })
  /** To be cancelled at any moment of it. */
  const crossed = workflow('crossed', async (wf) => {
    await wf.do('a', does('a', 1))
    await wf.transaction('paid', writes('paid'))
    await wf.do('nested', nested)
    return wf.do('b', does('b', 2))
  })

  /** Whichever comes first, the signal is heard: by the first wait, or kept for the second. */
  const tight = workflow('tight', async (wf) => {
    const inTime = await wf.waitFor('go', { timeout: TIGHT_MS, orNull: true })
    return inTime ?? (await wf.waitFor('go'))
  })

  /** Nobody drives these one by one: there are too many. */
  const alarm = workflow('alarm', async (wf, { at }) => {
    await wf.sleepUntil('till', new Date(at))
    return 'rung'
  })

  const clicked = workflow('clicked', async (wf) => {
    await wf.do('fine', does('fine', 1))
    return wf.do('broken', async (step) => {
      await ledger.begun(step, 'broken')
      if (!existsSync(join(flags, step.run.id))) throw new Error('broken still')
      return 'mended'
    })
  })
  const impatient = workflow('impatient', async (wf) =>
    wf.do(
      'third',
      async (step) => {
        await ledger.begun(step, 'third')
        if (step.attempt < 3) throw new Error(`attempt ${step.attempt}`)
        return step.attempt
      },
      { retries: 2, retryDelay: 40 },
    ),
  )

  const begin = async (engine, definition, id) => {
    const handle = await engine.start(definition, undefined, { id })
    say({ acked: id })
    return handle
  }
  /** Several clicks at once; says how many of them were taken. */
  const click = async (engine, id, options) => {
    const clicks = Array.from({ length: CLICKS }, () => engine.retry(id, options))
    const answers = await Promise.allSettled(clicks)
    for (const { reason } of answers)
      if (reason && !PerdureError.is(reason, ...REFUSALS)) throw reason
    say({ clicked: id, won: answers.filter(({ status }) => status === 'fulfilled').length })
  }
  const plain = (definition) => ({ drive: (engine, id) => begin(engine, definition, id) })
  const kinds = {
    ...{ stroll: plain(stroll), blocker: plain(blocker), hog: plain(hog), crowded: plain(crowded) },
    crossed: {
      drive: async (engine, id) => {
        const handle = await begin(engine, crossed, id)
        await sleep(Math.random() * 120)
        await unlessOver(() => engine.cancel(id, 'crossed', { id: `${id}-cancel` }))
        return handle
      },
    },
    tight: {
      drive: async (engine, id) => {
        const handle = await begin(engine, tight, id)
        await sleep(TIGHT_MS - 5 + Math.random() * 10)
        await unlessOver(() => engine.signal(id, 'go', 'heard', { id: `${id}-go` }))
        return handle
      },
    },
    clicked: {
      drive: async (engine, id) => {
        const handle = await begin(engine, clicked, id)
        const failed = await shows(engine, id, () => false)
        if (failed.status !== 'failed') return handle
        writeFileSync(join(flags, id), '')
        await click(engine, id, { expectedAttempt: failed.attempt })
        return handle
      },
    },
    impatient: {
      drive: async (engine, id) => {
        const handle = await begin(engine, impatient, id)
        await sleep(Math.random() * 100)
        await click(engine, id)
        return handle
      },
    },
  }
  const definitions = [
    ...[stroll, blocker, hog, crowded, nested, crossed, tight, clicked, impatient, alarm],
  ]
  return { definitions, kinds }
}

/** What must become of each, however it was disturbed. */
export const FAULT_NORMAL = {
  stroll: { status: 'completed', output: '820' },
  blocker: { status: 'completed', output: '"over"' },
  hog: { status: 'completed', output: '{"paid":"paid","last":"last"}' },
  crowded: { status: 'completed', output: '"slow"' },
  tight: { status: 'completed', output: '"heard"' },
  clicked: {
    ...{ status: 'completed', output: '"mended"' },
    outcomes:
      'run.reopened #0 @2; step.completed broken#1 @2; step.completed fine#1 @1; step.failed broken#1 @1',
  },
  impatient: {
    ...{ status: 'completed', output: '3' },
    outcomes: 'step.completed third#1 @3; step.failed third#1 @1; step.failed third#1 @2',
  },
}

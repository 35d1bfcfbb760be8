// What the victims execute. Every output is the same for every run of a kind, so that a run that was killed can be
// compared with one that was not.
//
// A kind: `definitions`, and `drive`, which does from outside all that the kind needs. Drive is repeated by the next
// life of a killed victim, from the start: every call of it is safe to repeat.

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PerdureError, task, workflow } from '../../dist/index.js'
import { makeGraphWorkloads } from './workloads-graphs.mjs'
import { makeLimitWorkloads } from './workloads-limits.mjs'
import { makeMachineWorkloads } from './workloads-machines.mjs'
import { makeOtherWorkloads } from './workloads-others.mjs'
import { makeScopeWorkloads, shows } from './workloads-scopes.mjs'

const STEP_MS = 4

/** @param {{ ledger: { begun(step: object, name: string): Promise<void> }, flags: string }} context */
export function makeWorkloads({ ledger, flags, say, world }) {
  const does = (name, value) => async (step) => {
    await ledger.begun(step, name)
    await sleep(STEP_MS)
    return value
  }
  const untilAborted = (name) => async (step) => {
    await ledger.begun(step, name)
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, 600_000)
      const stop = () => {
        const { code } = step.signal.reason ?? {}
        say({ aborted: step.run.id, code })
        // A lease in doubt aborts too, and what is given back then may still count.
        if (code !== 'WORKFLOW_CANCELLED') return
        clearTimeout(timer)
        resolve()
      }
      if (step.signal.aborted) stop()
      else step.signal.addEventListener('abort', stop)
    })
  }
  const writes = (name) => async (tx, step) => {
    await ledger.begun(step, name)
    const values = [step.run.id, name, step.key]
    await tx.query('insert into effects (run, step, key) values ($1, $2, $3)', values)
    return name.length
  }

  const chain = workflow('chain', async (wf, { n }) => {
    let sum = 0
    for (let i = 1; i <= n; i += 1) {
      sum += await wf.do(`s${i}`, (step) => {
        step.publish(`s${i}`)
        return does(`s${i}`, i)(step)
      })
    }
    return sum
  })

  const retried = workflow('retried', async (wf) =>
    wf.do(
      'third',
      async (step) => {
        await ledger.begun(step, 'third')
        if (step.attempt < 3) throw new Error(`attempt ${step.attempt}`)
        return step.attempt
      },
      { retries: 2, retryDelay: 60 },
    ),
  )

  const sleeper = workflow('sleeper', async (wf) => {
    const a = await wf.do('a', does('a', 1))
    await wf.sleep('nap', 250)
    return a + (await wf.do('b', does('b', 2)))
  })

  const waiter = workflow('waiter', async (wf) => {
    const first = await wf.waitFor('go', { timeout: '10m' })
    const none = await wf.waitFor('never', { timeout: 200, orNull: true })
    const more = await Promise.all([wf.waitFor('go'), wf.do('c', does('c', 3))])
    return { first, none, more }
  })

  const square = task('square', async (n, step) => {
    await ledger.begun(step, 'run')
    return n * n
  })
  const inner = workflow('inner', async (wf, { n }) => {
    const x = await wf.do('x', does('x', n))
    await wf.sleep('pause', 40)
    return x + (await wf.do('y', does('y', 1)))
  })
  const queued = workflow('queued', async (wf) => {
    const nine = await wf.do('nine', square, 3)
    const child = await wf.do('child', inner, { n: 5 })
    return { nine, child }
  })

  const all = workflow('all', async (wf) =>
    Promise.all([
      wf.do('p', does('p', 1)),
      wf.do('q', does('q', 2)),
      wf.do('r', square, 4),
      wf.sleep('z', 100).then(() => wf.do('after', does('after', 4))),
    ]),
  )

  const race = workflow('race', async (wf) => {
    const first = await Promise.race([
      wf.do('quick', does('quick', 'quick')),
      wf.sleep('slow', '1h').then(() => 'slow'),
    ])
    return { first, last: await wf.do('last', does('last', 'last')) }
  })

  const writer = workflow('writer', async (wf) => {
    const one = await wf.transaction('one', writes('one'))
    const second = await wf.transaction(
      'second',
      async (tx, step) => {
        await writes('second')(tx, step)
        if (step.attempt === 1) throw new Error('rolled back')
        return 'second'
      },
      { retries: 1, retryDelay: 20 },
    )
    const plain = await wf.do('plain', does('plain', 7))
    return { one, second, plain, three: await wf.transaction('three', writes('three')) }
  })

  const stopped = workflow('stopped', async (wf) => {
    await wf.do('before', does('before', 1))
    await wf.do('long', untilAborted('long'))
    return 'never'
  })
  const family = workflow('family', async (wf) => {
    try {
      return await wf.do('kid', stopped)
    } catch (error) {
      return { kid: error.code, after: await wf.do('after', does('after', 1)) }
    }
  })

  const reopened = workflow('reopened', async (wf) => {
    await wf.do('fine', does('fine', 1))
    return wf.do('broken', async (step) => {
      await ledger.begun(step, 'broken')
      if (!existsSync(join(flags, step.run.id))) throw new Error('broken still')
      return 'mended'
    })
  })

  // ── from outside ──────────────────────────────────────────────────────────────────────────────────────────

  const begin = async (engine, kind, id) => {
    const handle = await engine.start(kind, { n: 4 }, { id })
    say({ acked: id })
    return handle
  }
  const scoped = makeScopeWorkloads({ does, ledger, begin })
  const others = makeOtherWorkloads({ does, begin })
  const machines = makeMachineWorkloads({ ledger, begin, say, world })
  const graphs = makeGraphWorkloads({ ledger, begin, square })
  const limited = makeLimitWorkloads({ does, ledger, begin, say, world })
  const plain = (definition) => ({ drive: (engine, id) => begin(engine, definition, id) })
  const kinds = {
    ...scoped.kinds,
    ...others.kinds,
    ...machines.kinds,
    ...graphs.kinds,
    ...limited.kinds,
    chain: plain(chain),
    retried: plain(retried),
    sleeper: plain(sleeper),
    queued: plain(queued),
    all: plain(all),
    race: plain(race),
    writer: plain(writer),
    waiter: {
      drive: async (engine, id) => {
        const handle = await begin(engine, waiter, id)
        // Each is sent three times: a repetition changes nothing.
        for (const n of [1, 2, 1, 2, 1, 2]) await engine.signal(id, 'go', n, { id: `${id}-${n}` })
        return handle
      },
    },
    stopped: {
      drive: async (engine, id) => {
        const handle = await begin(engine, stopped, id)
        await sleep(40)
        await engine.cancel(id, 'enough', { id: `${id}-cancel` })
        return handle
      },
    },
    family: {
      drive: async (engine, id) => {
        const handle = await begin(engine, family, id)
        await shows(engine, id, async () => {
          const [kid] = (await engine.list({ parentId: id })).items
          if (kid) await engine.cancel(kid.id, 'enough', { id: `${id}-cancel` })
          return kid
        })
        return handle
      },
    },
    reopened: {
      drive: async (engine, id) => {
        const handle = await begin(engine, reopened, id)
        const failed = await shows(engine, id, () => false)
        if (failed.status !== 'failed' || failed.error.code) return handle
        writeFileSync(join(flags, id), '')
        await engine.retry(id).catch((error) => {
          if (!PerdureError.is(error, 'ATTEMPT_CHANGED', 'RUN_NOT_RETRYABLE')) throw error
        })
        return handle
      },
    },
  }
  const definitions = [
    ...[chain, retried, sleeper, waiter, square, inner, queued, all, race, writer],
    ...[stopped, family, reopened, ...scoped.definitions, ...others.definitions],
    ...[...machines.definitions, ...graphs.definitions, ...limited.definitions],
  ]
  return { definitions, nodeTypes: graphs.nodeTypes, kinds }
}

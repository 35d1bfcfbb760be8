// Workloads of scopes, races, loops and undos. In each of them everything that the checker compares is decided by the
// answers, never by who is faster: what must come first is waited for.

import { setTimeout as sleep } from 'node:timers/promises'
import { PerdureError, workflow } from '../../dist/index.js'

const ROUNDS = 3
const LOOK_EVERY_MS = 240

/** @param {{ does: Function, ledger: object, begin: Function }} tools */
export function makeScopeWorkloads({ does, ledger, begin }) {
  /** Obeys nobody: only its scope or its process ends it, and nothing of it is ever recorded. */
  const forever = (name) => async (step) => {
    await ledger.begun(step, name)
    await new Promise(() => {})
  }
  /** Beside a step. `failures`: of its undo, which is tried again as the step is. */
  const undone = (name, failures = 0) => ({
    retryDelay: 20,
    retries: 2,
    undo: async (_value, step) => {
      await ledger.begun(step, `undo:${name}`)
      if (step.attempt <= failures) throw new Error(`undo:${name} attempt ${step.attempt}`)
    },
  })

  /** Ends only when it is cancelled, and has something to undo then. */
  const lodger = workflow('lodger', async (wf) => {
    await wf.do('key', does('key', 'k'), undone('key'))
    await wf.do('bed', does('bed', 'b'), undone('bed', 1))
    wf.setState({ at: 'rest' })
    await wf.sleep('forever', '1h')
  })

  /** A scope that fails behind two steps, with a wait, a timer and a child open; another one that does not. */
  const saga = workflow('saga', async (wf) => {
    await wf.do('before', does('before', 0), undone('before'))
    const first = await wf
      .scope('A', async (wf) => {
        const open = [wf.waitFor('go'), wf.sleep('long', '1h'), wf.do('kid', lodger)]
        for (const promise of open) promise.catch(() => {})
        await wf.do('room', does('A/room', 1), undone('A/room'))
        await wf.do('meal', does('A/meal', 2), undone('A/meal', 1))
        throw new Error('no parking')
      })
      .catch((error) => error.message)
    wf.setState({ at: 'between' })
    const second = await wf.scope('B', async (wf) => {
      const room = await wf.do('room', does('B/room', 3), undone('B/room'))
      return room + (await wf.do('meal', does('B/meal', 4)))
    })
    // A wait of the scope that failed would have taken it.
    return { first, second, go: await wf.waitFor('go') }
  })

  /** The one that loses has done a step, and has a wait, a timer, a running step and a child open. */
  const rival = workflow('rival', async (wf) => {
    let isDone = () => {}
    const loserIsIn = new Promise((resolve) => {
      isDone = resolve
    })
    const { winner, value } = await wf.race('pair', {
      quick: async (wf) => {
        await wf.do('first', does('pair/quick/first', 1), undone('pair/quick/first'))
        await loserIsIn
        return wf.do('last', does('pair/quick/last', 2))
      },
      slow: async (wf) => {
        await wf.do('x', does('pair/slow/x', 1), undone('pair/slow/x'))
        await wf.do('y', does('pair/slow/y', 1), undone('pair/slow/y'))
        isDone()
        await Promise.all([
          wf.waitFor('go'),
          wf.sleep('long', '1h'),
          wf.do('busy', forever('pair/slow/busy')),
          wf.do('kid', lodger),
        ])
        return 'slow'
      },
    })
    wf.setState({ winner })
    return { winner, value, go: await wf.waitFor('go') }
  })

  /** Rounds with a step, a signal and a state; in the second one another loop. */
  const months = workflow('months', async (wf) => {
    await wf.do('open', does('open', 1))
    const sum = await wf.loop('months', { month: 1, sum: 0 }, async (wf, { month, sum }) => {
      const name = `months@${month}/charge`
      const charged = await wf.do('charge', does(name, month), undone(name))
      wf.setState({ month, sum })
      const tick = await wf.waitFor('tick')
      const days =
        month === 2
          ? await wf.loop('days', 1, async (wf, day) => {
              const done = await wf.do('day', does(`months@2/days@${day}/day`, day))
              return day === 2 ? wf.done(done) : day + 1
            })
          : 0
      const next = sum + charged + tick + days
      return month === ROUNDS ? wf.done(next) : { month: month + 1, sum: next }
    })
    return sum + (await wf.do('close', does('close', 100)))
  })

  /** Fails by itself behind steps, a loop and children that can be undone, with a child open that undoes itself. */
  const broken = workflow('broken', async (wf) => {
    await wf.do('a', does('a', 1), undone('a'))
    await wf.loop('twice', 1, async (wf, n) => {
      await wf.do('kept', does(`twice@${n}/kept`, n), undone(`twice@${n}/kept`))
      return n === 2 ? wf.done(n) : n + 1
    })
    await wf.do('part', failing).catch((error) => error.code)
    await wf.do('b', does('b', 2), undone('b', 2))
    await Promise.all([
      wf.do('kid', lodger),
      wf.waitFor('fail').then(async () => {
        await wf.do('c', does('c', 3), undone('c'))
        throw new Error('broken')
      }),
    ])
  })
  const failing = workflow('failing', async (wf) => {
    await wf.do('one', does('one', 1), undone('one'))
    await wf.do('two', does('two', 2), undone('two'))
    throw new Error('a part is broken')
  })

  const resting = workflow('resting', async (wf) => {
    const a = await wf.do('a', does('a', 1))
    await wf.sleep('nap', 60)
    const b = await wf.scope('part', (wf) => wf.do('b', does('part/b', 2), undone('part/b')))
    return a + b + (await wf.do('c', does('c', 3)))
  })

  // ── from outside ──────────────────────────────────────────────────────────────────────────────────────────

  const kinds = {
    saga: {
      drive: async (engine, id) => {
        const handle = await begin(engine, saga, id)
        await shows(engine, id, ({ state }) => state?.at === 'between')
        await signal(engine, id, 'go', 7)
        return withChildren(engine, handle, id)
      },
    },
    rival: {
      drive: async (engine, id) => {
        const handle = await begin(engine, rival, id)
        await shows(engine, id, ({ state }) => state?.winner)
        await signal(engine, id, 'go', 7)
        return withChildren(engine, handle, id)
      },
    },
    /** Also gone on with from its last round in another run, whose id ends with -fork. */
    months: {
      drive: async (engine, id) => {
        const handle = await begin(engine, months, id)
        for (let n = 1; n <= ROUNDS; n += 1) await signal(engine, id, 'tick', n)
        const { status } = await shows(engine, id, () => false)
        if (status !== 'completed') return handle
        const fork = await engine.fork(id, { from: `months@${ROUNDS}/charge`, id: `${id}-fork` })
        await signal(engine, fork.id, 'tick', ROUNDS)
        return alsoEnded(handle, () => shows(engine, fork.id, () => false))
      },
    },
    broken: {
      drive: async (engine, id) => {
        const handle = await begin(engine, broken, id)
        await shows(engine, id, async () => {
          const { items } = await engine.list({ parentId: id })
          const uids = items.filter(({ workflow }) => workflow === 'lodger')
          const kids = await Promise.all(uids.map((kid) => engine.get(kid.id)))
          return kids.some((kid) => kid?.state?.at === 'rest')
        })
        await signal(engine, id, 'fail', null)
        return handle
      },
    },
    resting: {
      drive: async (engine, id) => {
        const handle = await begin(engine, resting, id)
        await unlessOver(() => engine.pause(id))
        await sleep(30)
        await unlessOver(() => engine.resume(id))
        return handle
      },
    },
  }
  return { definitions: [lodger, saga, rival, months, broken, failing, resting], kinds }
}

const signal = (engine, id, name, payload) =>
  unlessOver(() => engine.signal(id, name, payload, { id: `${id}-${name}-${payload}` }))

/** The life before has done it, and the run went on. */
export async function unlessOver(call) {
  try {
    await call()
  } catch (error) {
    if (!PerdureError.is(error, 'RUN_FINISHED')) throw error
  }
}

/** Until the run is as it should be, or over. */
export async function shows(engine, id, fits) {
  for (let ms = 30; ; ms = Math.min(2 * ms, LOOK_EVERY_MS)) {
    const run = await engine.get(id)
    if (run?.finishedAt || (run && (await fits(run)))) return run
    await sleep(ms)
  }
}

/** Nobody waits for the children of a scope that has ended: they are over some time after it. */
const withChildren = (engine, handle, id) =>
  alsoEnded(handle, async () => {
    const { items } = await engine.list({ parentId: id })
    for (const kid of items) await shows(engine, kid.id, () => false)
  })

export const alsoEnded = (handle, more) => ({
  status: () => handle.status(),
  result: async () => {
    try {
      return await handle.result()
    } finally {
      await more()
    }
  },
})

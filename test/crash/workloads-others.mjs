// Workloads of other runs: children that nobody waits for at once, events, and calls with a reply.

import { PerdureError, workflow } from '../../dist/index.js'
import { alsoEnded, shows, unlessOver } from './workloads-scopes.mjs'

const CHANGES = [1, 2, 3]

/** @param {{ does: Function, begin: Function }} tools */
export function makeOtherWorkloads({ does, begin }) {
  /** Nobody but the caller signals it. */
  const friend = workflow('friend', async (wf) => {
    const told = await wf.waitFor('go')
    return told + (await wf.do('f', does('f', 10)))
  })
  const helper = workflow('helper', async (wf, { n }) => {
    await wf.sleep('pause', 40)
    return wf.do('h', does('h', n))
  })

  /** Starts one child of its own and one run that is nobody's, which waits for its signal, and hears the end of both. */
  const caller = workflow('caller', async (wf) => {
    const child = await wf.start('child', helper, { n: 5 })
    const id = `${wf.run.id}-friend`
    const other = await wf.start('other', friend, undefined, { id, detached: true })
    await wf.handle(friend, other.id).signal('go', 7)
    return Promise.all([child.result(), other.result()])
  })

  const hearer = workflow('hearer', async (wf) => {
    const match = { for: wf.run.id }
    const [middle, last] = await Promise.all([
      wf.waitForEvent('middle', { match }),
      wf.waitForEvent('last', { match }),
    ])
    return { middle: middle.n, last: last.n, after: await wf.do('after', does('after', 1)) }
  })
  const emitter = workflow('emitter', async (wf, { to }) => {
    const n = await wf.do('before', does('before', 1))
    wf.emit('middle', { for: to, n })
    const more = await wf.do('between', does('between', 2))
    wf.emit('last', { for: to, n: n + more })
  })

  const called = workflow('called', async (wf) =>
    wf.loop('changes', 0, async (wf, sum) => {
      wf.setState({ sum })
      const { name, payload } = await wf.waitFor(['change', 'stop'])
      return name === 'stop' ? wf.done(sum) : sum + payload
    }),
  )

  // ── from outside ──────────────────────────────────────────────────────────────────────────────────────────

  const kinds = {
    caller: { drive: (engine, id) => begin(engine, caller, id) },
    hearer: {
      drive: async (engine, id) => {
        const handle = await begin(engine, hearer, id)
        // An event is for whoever waits when it happens.
        await shows(engine, id, ({ reason }) => reason === 'event')
        const other = `${id}-emitter`
        await engine.start(emitter, { to: id }, { id: other })
        const { status } = await shows(engine, other, () => false)
        // By the crash limit. The hearer would wait for ever.
        if (status === 'failed') await unlessRetried(() => engine.retry(other))
        return alsoEnded(handle, () => shows(engine, other, () => false))
      },
    },
    called: {
      drive: async (engine, id) => {
        const handle = await begin(engine, called, id)
        let least = 0
        for (const n of CHANGES) {
          least += n
          await unlessOver(async () => {
            const { state } = await handle.trigger('change', n, { id: `c-${n}`, within: '10m' })
            if (state.sum < least) throw new Error(`${state.sum} when ${n} was answered`)
          })
        }
        await unlessOver(() => handle.trigger('stop', null, { id: 'stop', within: '10m' }))
        return handle
      },
    },
  }
  return { definitions: [friend, helper, caller, hearer, emitter, called], kinds }
}

async function unlessRetried(call) {
  try {
    await call()
  } catch (error) {
    if (!PerdureError.is(error, 'ATTEMPT_CHANGED', 'RUN_NOT_RETRYABLE')) throw error
  }
}

import { connect } from '@restatedev/restate-sdk-clients'
import { arrive, fallAsleep, NAP_MS, step, wakeUp } from '../user-code.mjs'

// Not in Node 20, and the SDK uses it.
Promise.withResolvers ??= () => {
  const deferred = {}
  deferred.promise = new Promise((resolve, reject) => Object.assign(deferred, { resolve, reject }))
  return deferred
}
const { endpoint, service } = await import('@restatedev/restate-sdk/node')

export const settings =
  'One restate-server with default settings (its own log on disk, not PostgreSQL), one HTTP/2 endpoint in the process that measures; service handlers, an awakeable for W5; 1,000 starters.'
export const width = 1_000
export const can = ['w1', 'w2', 'w3', 'w4', 'w5', 'w6']

/** What a user would send to whoever shall answer. */
const awakeables = new Map()

const bench = service({
  name: 'bench',
  handlers: {
    async chain(context, { steps }) {
      let last = null
      for (let i = 0; i < steps; i += 1) last = await context.run('step', step)
      return last
    },
    async sleeper(context, { key }) {
      fallAsleep(key)
      await context.sleep(NAP_MS)
      return context.run('wake up', () => wakeUp(key))
    },
    async waiter(context, { key }) {
      const { id, promise } = context.awakeable()
      await context.run('arrive', () => {
        awakeables.set(key, id)
        return arrive()
      })
      return promise
    },
  },
})
export async function open({ restate }) {
  await serve(restate.adminUrl)
  const ingress = connect({ url: restate.ingressUrl })
  const client = ingress.serviceClient({ name: 'bench' })
  let last = 0
  return {
    async start(kind, input) {
      // A call is the start and the wait for its result in one request: as its users do it.
      if (kind !== 'waiter') return { result: () => client[kind](input) }
      const key = ++last
      const ended = client.waiter({ key })
      return {
        result: () => ended,
        signal: (payload) => ingress.resolveAwakeable(awakeables.get(key), payload),
      }
    },
  }
}

const silent = () => endpoint().setLogger(() => {})

async function serve(adminUrl) {
  const { createServer } = await import('node:http2')
  const http = createServer(silent().bind(bench).http2Handler())
  await new Promise((resolve) => http.listen(0, '127.0.0.1', resolve))
  const registered = await fetch(`${adminUrl}/deployments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ uri: `http://127.0.0.1:${http.address().port}`, force: true }),
  })
  if (!registered.ok) throw new Error(`restate: ${await registered.text()}`)
}

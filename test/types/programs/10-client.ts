// 10, continued. From another program, over HTTP, with types only.
import { createClient } from 'perdure/client'
import { createHandler, serve } from 'perdure/http'
import type { engine } from './01-order.js'

const remote = createClient<typeof engine>('http://127.0.0.1:4114', { token: 't' })
console.log(
  (await (await remote.start('order', { id: 'o-10', amount: 1, email: 'a@b.example' })).result())
    .trackingId,
)
for await (const run of remote.list({
  workflow: 'order',
  status: ['failed', 'timed_out'],
  createdAfter: new Date('2026-01-01'),
}))
  console.log(run.id, run.state.phase)

declare const own: typeof engine
const server = await serve(own, { tokens: [{ token: 'a-long-random-token', role: 'viewer' }] })
console.log(server.url, createHandler(own, { open: true }))

// @ts-expect-error the input has another form
await remote.start('order', { id: 'o-10', amount: 'one', email: 'a@b.example' })
// @ts-expect-error no such definition
await remote.start('ordre', { id: 'o-10', amount: 1, email: 'a@b.example' })
// @ts-expect-error there is no such role
await serve(own, { tokens: [{ token: 'x', role: 'root' }] })
// @ts-expect-error listeners are for those who have the engine itself
remote.on('run.completed', () => {})

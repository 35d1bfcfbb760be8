// 10. The rest of ../programs/10-http.ts: from another program, over HTTP, with types only.
import { createClient } from 'perdure/client'
import type { engine } from '../programs/01-order.js'

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

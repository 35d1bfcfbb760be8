// A shop sends its orders, each as often as it takes to get an answer: one run for each order.

import { createEngine, graph, task, type WebhookRequest } from 'perdure'

const stored = new Map<string, number>()
const store = task('store', async ({ id, total }: { id: string; total: number }) => {
  stored.set(id, total)
  return { count: stored.size }
})

const intake = graph({
  id: 'webhook-intake',
  triggers: [{ type: 'webhook', path: 'shop/orders', dedupe: { expression: 'body.id' } }],
  nodes: [
    { id: 'paid', type: 'condition', config: { if: { cel: "input.body.type == 'order.paid'" } } },
    {
      id: 'saved',
      type: 'task',
      config: {
        task: 'store',
        input: { id: { cel: 'input.body.id' }, total: { cel: 'input.body.total' } },
      },
      retry: 5,
    },
    { id: 'ignored', type: 'return', config: { output: 'ignored' } },
  ],
  edges: [
    { from: 'trigger', to: 'paid' },
    { from: 'paid', to: 'saved', when: true },
    { from: 'paid', to: 'ignored', when: false },
  ],
  output: { cel: "'order ' + string(saved.count)" },
})

const engine = await createEngine({ database: 'memory:', workflows: [intake, store] })
const [webhook] = await engine.webhooks.list()
if (!webhook) throw new Error('there is no webhook')
console.log(webhook.id, webhook.path.startsWith('shop/orders/')) // → webhook-intake:shop/orders true

/** What an HTTP server hands over: the method, the headers and the body as it came. */
const request = (body: object): WebhookRequest => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})
const order = { id: 'o-1', type: 'order.paid', total: 100 }
const first = await engine.webhooks.receive(webhook.path, request(order))
const again = await engine.webhooks.receive(webhook.path, request(order))
console.log(first.started, again.started, first.runId === again.runId) // → true false true
console.log(await engine.handle(intake, first.runId).result(), stored.size) // → order 1 1

const other = await engine.webhooks.receive(
  webhook.path,
  request({ id: 'o-2', type: 'order.seen' }),
)
console.log(await engine.handle(intake, other.runId).result()) // → ignored
await engine.close()

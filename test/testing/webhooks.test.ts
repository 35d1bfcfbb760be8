// Webhooks of a test engine.

import { expect, test } from 'vitest'
import { task, type WebhookInput } from '../../src/index.js'
import { createTestEngine } from '../../src/testing/index.js'
import { openReceiver } from '../support/receiver.js'

test('requests start runs, and ends are delivered before the engine has settled; a crash loses none', async () => {
  const { url, allow, received } = await openReceiver((n) => (n === 1 ? 503 : 200))
  const triggers = [{ type: 'webhook' }] as const
  const echo = task('echo', { triggers }, ({ body }: WebhookInput<string>) => body)
  const secrets = () => ({ value: 'secret', hosts: [] })
  await using engine = await createTestEngine({
    workflows: [echo],
    http: { allow, secrets },
    webhooks: [{ id: 'ops', url, events: ['run.completed'], secret: 'OPS', output: true }],
  })
  const [webhook] = await engine.webhooks.list()
  const headers = { 'content-type': 'application/json' }
  const request = { method: 'POST', headers, body: '"hello"' }
  const { runId } = await engine.webhooks.receive(webhook?.path ?? '', request)
  expect(await engine.handle(echo, runId).result()).toBe('hello')
  await engine.crash()
  await engine.settle()
  await engine.advance('1h')
  const bodies = received.map(({ body }) => JSON.parse(body) as { data: { output: string } })
  expect(new Set(bodies.map(({ data }) => data.output))).toEqual(new Set(['hello']))
  expect(bodies.length).toBeGreaterThan(1)
  const [delivery] = (await engine.list({ workflow: 'perdure.webhook' as never })).items
  expect(delivery).toMatchObject({ status: 'completed' })
})

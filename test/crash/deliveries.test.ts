// The end of a run is told although the process that has ended it is gone.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { createEngine } from '../../src/index.js'
import { describeOn, freshSchema, urlOf } from '../support/databases.js'
import { openReceiver } from '../support/receiver.js'

const VICTIM = fileURLToPath(new URL('delivery-victim.mjs', import.meta.url))

describeOn(['postgres18'], 'a process killed between the end of a run and its delivery', (of) => {
  test('leaves the delivery to another process, which does it once', async () => {
    const { url, allow, received } = await openReceiver()
    const [database, schema, id] = [urlOf(of), freshSchema(), 'o-1']
    const order = JSON.stringify({ database, schema, url, allow, id })
    const victim = spawn(process.execPath, [VICTIM], {
      env: { ...process.env, VICTIM: order },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    onTestFinished(() => void victim.kill('SIGKILL'))
    expect(await once(victim, 'exit')).toEqual([null, 'SIGKILL'])
    expect(received).toEqual([])

    const secrets = () => ({ value: 'secret', hosts: [] })
    const webhooks = [{ id: 'ops', url, events: ['run.completed'], secret: 'OPS' }] as const
    await using engine = await createEngine({
      database,
      schema,
      http: { allow, secrets },
      webhooks,
    })
    expect(await engine.get(id)).toMatchObject({ status: 'completed' })
    await expect.poll(() => received.length, { timeout: 60_000, interval: 20 }).toBe(1)
    const [delivery] = (await engine.list({ workflow: 'perdure.webhook' as never })).items
    await expect
      .poll(() => engine.get(delivery?.id ?? ''), { timeout: 30_000, interval: 20 })
      .toMatchObject({ status: 'completed', output: { delivered: true } })
    expect(received).toHaveLength(1)
    expect(received[0]?.headers['webhook-id']).toBe(delivery?.id)
    expect(JSON.parse(received[0]?.body ?? '')).toMatchObject({ data: { runId: id } })
  })
})

// Requests that start runs.

import { describe, expect, test } from 'vitest'
import { keyOf, signatureOf } from '../../src/engine/webhook-signature.js'
import {
  type Engine,
  graph,
  machine,
  Transition,
  task,
  type WebhookInput,
  Workflow,
  workflow,
} from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { eventually, fresh, gate, refusalOf, worldOn } from '../support/world.js'

const SECRETS: Readonly<Record<string, string>> = { SHOP: 'whsec_c2VjcmV0IG9mIHRoZSBzaG9w' }
const http = {
  secrets: (name: string) => {
    const value = SECRETS[name]
    return value === undefined ? undefined : { value, hosts: [] }
  },
}
const json = { 'content-type': 'application/json' }
const post = (body: unknown, headers: object = {}) => ({
  method: 'POST',
  headers: { ...json, ...headers },
  body: JSON.stringify(body),
})

async function pathOf(engine: Pick<Engine, 'webhooks'>, id: string): Promise<string> {
  const found = (await engine.webhooks.list()).find((one) => one.id === id)
  return found?.path ?? `no webhook ${id}`
}

describeOn(['pglite', 'postgres18', 'redis'], 'webhook triggers on a real database', (database) => {
  const world = worldOn(database)

  test('[D38] a request starts a run with its body, and is found again by what it is known by', async () => {
    const name = fresh('order')
    const order = workflow(
      name,
      { triggers: [{ type: 'webhook', path: 'shop/orders' }] },
      async (_wf, { body, query }: WebhookInput<{ no: number }>) => `${body.no} ${query.from}`,
    )
    const engine = await world.open([order])
    const path = await pathOf(engine, `${name}:shop/orders`)
    expect(path).toMatch(/^shop\/orders\/[A-Za-z0-9_-]{22}$/)
    const request = { ...post({ no: 7 }, { 'webhook-id': 'm-1' }), query: { from: 'eu' } }
    const first = await engine.webhooks.receive(`/${path}`, request)
    expect(first).toEqual({ runId: expect.stringMatching(`^webhook:${name}:`), started: true })
    await eventually(() => engine.get(first.runId)).toMatchObject({
      output: '7 eu',
      tags: { webhook: `${name}:shop/orders` },
    })
    // Another sending differs in its headers, and has the same run.
    const again = post({ no: 7 }, { 'webhook-id': 'm-1', 'user-agent': 'other' })
    expect(await engine.webhooks.receive(path, again)).toEqual({ ...first, started: false })
    const next = await engine.webhooks.receive(path, post({ no: 8 }, { 'webhook-id': 'm-2' }))
    expect(next.started).toBe(true)
    expect(next.runId).not.toBe(first.runId)
  })

  test('of many sendings of one request at once one starts a run', async () => {
    const name = fresh('once')
    const dedupe = { expression: 'body.id' }
    const once = task(name, { triggers: [{ type: 'webhook', dedupe }] }, () => 1)
    const engines = [await world.open([once]), await world.open([once])]
    const path = await pathOf(engines[0] as Engine, `${name}:1`)
    expect(await pathOf(engines[1] as Engine, `${name}:1`)).toBe(path)
    const sendings = Array.from({ length: 20 }, (_, i) =>
      (engines[i % 2] as Engine).webhooks.receive(path, post({ id: 'x', sending: i })),
    )
    const answers = await Promise.all(sendings)
    expect(new Set(answers.map(({ runId }) => runId)).size).toBe(1)
    expect(answers.filter(({ started }) => started)).toHaveLength(1)
  })

  test('a path is kept over restarts and by code that was without it; rotated, the old one is gone', async () => {
    const name = fresh('kept')
    const of = (...triggers: { type: 'webhook' }[]) => task(name, { triggers }, () => 1)
    const engine = await world.open([of({ type: 'webhook' })])
    const path = await pathOf(engine, `${name}:1`)
    await world.open([of()])
    expect((await refusalOf(engine.webhooks.receive(path, post(1)))).code).toBe('WEBHOOK_NOT_FOUND')
    // Without a worker it has no say.
    await world.open([of({ type: 'webhook' })], { options: { worker: false } })
    expect(await pathOf(engine, `${name}:1`)).toContain('no webhook')
    const next = await world.open([of({ type: 'webhook' })])
    expect(await pathOf(next, `${name}:1`)).toBe(path)
    expect((await engine.webhooks.receive(path, post(1))).started).toBe(true)
    const rotated = await engine.webhooks.rotate(`${name}:1`)
    expect(rotated).toMatchObject({ workflow: name, isSigned: false, rotatedAt: expect.any(Date) })
    expect(rotated.path).not.toBe(path)
    expect((await refusalOf(next.webhooks.receive(path, post(1)))).code).toBe('WEBHOOK_NOT_FOUND')
    expect((await next.webhooks.receive(rotated.path, post(1))).started).toBe(true)
    const unknown = await refusalOf(engine.webhooks.rotate(`${name}:2`))
    expect(unknown.code).toBe('WEBHOOK_NOT_FOUND')
  })

  test('a path that is not there and one that cannot be are answered alike', async () => {
    const engine = await world.open([task(fresh(), { triggers: [{ type: 'webhook' }] }, () => 1)])
    const says: object[] = []
    for (const path of ['A'.repeat(22), '', '..', 'a/../b', '%00', 'ü', 'x'.repeat(500), 7, null]) {
      const { code, message, hint } = await refusalOf(
        engine.webhooks.receive(path as string, post(1)),
      )
      says.push({ code, message, hint })
    }
    const [first] = says
    expect(first).toMatchObject({ code: 'WEBHOOK_NOT_FOUND' })
    for (const said of says) expect(said).toEqual(first)
  })

  describe('one that is signed', () => {
    const triggers = [{ type: 'webhook', path: 'signed', hmac: { secret: 'SHOP' } }] as const
    const signed = async (body: string, at: number, id = 'm-1') => {
      const timestamp = Math.floor(at / 1000)
      const key = await keyOf(http.secrets, 'SHOP')
      const signature = signatureOf(key, { id, timestamp, body: Buffer.from(body) })
      const headers = {
        ...json,
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signature,
      }
      return { method: 'POST', headers, body }
    }

    test('starts runs of signed requests alone, and one for all that are replayed', async () => {
      const name = fresh('signed')
      const echo = (input: WebhookInput) => input
      const engine = await world.open([task(name, { triggers }, echo)], { options: { http } })
      const [info] = (await engine.webhooks.list()).filter(({ workflow }) => workflow === name)
      const path = info?.path ?? ''
      expect(info).toMatchObject({ id: `${name}:signed`, isSigned: true, rotatedAt: null })
      const now = await world.now()
      const good = await signed('{"a":"Grüße 👋"}', now)
      const { runId, started } = await engine.webhooks.receive(path, good)
      expect(started).toBe(true)
      expect(await engine.webhooks.receive(path, good)).toEqual({ runId, started: false })
      await eventually(() => engine.get(runId)).toMatchObject({ status: 'completed' })
      const input = (await engine.get(runId))?.input as WebhookInput
      expect(input.body).toEqual({ a: 'Grüße 👋' })
      expect(input.headers['webhook-signature']).toBeUndefined()

      const problemOf = async (request: Parameters<Engine['webhooks']['receive']>[1]) =>
        (await refusalOf(engine.webhooks.receive(path, request))).details
      expect(await problemOf(post({ a: 1 }))).toEqual({ problem: 'missing' })
      expect(await problemOf({ ...good, body: '{"a":2}' })).toEqual({ problem: 'wrong' })
      expect(await problemOf(await signed('1', now - 400_000))).toEqual({ problem: 'stale' })
      // What is not signed is not even read.
      expect(await problemOf({ ...good, body: 'not JSON' })).toEqual({ problem: 'wrong' })
    })

    test('is an error of ours while its secret is not there', async () => {
      const name = fresh('unknown')
      const engine = await world.open([task(name, { triggers }, () => 1)])
      const refused = engine.webhooks.receive(await pathOf(engine, `${name}:signed`), post(1))
      expect((await refusalOf(refused)).code).toBe('WEBHOOK_SECRET_MISSING')
    })
  })

  test('belongs to every style, and a graph knows that it was started by one', async () => {
    const triggers = [{ type: 'webhook' }] as const
    const [object, cls, drawn] = [fresh('object'), fresh('class'), fresh('drawn')]
    @Workflow({ name: cls, triggers })
    class Review {
      @Transition({ from: 'start', to: 'end' })
      go() {}
    }
    const engine = await world.open([
      machine(object, {
        triggers,
        transitions: { go: { from: 'start', to: 'end', run: () => {} } },
      }),
      Review,
      graph({
        id: drawn,
        triggers,
        nodes: [{ id: 'by', type: 'set', config: { is: { cel: 'run.triggeredBy' } } }],
        edges: [{ from: 'trigger', to: 'by' }],
        output: { cel: '[is, string(input.body.a)]' },
      }),
    ])
    for (const name of [object, cls, drawn]) {
      const path = await pathOf(engine, `${name}:1`)
      const { runId } = await engine.webhooks.receive(path, post({ a: 1 }))
      await eventually(() => engine.get(runId)).toMatchObject({
        workflow: name,
        status: 'completed',
        ...(name === drawn && { output: ['webhook', '1'] }),
      })
    }
  })

  test('an input that the schema refuses is refused at the door, and in the run where the code is', async () => {
    const name = fresh('checked')
    const input = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: (value: unknown) => {
          const { no } = (value as WebhookInput<{ no: number }>).body
          return no > 0 ? { value: no * 10 } : { issues: [{ message: 'too small' }] }
        },
      },
    }
    const options = { triggers: [{ type: 'webhook' }], input } as const
    const engine = await world.open([workflow(name, options, async (_wf, no) => no)])
    const path = await pathOf(engine, `${name}:1`)
    const good = await engine.webhooks.receive(path, post({ no: 2 }))
    await eventually(() => engine.get(good.runId)).toMatchObject({ output: 20 })
    const refused = await refusalOf(engine.webhooks.receive(path, post({ no: 0 })))
    expect(refused.code).toBe('INPUT_INVALID')
    // A server without the code takes it, and the run says so.
    const server = await world.open([], { options: { worker: false } })
    const taken = await server.webhooks.receive(path, post({ no: 0 }))
    await eventually(() => engine.get(taken.runId)).toMatchObject({ status: 'failed' })
  })

  test('is counted by the limits of its definition, also by a server without the code', async () => {
    const name = fresh('limited')
    const go = gate()
    let atOnce = 0
    let most = 0
    const limited = task(
      name,
      { triggers: [{ type: 'webhook' }], limits: { concurrency: 1 } },
      async () => {
        atOnce += 1
        most = Math.max(most, atOnce)
        await go.passed
        atOnce -= 1
      },
    )
    const engine = await world.open([limited])
    const server = await world.open([], { options: { worker: false } })
    const path = await pathOf(server, `${name}:1`)
    const ids: string[] = []
    for (const by of [server, engine, server]) {
      ids.push((await by.webhooks.receive(path, post(1))).runId)
    }
    await eventually(() => most).toBe(1)
    go.open()
    for (const id of ids) {
      await eventually(() => engine.get(id)).toMatchObject({ status: 'completed' })
    }
    expect(most).toBe(1)
  })

  test('its ids are for triggers alone, and a definition cannot have the name of deliveries', async () => {
    const one = task(fresh('one'), () => 1)
    const starter = workflow(fresh('starter'), async (wf) => {
      await wf.start('it', one, undefined, { id: 'webhook:x', detached: true })
    })
    const engine = await world.open([one, starter])
    const refused = engine.start(one, undefined, { id: 'webhook:x' })
    expect((await refusalOf(refused)).code).toBe('ID_INVALID')
    const run = await engine.start(one, undefined, { id: fresh('run') })
    const forked = engine.fork(run.id, { id: 'webhook:x' })
    expect((await refusalOf(forked)).code).toBe('ID_INVALID')
    expect(await engine.run(starter)).toMatchObject({ error: { code: 'OPTION_INVALID' } })
    const named = world.open([task('perdure.webhook', () => 1)])
    expect((await refusalOf(named)).code).toBe('DEFINITION_INVALID')
  })
})

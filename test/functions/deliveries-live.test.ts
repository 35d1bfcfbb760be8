// Webhooks that are sent when runs end.

import { expect, test } from 'vitest'
import { checkSignature, keyOf } from '../../src/engine/webhook-signature.js'
import { type Engine, task, workflow } from '../../src/index.js'
import { DELIVERY } from '../../src/model/webhook.js'
import { describeOn } from '../support/databases.js'
import { openReceiver, type Received, type Receiver } from '../support/receiver.js'
import { all, eventually, fresh, refusalOf, worldOn } from '../support/world.js'

const SECRET = 'whsec_c2VjcmV0IG9mIHRoZSBvcGVyYXRvcg=='
const secrets = (name: string) => (name === 'OPS' ? { value: SECRET, hosts: [] } : undefined)
const ALL = ['run.completed', 'run.failed', 'run.cancelled', 'run.timed_out'] as const

function optionsOf({ url, allow }: Pick<Receiver, 'url' | 'allow'>, more: object = {}) {
  const http = { allow, secrets }
  return { http, webhooks: [{ id: 'ops', url, events: ALL, secret: 'OPS', ...more }] }
}

const told = ({ received }: Receiver) =>
  received.map(({ body }) => JSON.parse(body) as { type: string; data: Record<string, unknown> })

async function check({ headers, body }: Received): Promise<void> {
  const given = new Map(Object.entries(headers).map(([name, value]) => [name, String(value)]))
  const hmac = { secret: 'OPS', header: null, prefix: '', encoding: 'hex' } as const
  const key = await keyOf(secrets, 'OPS')
  checkSignature(hmac, key, given, Buffer.from(body), Date.now())
}

async function deliveriesOf(engine: Pick<Engine, 'list'>, run: string) {
  const filter = { workflow: DELIVERY as never, tags: { run } }
  return all(engine.list(filter))
}

describeOn(['pglite', 'postgres18'], 'deliveries on a real database', (database) => {
  const world = worldOn(database)
  const failing = (name: string) =>
    workflow(name, async (wf, how: string) => {
      if (how === 'fail') throw new Error('no stock')
      if (how === 'wait') await wf.sleep('for long', '1 day')
      return { how, secret: 'x' }
    })

  test('each end of a run is told once, signed, with what it is about and no more', async () => {
    const receiver = await openReceiver()
    const name = fresh('order')
    const order = failing(name)
    const engine = await world.open([order], {
      options: optionsOf(receiver, { workflows: [name] }),
    })
    const ids = { good: fresh('good'), bad: fresh('bad'), stopped: fresh('x'), late: fresh('late') }
    await engine.run(order, 'good', { id: ids.good })
    await engine.run(order, 'fail', { id: ids.bad })
    await engine.start(order, 'wait', { id: ids.stopped })
    await engine.cancel(ids.stopped, 'not wanted')
    await engine.start(order, 'wait', { id: ids.late, timeout: '10ms' })
    await eventually(() =>
      told(receiver)
        .map(({ type }) => type)
        .sort(),
    ).toEqual([...ALL].sort())
    for (const request of receiver.received) await check(request)
    const of = (id: string) => told(receiver).find(({ data }) => data.runId === id)
    expect(of(ids.good)).toEqual({
      type: 'run.completed',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: {
        runId: ids.good,
        workflow: name,
        version: '1',
        workspace: 'default',
        parentId: null,
        status: 'completed',
        attempt: 1,
        createdAt: expect.any(String),
        startedAt: expect.any(String),
        endedAt: expect.any(String),
      },
    })
    expect(of(ids.bad)?.data.error).toEqual({ name: 'Error', message: 'no stock' })
    expect(of(ids.stopped)?.data).toMatchObject({ status: 'cancelled', reason: 'not wanted' })
    expect(of(ids.late)?.data).toMatchObject({ status: 'timed_out' })
    const [delivery] = await deliveriesOf(engine, ids.good)
    await eventually(() => engine.get(delivery?.id ?? '')).toMatchObject({
      output: { delivered: true, status: 200 },
      tags: { webhook: 'ops' },
    })
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toContain(delivery?.id)
    // They are in no list that does not ask for them, and tell of nothing themselves.
    const listed = (await all(engine.list())).map(({ workflow }) => workflow)
    expect(listed).not.toContain(DELIVERY)
    expect(receiver.received).toHaveLength(4)
  })

  test('a receiver that fails gets it again, under the same id and with the same body', async () => {
    const receiver = await openReceiver((n) => (n === 1 ? 500 : 204))
    const name = fresh('again')
    const one = task(name, () => 'done')
    const more = { workflows: [one], output: true }
    const engine = await world.open([one], { options: optionsOf(receiver, more) })
    const { id } = await engine.run(one)
    await expect.poll(() => receiver.received.length, { timeout: 30_000, interval: 20 }).toBe(2)
    const ids = new Set(receiver.received.map(({ headers }) => headers['webhook-id']))
    expect(ids.size).toBe(1)
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1)
    expect(told(receiver)[0]?.data.output).toBe('done')
    for (const request of receiver.received) await check(request)
    const [delivery] = await deliveriesOf(engine, id)
    await eventually(() => engine.get(delivery?.id ?? '')).toMatchObject({
      output: { status: 204 },
    })
  })

  test('two engines deliver once, also of runs that one without the option has ended', async () => {
    const receiver = await openReceiver()
    const name = fresh('both')
    const one = task(name, () => 1)
    const options = optionsOf(receiver, { workflows: [name] })
    await world.open([], { options })
    await world.open([], { options })
    const plain = await world.open([one])
    const runs = await plain.startMany(
      one,
      Array.from({ length: 10 }, () => ({})),
    )
    for (const run of runs) await run.result()
    await expect.poll(() => receiver.received.length, { timeout: 30_000, interval: 20 }).toBe(10)
    const ended = async () =>
      (await all(plain.list({ workflow: DELIVERY as never, status: 'completed' }))).filter(
        ({ tags }) => runs.some(({ id }) => id === tags.run),
      ).length
    await eventually(ended).toBe(10)
    const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids).size).toBe(10)
    expect(ids).toHaveLength(10)
  })

  test('children are told of where they are named; a workspace hears of its own alone', async () => {
    const named = await openReceiver()
    const every = await openReceiver()
    const [parent, child] = [fresh('parent'), fresh('child')]
    const inner = task(child, () => 1)
    const outer = workflow(parent, (wf) => wf.do('inner', inner))
    const of = { events: ['run.completed'], secret: 'OPS', workspace: 'acme' } as const
    const webhooks = [
      { id: 'named', url: named.url, workflows: [inner], ...of },
      { id: 'every', url: every.url, ...of },
    ]
    const http = { allow: [...named.allow, ...every.allow], secrets }
    const engine = await world.open([inner, outer], { options: { http, webhooks } })
    expect(await engine.webhooks.targets()).toEqual([
      {
        id: 'every',
        url: every.url,
        events: of.events,
        workflows: null,
        workspace: 'acme',
        output: false,
      },
      {
        id: 'named',
        url: named.url,
        events: of.events,
        workflows: [child],
        workspace: 'acme',
        output: false,
      },
    ])
    await engine.run(outer)
    await engine.run(outer, undefined, { workspace: 'acme' })
    await eventually(() => named.received.length + every.received.length).toBe(2)
    expect(told(named)[0]?.data).toMatchObject({ workflow: child, parentId: expect.any(String) })
    expect(told(every)[0]?.data).toMatchObject({ workflow: parent, workspace: 'acme' })
  })

  test('one that cannot be delivered fails for people to see, and does not show its address', async () => {
    const gone = await openReceiver(() => 410)
    const moved = await openReceiver(() => 302)
    const name = fresh('lost')
    const one = task(name, () => 1)
    const of = { events: ['run.completed'], secret: 'OPS', workflows: [name] } as const
    const webhooks = [
      { id: 'gone', url: gone.url, ...of },
      { id: 'moved', url: moved.url, ...of },
      { id: 'private', url: 'http://10.0.0.1/t0ken', ...of },
    ]
    const http = { allow: [...gone.allow, ...moved.allow], secrets }
    const engine = await world.open([one], { options: { http, webhooks } })
    const { id } = await engine.run(one)
    const errors = async () =>
      (await deliveriesOf(engine, id)).map(({ status, error, tags }) => {
        return `${tags.webhook} ${status} ${error?.code} ${error?.message}`
      })
    await eventually(async () => (await errors()).sort()).toEqual([
      'gone failed WEBHOOK_FAILED Webhook "gone" was not delivered: its receiver answered 410.',
      'moved failed WEBHOOK_FAILED Webhook "moved" was not delivered: it was redirected.',
      'private failed WEBHOOK_FAILED Webhook "private" was not delivered: 10.0.0.1 is not of the public internet.',
    ])
    expect(moved.received).toHaveLength(1)
    const [delivery] = await deliveriesOf(engine, id)
    expect(JSON.stringify(delivery)).not.toContain('t0ken')
  })

  test('a delivery whose target was taken away is not sent', async () => {
    const receiver = await openReceiver(() => 500)
    const name = fresh('away')
    const one = task(name, () => 1)
    const engine = await world.open([one], { options: optionsOf(receiver, { workflows: [name] }) })
    const { id } = await engine.run(one)
    await eventually(() => receiver.received.length).toBeGreaterThan(0)
    await world.open([], { options: { webhooks: [] } })
    expect(await engine.webhooks.targets()).toEqual([])
    const [delivery] = await deliveriesOf(engine, id)
    await expect
      .poll(() => engine.get(delivery?.id ?? ''), { timeout: 30_000, interval: 50 })
      .toMatchObject({ output: { delivered: false } })
  })

  test('nobody can have something signed that has not happened', async () => {
    const receiver = await openReceiver()
    const engine = await world.open([], { options: optionsOf(receiver) })
    const input = { target: 'ops', uid: fresh(), seq: 2, event: 'run.completed', runId: 'o-1' }
    const forged = await engine.run(DELIVERY as never, input as never)
    expect(forged).toMatchObject({ status: 'failed', error: { code: 'WEBHOOK_FAILED' } })
    expect(receiver.received).toEqual([])
  })

  test('targets that cannot be are refused', async () => {
    const good = { id: 'a', url: 'https://x.example/', events: ['run.failed'], secret: 'S' }
    for (const webhooks of [
      {},
      [null],
      [{ ...good, id: 'a b' }],
      [{ ...good, url: 'ftp://x' }],
      [{ ...good, url: 'https://a:b@x.example/' }],
      [{ ...good, events: [] }],
      [{ ...good, events: ['step.completed'] }],
      [{ ...good, secret: '' }],
      [{ ...good, workflows: ['a b'] }],
      [{ ...good, workspace: '' }],
      [{ ...good, output: 1 }],
      [good, good],
    ]) {
      const refused = await refusalOf(world.open([], { options: { webhooks } }))
      expect([JSON.stringify(webhooks), refused.code]).toEqual([
        JSON.stringify(webhooks),
        'OPTION_INVALID',
      ])
    }
  })
})

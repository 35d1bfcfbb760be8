// What is inferred, exactly, where nothing is registered. Never executed; npm test checks the types.

import {
  type Client,
  createEngine,
  type Definition,
  type Duration,
  duration,
  type Engine,
  type InputOf,
  type OutputOf,
  PerdureError,
  type Schema,
  task,
  typed,
  type Wf,
  workflow,
} from '../../src/index.js'

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function same<A, B>(proof: Equal<A, B>): void

declare const stripe: {
  charge(amount: number, options: { idempotencyKey: string }): Promise<{ id: string }>
}
declare function validate(order: { id: string; amount: number }): void
declare const crm: { create(user: { id: string; email: string }): Promise<{ crmId: string }> }
/** In and out apart: `express` has a default. */
declare const orderSchema: Schema<
  { id: string; express?: boolean | undefined },
  { id: string; express: boolean }
>
declare const goSchema: Schema<{ n?: number | undefined }, { n: number }>

class CardDeclined extends Error {
  override name = 'CardDeclined'
}

// the first program of the README
export const order = workflow(
  'order',
  { signals: { approval: typed<{ ok: boolean; by: string }>() } },
  async (wf, order: { id: string; amount: number }) => {
    await wf.do('validate', () => validate(order))
    const payment = await wf.do(
      'charge',
      (step) => stripe.charge(order.amount, { idempotencyKey: step.key }),
      { retries: 3, retryDelay: '2s' },
    )
    const approval = await wf.waitFor('approval', { timeout: '24h' })
    if (!approval.ok) return wf.cancel(`refused by ${approval.by}`)
    await wf.sleep('cooling-off period', '2 days')
    await wf.transaction('ship', (tx) =>
      tx.query('insert into shipments values ($1, $2)', [order.id, payment.id]),
    )
    return payment
  },
)
same<InputOf<typeof order>, { id: string; amount: number }>(true)
// `return wf.cancel()` does not widen the output
same<OutputOf<typeof order>, { id: string }>(true)

// tasks, by definition and by name
export const createUser = task('createUser', async (input: { email: string }, step) => {
  step.log.info('creating', { email: input.email })
  return { id: `user-${step.key}`, email: input.email }
})
export const sendEmail = task(
  'sendEmail',
  { retry: 5, timeout: '10s' },
  async (input: { to: string }) => input.to,
)
export const warmCaches = task('warmCaches', async () => 12)

export const signup = workflow('signup', async (wf, input: { email: string }) => {
  const user = await wf.do('Create user', createUser, { email: input.email }, { retries: 3 })
  const [crmUser, warmed, unknown] = await Promise.all([
    wf.do('Add to CRM', async () => crm.create(user), { retries: 2, retryDelay: '3s' }),
    wf.do('Warm caches', warmCaches, undefined, { retries: 1 }),
    wf.do('Welcome', 'sendEmail', { to: user.email }),
    wf.do('Warm again', warmCaches),
  ])
  same<typeof unknown, unknown>(true)
  const verified = await wf.waitFor('verified', { timeout: '1h', orNull: true })
  if (verified === null) await wf.do('Remind', sendEmail, { to: user.email })
  return { userId: user.id, crmId: crmUser.crmId, warmed: warmed + 1 }
})

// a workflow as a child
export const parent = workflow('parent', async (wf, email: string) => {
  const { crmId } = await wf.do('sign up', signup, { email }, { retry: { attempts: 2 } })
  return crmId.length
})

// schemas: a sender may leave out what has a default, the receiver always has it
export const checked = workflow(
  'checked',
  { version: '2', input: orderSchema, signals: { go: goSchema, stop: typed<string>() } },
  async (wf, input) => {
    same<typeof input, { id: string; express: boolean }>(true)
    const { n } = await wf.waitFor('go')
    const message = await wf.waitFor(['go', 'stop'], { timeout: wf.now(), orNull: true })
    if (message?.name === 'go') return message.payload.n + n
    if (message?.name === 'stop') return message.payload.length
    return wf.random() + wf.uuid().length + (wf.patched('x') ? 1 : 0)
  },
)
same<InputOf<typeof checked>, { id: string; express?: boolean | undefined }>(true)
same<OutputOf<typeof checked>, number>(true)

export const retrying = workflow('retrying', async (wf) => {
  await wf.do('a', async () => 1, {
    retry: {
      attempts: 3,
      delay: '2s',
      maxDelay: '1d',
      jitter: true,
      stopOn: [CardDeclined, 'Gone'],
    },
    timeout: '30s',
  })
  await wf.do('b', async (step) => fetch('http://x.example', { signal: step.signal }).then(() => 1))
  await wf.sleepUntil('later', new Date(wf.now().getTime() + 1_000))
  await wf.sleepUntil('a Temporal value', { epochMilliseconds: 5 })
  const loose = await wf.waitFor('x', { schema: typed<{ a: number }>() })
  same<typeof loose, { a: number }>(true)
})

// helpers take a plain Wf; typed ones fit
async function remind(wf: Wf, who: string): Promise<number> {
  await wf.sleep(`wait for ${who}`, '1d')
  return wf.do(`remind ${who}`, async () => who.length)
}
export const helped = workflow(
  'helped',
  { signals: { go: typed<{ n: number }>() } },
  async (wf, _input: string) => remind(wf, 'ada'),
)

export const durations: Duration[] = ['7d', '5min', '2 days', '100ms', 5000, duration('1h')]

// the engine reads the types of its definitions
export async function use(): Promise<void> {
  await using engine = await createEngine({
    workflows: [order, signup, checked, warmCaches],
    worker: { concurrency: 10, lease: '10s' },
    database: undefined,
    retention: false,
  })
  const run = await engine.start(order, { id: 'o-1', amount: 100 }, { id: 'o-1', tags: { a: 'b' } })
  await run.signal('approval', { ok: true, by: 'ada' }, { id: 'm-1' })
  same<Awaited<ReturnType<typeof run.result>>, { id: string }>(true)
  const byName = await engine.start('order', { id: 'o2', amount: 5 }, { id: undefined })
  const seen = await byName.get()
  if (seen.status === 'completed') seen.output.id.toUpperCase()
  if (seen.status === 'waiting') seen.reason satisfies string
  if (seen.status === 'failed' && seen.retryable) seen.error.message.toUpperCase()
  await (await engine.start(checked, { id: 'x' })).signal('go', {})
  await engine.start(warmCaches)
  await engine
    .handle('signup', 'id')
    .result({ timeout: '1h', signal: new AbortController().signal })
  const outcome = await engine.run(order, { id: 'o3', amount: 1 }, { stateless: true })
  if (outcome.status === 'completed') outcome.output.id.toUpperCase()
  for await (const info of engine.list({ workflow: 'order', status: ['failed', 'canceled'] })) {
    if (info.status === 'completed') info.output.id.toUpperCase()
  }
  const { items, next } = await engine.history('o-1', { limit: 5, after: 'x', order: 'newest' })
  items.map((entry) => entry.kind + next)
  const stop = engine.on('step.failed', (event) => event.retryAt?.getTime())
  stop()
  const acme = engine.workspace('acme')
  await acme.start(order, { id: 'o4', amount: 1 })
  const message = { name: 'approval', payload: { ok: true, by: 'ada' } } as const
  await acme.start(order, { id: 'o5', amount: 1 }, { priority: 9, delay: '1h', message })
  const many = await engine.startMany(order, [
    { input: { id: 'o6', amount: 1 }, options: { id: 'o6', message } },
    { input: { id: 'o7', amount: 1 } },
  ])
  await many[0]?.signal('approval', { ok: true, by: 'ada' })
  await engine.startMany(warmCaches, [{}, { options: { id: 'w' } }])
  const started = await engine.transaction(async (tx) => {
    await tx.query('insert into orders values ($1)', ['o-8'])
    await run.signal('approval', { ok: true, by: 'ada' }, { transaction: tx })
    await engine.start(warmCaches, undefined, { transaction: tx })
    return engine.start(order, { id: 'o-8', amount: 1 }, { transaction: tx })
  })
  same<typeof started, { readonly id: string }>(true)
  await engine.pause('o-1')
  await run.resume()
  await engine.retry('o-1', { expectedAttempt: 1 })
  await engine.fork('o-1', { from: 'charge', input: { a: 1 }, outputs: { charge: 5 }, id: 'f' })
  try {
    await run.result()
  } catch (error) {
    if (PerdureError.is(error, 'INPUT_INVALID')) error.details.issues.map((issue) => issue.message)
    if (PerdureError.is(error)) error.code satisfies string
  }
}

// where types are not known, nothing is in the way
export async function loose(engine: Engine, client: Client): Promise<unknown> {
  const run = await engine.start('anything', { a: 1 }, { id: 'x' })
  await run.signal('whatever', { b: 2 })
  for await (const info of engine.list({ workflow: 'order', status: 'failed' })) info.id.trim()
  await client.signal('id', 'name', { any: 'thing' })
  return run.result()
}
export async function passes(): Promise<void> {
  const engine = await createEngine({ workflows: [order, signup] })
  await loose(engine, engine)
  const plain: Engine = engine
  await plain.close()
  const client = await createEngine({ worker: false })
  await client.start('order', { id: 'x' })
  await client.start('order')
  const some: readonly Definition[] = [order, signup]
  await createEngine({ workflows: some })
}

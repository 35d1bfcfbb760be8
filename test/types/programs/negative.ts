// Every mistake below must be refused by the compiler. (tsc fails on an unused @ts-expect-error.)
// Those about what is not built yet wait in ../later/negative.ts.
import {
  createEngine,
  type Duration,
  duration,
  fatal,
  PerdureError,
  ref,
  retryAfter,
  task,
  typed,
  workflow,
} from 'perdure'
import { order } from './01-order.js'
import { createUser, signup, warmCaches } from './02-signup.js'
import { subscription } from './03-subscription.js'
import { CardDeclined } from './services.js'

// time
const ok: Duration[] = ['7d', '5min', '2 days', '100ms', 5000, duration(process.env.DELAY ?? '1h')]
// @ts-expect-error not a unit
export const d1: Duration = '7 dayz'
// @ts-expect-error not whole
export const d2: Duration = '1.5h'
// @ts-expect-error a variable text must be parsed first
export const d3: Duration = String(ok)
// @ts-expect-error duration() parses texts
duration(5)

export const w = workflow(
  'w',
  { signals: { go: typed<{ n: number }>(), stop: typed<string>() } },
  async (wf, input: { k: string }) => {
    // @ts-expect-error swapped
    await wf.sleep('2 days', 'cooling off')
    // @ts-expect-error a name is needed
    await wf.sleep('2 days')
    // @ts-expect-error a number is a duration, not a moment
    await wf.sleepUntil('later', 12345)
    // @ts-expect-error typo in the input
    await wf.do('u', createUser, { emial: input.k })
    // @ts-expect-error input is missing
    await wf.do('u', createUser)
    // @ts-expect-error options in the place of an input the task does not have
    await wf.do('u', warmCaches, { retries: 3 })
    // @ts-expect-error options of the wrong kind
    await wf.do('u', async () => 1, { retires: 3 })
    // @ts-expect-error both spellings
    await wf.do('u', async () => 1, { retries: 3, retry: 3 })
    // @ts-expect-error not a duration
    await wf.do('u', async () => 1, { timeout: 'soon' })
    // @ts-expect-error unknown field of the policy
    await wf.do('u', async () => 1, { retry: { attemps: 3 } })
    // @ts-expect-error no predicates: stopOn is data
    await wf.do('u', async () => 1, { retry: { stopOn: [(error: Error) => error.name === 'x'] } })
    // @ts-expect-error unknown event
    await wf.waitForEvent('lead.creatd')
    // @ts-expect-error unknown event
    wf.emit('lead.creatd', { id: 'l-1' })
    // @ts-expect-error wrong payload
    wf.emit('lead.created', { id: 5 })
    // @ts-expect-error the payload has no such field
    ;(await wf.waitForEvent('lead.created', { match: { id: input.k } })).score
    // @ts-expect-error past its timeout it is null
    ;(await wf.waitForEvent('lead.created', { timeout: '1h', orNull: true })).id
    // @ts-expect-error child input
    await wf.start('c', createUser, { topic: 'x' })
    // @ts-expect-error no such option
    await wf.start('c', createUser, { email: 'x' }, { detach: true })
    // @ts-expect-error not a workflow's signal
    await wf.handle(order, 'o').signal('aproval', { ok: true, by: input.k })
    // @ts-expect-error wrong payload
    await (await wf.start('s', order, { id: 'o', amount: 1, email: 'x' })).signal('approval', {})
    // @ts-expect-error a run elsewhere cannot be triggered from here
    await wf.handle(order, 'o').trigger('approval', { ok: true, by: input.k })
    // @ts-expect-error not a registered task
    await wf.do('u', 'creatUser', { email: 'x' })
    // @ts-expect-error registered, wrong input
    await wf.do('u', 'createUser', { email: 5 })
    // @ts-expect-error registered, input is missing
    await wf.do('u', 'createUser')
    // @ts-expect-error the name of a ref is the name of its definition
    await wf.do('u', ref<typeof createUser>('creatUser'), { email: 'x' })
    // @ts-expect-error the input of a ref
    await wf.do('u', ref<{ a: number }, { b: string }>('elsewhere'), { a: 'x' })
    // @ts-expect-error the output of a ref
    ;(await wf.do('u', ref<{ a: number }, { b: string }>('elsewhere'), { a: 1 })).c
    // @ts-expect-error the result of a step has a type
    ;(await wf.do('u', async () => 1)).length
    // @ts-expect-error the result of a task has a type
    ;(await wf.do('u', createUser, { email: 'x' })).nope
    // @ts-expect-error the input of a child
    await wf.do('u', signup, { mail: 'x' })
    // @ts-expect-error a step has no such thing
    await wf.do('u', async (step) => step.kee)
    // @ts-expect-error options of a transaction
    await wf.transaction('t', async (tx) => tx.query('select 1'), { retires: 3 })
    // @ts-expect-error tx has no such method
    await wf.transaction('t', async (tx) => tx.quary('select 1'))
    // @ts-expect-error undeclared signal
    await wf.waitFor('gone')
    // @ts-expect-error one of several is undeclared
    await wf.waitFor(['go', 'gone'])
    // @ts-expect-error orNull needs a timeout
    await wf.waitFor('go', { orNull: true })
    // @ts-expect-error may be null
    ;(await wf.waitFor('go', { timeout: '1h', orNull: true })).n
    const many = await wf.waitFor(['go'])
    // @ts-expect-error payload is { n }
    many.payload.m
    const either = await wf.waitFor(['go', 'stop'])
    // @ts-expect-error look at the name first
    either.payload.n
    if (either.name === 'go') either.payload.n.toFixed()
    // @ts-expect-error a Date
    wf.now() satisfies number
    // @ts-expect-error synchronous: a boolean
    wf.patched('x').then
    // @ts-expect-error ends the run: nothing comes back
    ;(await wf.cancel('enough')).more
  },
)

// @ts-expect-error the input is not declared
workflow('v', async (_wf, { k }) => k)
// @ts-expect-error unknown option
workflow('v', { vresion: '2' }, async () => 1)
// @ts-expect-error not a schema
workflow('v', { signals: { go: 5 } }, async () => 1)
// @ts-expect-error both spellings
task('t', { retries: 1, retry: 1 }, async () => 1)
// @ts-expect-error an error or a text
fatal(5)
// @ts-expect-error how long is missing
retryAfter(new CardDeclined('x'))

// engine
export const engine = await createEngine({ workflows: [order, signup, subscription, w] })
// @ts-expect-error unknown option
await createEngine({ workflow: [order] })
// @ts-expect-error not a definition
await createEngine({ workflows: [async () => 1] })
// @ts-expect-error classes, not names
await createEngine({ errors: ['CardDeclined'] })
// @ts-expect-error classes of errors
await createEngine({ errors: [class Card {}] })
// @ts-expect-error typo in the input
await engine.start(order, { id: 'o1', amuont: 5, email: 'x' })
// @ts-expect-error input is missing
await engine.start(order)
// @ts-expect-error unknown option
await engine.start(order, { id: 'o1', amount: 5, email: 'x' }, { idd: 'x' })
// @ts-expect-error options in the place of an input it does not have
await engine.start(warmCaches, { id: 'x' })
// @ts-expect-error typo in the name
await engine.start('ordr', {})
// @ts-expect-error wrong input by name
await engine.start('order', { wrong: true })
const h = await engine.start(order, { id: 'o1', amount: 5, email: 'x' }, { id: undefined })
// @ts-expect-error undeclared signal
await h.signal('aproval', { ok: true, by: 'x' })
// @ts-expect-error wrong payload
await h.signal('approval', { ok: 'yes', by: 'x' })
// @ts-expect-error payload missing
await h.signal('approval')
// @ts-expect-error no such output
;(await h.result()).trackingIdd
// @ts-expect-error not a duration
await h.result({ timeout: 'soon' })
// @ts-expect-error typed by name
;(await engine.handle('order', 'x').result()).nope
// @ts-expect-error typed by its definition
await engine.handle(order, 'x').signal('aproval', { ok: true, by: 'x' })
// @ts-expect-error no such definition
engine.handle('ordr', 'x')
// @ts-expect-error typo in the filter
engine.list({ stauts: 'failed' })
// @ts-expect-error typo in the status
engine.list({ status: 'faild' })
// @ts-expect-error no such workflow
engine.list({ workflow: 'ordr' })
// @ts-expect-error no such event
engine.on('run.complete', () => {})
// @ts-expect-error no such field
engine.on('run.completed', (e) => e.idd)
// @ts-expect-error may be null
;(await engine.get('x')).status
const info = await h.get()
// @ts-expect-error only a completed run has an output
info.output.trackingId
// @ts-expect-error only a waiting run has a reason
info.reason
const outcome = await engine.run(order, { id: 'o3', amount: 1, email: 'x' })
// @ts-expect-error look at the status first
outcome.output.trackingId

// errors
declare const error: unknown
// @ts-expect-error no such code
PerdureError.is(error, 'INPUT_INVALD')
// @ts-expect-error those details are of another code
if (PerdureError.is(error, 'ID_TAKEN')) error.details.issues
// @ts-expect-error not narrowed yet
error.code

// operating
const one = { id: 'o1', amount: 5, email: 'x' }
// @ts-expect-error undeclared first message
await engine.start(order, one, { message: { name: 'go', payload: 1 } })
const inside = engine.transaction(async (transaction) =>
  engine.start(order, { id: 'o1', amount: 5, email: 'x' }, { transaction }),
)
// @ts-expect-error before the commit there is nothing to wait for
;(await inside).result
// @ts-expect-error input is missing
await engine.startMany(order, [{ options: { id: 'x' } }])
// @ts-expect-error not a duration
await createEngine({ retention: 'for ever' })
// @ts-expect-error a step's name or a position
await engine.fork('x', { from: new Date() })

export const scoped = workflow('scoped', { state: typed<{ at: string }>() }, async (wf) => {
  // @ts-expect-error undo gets the number
  await wf.do('u', async () => 1, { undo: (x: string) => x })
  // @ts-expect-error wrong state
  wf.setState({ att: 'x' })
  // @ts-expect-error the state of the loop has another shape
  await wf.loop('l', { n: 1 }, async (_wf, s) => ({ m: s.n }))
  const never = await wf.race('r', { a: async () => 1, b: async () => 'x' })
  // @ts-expect-error number or text
  never.value.length
  if (never.winner === 'b') never.value.length
})

// events and calls
const elsewhere = await createEngine({ events: { 'lead.created': typed<{ id: string }>() } })
const sub = await createEngine({ workflows: [subscription] }).then((e) =>
  e.handle(subscription, 's'),
)
// @ts-expect-error unknown event
await elsewhere.emit('lead.creatd', {})
// @ts-expect-error wrong payload
await elsewhere.emit('lead.created', { id: 5 })
// @ts-expect-error not a signal of it
await sub.trigger('chance', { plan: 'pro' })
// @ts-expect-error wrong payload
await sub.trigger('change', { plan: 'free' })
// @ts-expect-error not a duration
await sub.trigger('change', { plan: 'pro' }, { within: 'soon' })
// @ts-expect-error not a plan
if ((await sub.trigger('change', { plan: 'pro' })).state.plan === 'free') process.exit()

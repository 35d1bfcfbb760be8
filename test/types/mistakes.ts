// Every mistake below must be refused by the compiler: an unused @ts-expect-error fails. Never executed.

import { createEngine, type Duration, task, typed, workflow } from '../../src/index.js'
import { createUser, durations, order, signup, warmCaches } from './programs.js'

// time
// @ts-expect-error not a unit
export const d1: Duration = '7 dayz'
// @ts-expect-error not whole
export const d2: Duration = '1.5h'
// @ts-expect-error a variable text must be parsed first
export const d3: Duration = String(durations)

export const w = workflow(
  'w',
  { signals: { go: typed<{ n: number }>() } },
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
    // @ts-expect-error a class is not a step
    await wf.do('u', class {})
    // @ts-expect-error options of a transaction
    await wf.transaction('t', async (tx) => tx.query('select 1'), { retires: 3 })
    // @ts-expect-error tx has no such method
    await wf.transaction('t', async (tx) => tx.quary('select 1'))
    // @ts-expect-error undeclared signal
    await wf.waitFor('gone')
    // @ts-expect-error orNull needs a timeout
    await wf.waitFor('go', { orNull: true })
    // @ts-expect-error may be null
    ;(await wf.waitFor('go', { timeout: '1h', orNull: true })).n
    const many = await wf.waitFor(['go'])
    // @ts-expect-error payload is { n }
    many.payload.m
    // @ts-expect-error the result of a step has a type
    ;(await wf.do('u', async () => 1)).length
    // @ts-expect-error the result of a task has a type
    ;(await wf.do('u', createUser, { email: 'x' })).nope
    // @ts-expect-error a child's input
    await wf.do('u', signup, { mail: 'x' })
    // @ts-expect-error a date is not what now() is compared with
    wf.now() satisfies number
    // @ts-expect-error synchronous: a boolean
    wf.patched('x').then
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

export const engine = await createEngine({ workflows: [order, signup, w] })
// @ts-expect-error unknown option
await createEngine({ workflow: [order] })
// @ts-expect-error not a definition
await createEngine({ workflows: [async () => 1] })
// @ts-expect-error typo in the input
await engine.start(order, { id: 'o1', amuont: 5 })
// @ts-expect-error input is missing
await engine.start(order)
// @ts-expect-error unknown option
await engine.start(order, { id: 'o1', amount: 5 }, { idd: 'x' })
// @ts-expect-error typo in the name
await engine.start('ordr', {})
// @ts-expect-error wrong input by name
await engine.start('order', { wrong: true })
const h = await engine.start(order, { id: 'o1', amount: 5 }, { id: undefined })
// @ts-expect-error undeclared signal
await h.signal('aproval', { ok: true, by: 'x' })
// @ts-expect-error wrong payload
await h.signal('approval', { ok: 'yes', by: 'x' })
// @ts-expect-error payload missing
await h.signal('approval')
// @ts-expect-error no such output
;(await h.result()).idd
// @ts-expect-error not a duration
await h.result({ timeout: 'soon' })
// @ts-expect-error typo in the filter
engine.list({ stauts: 'failed' })
// @ts-expect-error typo in the status
engine.list({ status: 'faild' })
// @ts-expect-error no such event
engine.on('run.complete', () => {})
// @ts-expect-error no such field
engine.on('run.completed', (e) => e.idd)
// @ts-expect-error may be null
;(await engine.get('x')).status
const info = await h.get()
// @ts-expect-error only a completed run has an output
info.output.id
// @ts-expect-error only a waiting run has a reason
info.reason
const outcome = await engine.run(order, { id: 'o3', amount: 1 })
// @ts-expect-error look at the status first
outcome.output.id
// @ts-expect-error typed by name
;(await engine.handle('order', 'x').result()).nope
// @ts-expect-error no such definition
engine.handle('ordr', 'x')
// @ts-expect-error undeclared first message
await engine.start(order, { id: 'o1', amount: 5 }, { message: { name: 'go', payload: 1 } })
const inside = engine.transaction(async (transaction) =>
  engine.start(order, { id: 'o1', amount: 5 }, { transaction }),
)
// @ts-expect-error before the commit there is nothing to wait for
;(await inside).result
// @ts-expect-error input is missing
await engine.startMany(order, [{ options: { id: 'x' } }])
// @ts-expect-error not a duration
await createEngine({ retention: 'for ever' })
// @ts-expect-error a step's name or a position
await engine.fork('x', { from: new Date() })

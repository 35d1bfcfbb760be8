// The test kit: programs that must compile, and mistakes that must not. Never executed.

import { type Step, task, typed, workflow } from 'perdure'
import {
  crashEverywhere,
  createTestEngine,
  effect,
  simulate,
  type TestEngine,
} from 'perdure/testing'

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function same<A, B>(proof: Equal<A, B>): void

const charge = task('charge', async (input: { amount: number }) => ({
  paymentId: `${input.amount}`,
}))
const order = workflow(
  'order',
  { signals: { approval: typed<{ ok: boolean }>() } },
  async (wf, input: { id: string }) => {
    const payment = await wf.do('charge', charge, { amount: 1 })
    return { ...payment, id: input.id }
  },
)

export async function programs() {
  await using engine = await createTestEngine({
    workflows: [order, charge],
    now: new Date(),
    seed: 3,
    patience: '1s',
  })
  const run = await engine.start(order, { id: 'o-1' })
  const byName = await engine.start('order', { id: 'o-2' })
  await byName.signal('approval', { ok: true })
  const clock: Date = engine.now()
  await engine.settle()
  await engine.advance('2 days')
  await engine.advance(500)
  await engine.crash()
  engine.crashAt('charge')
  engine.crashAt('charge', 'before')

  const charged = engine.stub(charge, (input) => ({ paymentId: `p-${input.amount}` }))
  same<typeof charged.calls, readonly { amount: number }[]>(true)
  const later = engine.stub(charge, async (_, step) => ({ paymentId: step.key }))
  const inline = engine.stub(order, 'pack', (step) => step.attempt)
  same<typeof inline.calls, readonly Step[]>(true)
  const whole = engine.stub(order, ({ id }) => ({ paymentId: 'p', id }))
  same<typeof whole.calls, readonly { id: string }[]>(true)
  const times: number = engine.executions(run.id, 'charge')

  const everywhere = await crashEverywhere(
    () => createTestEngine({ workflows: [order, charge] }),
    async (engine) => (await engine.start(order, { id: 'o-1' })).result(),
  )
  same<
    typeof everywhere,
    { readonly commits: number; readonly output: { id: string; paymentId: string } }
  >(true)
  const bank = effect('bank', async (amount: number, key?: string) => ({ amount, key }))
  same<
    typeof bank,
    (amount: number, key?: string) => Promise<{ amount: number; key: string | undefined }>
  >(true)
  const report = await simulate(order, {
    input: { id: 'o-1' },
    workflows: [charge],
    seeds: 200,
    crash: 'every-step',
    faults: ['duplicates', 'delays', 'lost-answers', 'pauses'],
    repeatable: ['pack'],
    setup: (engine) => engine.stub(charge, ({ amount }) => ({ paymentId: `p-${amount}` })),
    engine: { now: new Date() },
  })
  const seed: number | undefined = report.finding?.seed
  await simulate(order, {
    seeds: [seed ?? 1],
    crash: false,
    scenario: async (engine) => {
      const run = await engine.start(order, { id: 'o-1' })
      await run.signal('approval', { ok: true })
      return run.result()
    },
  })
  const any: TestEngine = engine
  return { clock, charged, later, times, any }
}

export async function mistakes() {
  // @ts-expect-error the input has another shape
  await simulate(order, { input: { name: 'o-1' } })
  // @ts-expect-error not a fault
  await simulate(order, { faults: ['fire'] })
  // @ts-expect-error not a kind of crash
  await simulate(order, { crash: 'often' })
  // @ts-expect-error the seed is that of the simulation
  await simulate(order, { engine: { seed: 1 } })
  // @ts-expect-error the key is made of the arguments
  effect('bank', (amount: number) => amount, { key: (amount: string) => amount })
  const engine = await createTestEngine({ workflows: [order, charge] })
  // @ts-expect-error not a duration
  await engine.advance('2 dayz')
  // @ts-expect-error only before and after
  engine.crashAt('charge', 'while')
  // @ts-expect-error the output has another shape
  engine.stub(charge, () => ({ payment: 'p' }))
  // @ts-expect-error the input has no such field
  engine.stub(charge, (input) => ({ paymentId: input.price }))
  // @ts-expect-error a step is named by a text
  engine.stub(order, 1, () => 1)
  // @ts-expect-error the step has no such field
  engine.stub(order, 'pack', (step) => step.amount)
  // @ts-expect-error not known to this engine
  await engine.start('ordr', { id: 'x' })
  // @ts-expect-error a test engine has a database of its own
  await createTestEngine({ workflows: [order], database: 'postgres://localhost/db' })
  // @ts-expect-error a Date
  await createTestEngine({ workflows: [order], now: '2026-01-01' })
  // @ts-expect-error calls cannot be changed
  engine.stub(charge, () => ({ paymentId: 'p' })).calls.push({ amount: 1 })
  const open = async () => ({})
  // @ts-expect-error not a test engine
  await crashEverywhere(open, async () => 1)
}

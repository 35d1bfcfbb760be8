// An order is shipped if three checks, which run side by side, all find it fine. First as JSON, then with the builder.

import { cel, createEngine, graph, task, typed } from 'perdure'

type Order = { id: string; amount: number }
const credit = task('credit', async ({ amount }: { amount: number }) => ({
  isFine: amount <= 1_000,
}))
const fraud = task('fraud', async (_: { id: string }) => ({ isFine: true }))
const stock = task('stock', async (_: { id: string }) => ({ isFine: true }))

const check = (name: string, input: object) =>
  ({ id: name, type: 'task', config: { task: name, input }, retry: 2 }) as const
const id = { cel: 'input.id' }
const checks = graph({
  id: 'order-checks',
  nodes: [
    check('credit', { amount: { cel: 'input.amount' } }),
    check('fraud', { id }),
    check('stock', { id }),
    {
      id: 'fine',
      type: 'condition',
      config: { if: { cel: 'credit.isFine && fraud.isFine && stock.isFine' } },
    },
    { id: 'ship', type: 'set', config: { answer: 'shipped' } },
    { id: 'hold', type: 'set', config: { answer: 'held back' } },
  ],
  edges: [
    { from: 'trigger', to: 'credit' },
    { from: 'trigger', to: 'fraud' },
    { from: 'trigger', to: 'stock' },
    { from: 'credit', to: 'fine' },
    { from: 'fraud', to: 'fine' },
    { from: 'stock', to: 'fine' },
    { from: 'fine', to: 'ship', when: true },
    { from: 'fine', to: 'hold', when: false },
  ],
  output: { cel: 'answer' },
})

const built = graph('order-checks-built', { input: typed<Order>() }, (g) => {
  const checked = g.fork('checks', {
    credit: () => g.do('credit', credit, { amount: g.input.amount }, { retry: 2 }),
    fraud: () => g.do('fraud', fraud, { id: g.input.id }, { retry: 2 }),
    stock: () => g.do('stock', stock, { id: g.input.id }, { retry: 2 }),
  })
  const { credit: c, fraud: f, stock: s } = checked
  g.condition('fine', cel`${c.isFine} && ${f.isFine} && ${s.isFine}`, {
    then: () => g.set('ship', { answer: 'shipped' }),
    else: () => g.set('hold', { answer: 'held back' }),
  })
  return cel`answer`
})

const workflows = [checks, built, credit, fraud, stock] as const
const engine = await createEngine({ database: 'memory:', workflows })
for (const amount of [100, 5_000]) {
  const order = { id: `o-${amount}`, amount }
  const runs = [await engine.start(checks, order), await engine.start(built, order)]
  console.log(amount, await Promise.all(runs.map((run) => run.result())))
}
// → 100 [ 'shipped', 'shipped' ]
// → 5000 [ 'held back', 'held back' ]
await engine.close()

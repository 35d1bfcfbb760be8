// Many children at once, and one transition that hears how all of them ended. node examples/machines/fan-out.mjs, after npm run
// build.

import { createEngine, machine, task } from '../../dist/index.js'

const price = task('price', async (item) => {
  if (item === 'unicorn') throw new Error('there is no such thing')
  return item.length
})

const offer = machine('offer', {
  transitions: {
    ask: {
      to: 'asking',
      run: async (_state, ctx) => {
        const children = ctx.input.map((item) => [price, item])
        await ctx.allSettled(children, { callback: 'asked' })
      },
    },
    asked: {
      from: 'asking',
      to: 'end',
      wait: true,
      run: async (_state, { output }) =>
        output.map((one) => (one.status === 'completed' ? one.output : one.error.message)),
    },
  },
})

const engine = await createEngine({ workflows: [offer, price], database: 'memory:' })
const run = await engine.start(offer, ['pen', 'paper', 'unicorn'])
console.log(await run.result())
await engine.close()

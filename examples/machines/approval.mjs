// A draft that somebody approves, sends back, or forgets. node examples/machines/approval.mjs, after npm run build.

import { createEngine, machine } from '../../dist/index.js'

const review = machine('review', {
  transitions: {
    write: {
      to: 'reviewing',
      run: async (state, ctx) => {
        state.rounds = (state.rounds ?? 0) + 1
        state.text = `About ${ctx.input.topic}, version ${state.rounds}`
      },
    },
    approve: {
      from: 'reviewing',
      to: 'end',
      wait: true,
      guard: (_state, by, ctx) => by === ctx.input.owner,
      run: async (state, by) => `${state.text}, approved by ${by}`,
    },
    reject: { from: 'reviewing', to: 'start', wait: true },
    expire: {
      from: 'reviewing',
      to: 'end',
      after: '7 days',
      run: async () => 'nobody has read it',
    },
  },
})

const engine = await createEngine({ workflows: [review], database: 'memory:' })
const patiently = { within: '30s' }
const run = await engine.start(review, { topic: 'bees', owner: 'ada' })
await run.trigger('reject', undefined, patiently)
await run.trigger('approve', 'bob', { within: '1s' }).catch((error) => console.log(error.code))
await run.trigger('approve', 'ada', patiently)
console.log(await run.result())
await engine.close()

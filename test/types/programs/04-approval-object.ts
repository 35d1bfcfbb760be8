// 4, once more: the class of the approval as a plain object.
import { createEngine, type InputOf, machine, type OutputOf } from 'perdure'
import { z } from 'zod'

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function same<A, B>(proof: Equal<A, B>): void

export const review = machine('review-transitions', {
  input: z.object({ topic: z.string(), owner: z.string() }),
  state: z.object({ draft: z.string().default(''), rounds: z.number().default(0) }),
  output: z.object({ text: z.string(), by: z.string() }),
  transitions: {
    write: {
      to: 'reviewing',
      async run(state, ctx) {
        state.draft = `About ${ctx.input.topic}`
        state.rounds += 1
      },
    },
    approve: {
      from: 'reviewing',
      to: 'end',
      wait: true,
      schema: z.object({ by: z.string(), note: z.string().default('') }),
      guard: (_state, { by }, ctx) => by === ctx.input.owner,
      run: async (state, { by, note }) => ({ text: state.draft + note, by }),
    },
    reject: {
      from: 'reviewing',
      to: 'start',
      wait: true,
      run: (state, note: { text: string }, ctx) => ctx.log.info(note.text + state.draft),
    },
    expire: {
      from: 'reviewing',
      to: 'end',
      after: '7d',
      run: (state) => ({ text: state.draft, by: 'nobody' }),
    },
  },
})
same<InputOf<typeof review>, { topic: string; owner: string }>(true)
same<OutputOf<typeof review>, { text: string; by: string }>(true)

const engine = await createEngine({ workflows: [review] })
const run = await engine.start('review-transitions', { topic: 'bees', owner: 'ada' })
await run.trigger('approve', { by: 'ada' })
await run.trigger('reject')
console.log((await run.result()).text, (await run.get()).state.rounds)

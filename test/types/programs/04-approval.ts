// 4. Human approval, as a decorated class and as a plain object.

import {
  createEngine,
  Document,
  Guard,
  machine,
  Transition,
  type TransitionContext,
  typed,
  Workflow,
} from 'perdure'
import { z } from 'zod'

const Brief = z.object({ topic: z.string(), owner: z.string() })
const State = z.object({ draft: z.string().default(''), rounds: z.number().default(0) })
const Decision = z.object({ by: z.string(), note: z.string().optional() })
type Brief = z.infer<typeof Brief>
type State = z.infer<typeof State>
type Decision = z.infer<typeof Decision>

@Document({ name: 'Draft' })
class DraftDocument {
  title!: string
  text!: string
}

@Workflow({ name: 'review' })
export class Review {
  static input = Brief
  static state = State
  static output = z.object({ text: z.string(), by: z.string() })

  @Transition({ to: 'reviewing' }) // from 'start', as in the seeds
  async write(state: State, ctx: TransitionContext<Brief>) {
    state.draft = `About ${ctx.input.topic}`
    state.rounds += 1
    await ctx.documents.save(
      DraftDocument,
      { title: ctx.input.topic, text: state.draft },
      { key: 'draft' },
    )
  }

  @Transition({ from: 'reviewing', to: 'end', wait: true, schema: Decision })
  @Guard('isOwner')
  async approve(state: State, decision: Decision) {
    return { text: state.draft, by: decision.by }
  }

  @Transition({ from: 'reviewing', to: 'start', wait: true, schema: Decision })
  async reject(state: State, decision: Decision, ctx: TransitionContext<Brief>) {
    ctx.log.info('again', { note: decision.note })
    return { ...state, draft: '' }
  }

  @Transition({ from: 'reviewing', to: 'end', after: '7d' })
  async expire(state: State) {
    return { text: state.draft, by: 'nobody' }
  }

  isOwner(_state: State, decision: Decision, ctx: TransitionContext<Brief>) {
    return decision.by === ctx.input.owner
  }
}

export const review = machine('review-object', {
  initial: 'reviewing',
  context: { text: '', by: null as string | null },
  events: { APPROVE: typed<{ by: string }>(), REJECT: typed<{ by: string; note?: string }>() },
  states: {
    reviewing: {
      timeout: '7d',
      on: {
        APPROVE: {
          target: 'approved',
          guard: ({ event }) => event.by !== '',
          actions: ({ context, event }) => {
            context.by = event.by
          },
        },
        REJECT: {
          target: 'rejected',
          actions: async ({ context, event, documents }) => {
            context.by = event.by
            await documents.save('note', { text: event.note })
          },
        },
        TIMEOUT: 'rejected',
      },
    },
    approved: { final: true },
    rejected: { final: true },
  },
  output: ({ state, context }) => ({ approved: state === 'approved', by: context.by }),
})

const engine = await createEngine({ workflows: [Review, review] })
const run = await engine.start(Review, { topic: 'bees', owner: 'ada' }, { id: 'rev-7' })
await run.trigger('approve', { by: 'ada' })
const { text } = await run.result()
console.log(text.length, (await run.get()).state.rounds)
const other = await engine.start(review, { text: 'hello' })
await other.trigger('APPROVE', { by: 'ada' })
console.log((await other.result()).approved)

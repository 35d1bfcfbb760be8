// 11. Mixing styles: a function awaits a machine, the machine starts a graph, the graph runs a task.
import {
  createEngine,
  type Outcome,
  Transition,
  type TransitionContext,
  typed,
  Workflow,
  workflow,
} from 'perdure'
import { Review } from './04-approval.js'
import { picking } from './06-events.js'
import { routing } from './07-graph.js'

type Lead = { id: string; email: string; conversationId: string; tags: string[] }
@Workflow({ name: 'qualify' })
export class Qualify {
  static input = typed<Lead>()
  static output = typed<{ score: number }>()
  @Transition({ to: 'routing' })
  async begin(_state: object, ctx: TransitionContext<Lead>) {
    await ctx.start(routing, ctx.input, { callback: 'routed' })
  }
  @Transition({ from: 'routing', to: 'end', wait: true })
  async routed(_state: object, outcome: Outcome<{ score: number }>) {
    if (outcome.status !== 'completed') throw new Error(`routing ${outcome.status}`)
    return { score: outcome.output.score }
  }
}

export const campaign = workflow(
  'campaign',
  { signals: { stop: typed<{ why: string }>() } },
  async (wf, lead: Lead) => {
    const { score } = await wf.do('qualify', Qualify, lead, { timeout: '3d' })
    const text = await wf.scope(
      'content',
      async (wf) => {
        const review = await wf.start('review', Review, { topic: `lead ${lead.id}`, owner: 'ada' })
        const end = await wf.race('reviewed or stopped', {
          reviewed: () => review.result(),
          stopped: (wf) => wf.waitFor('stop'),
          late: (wf) => wf.sleep('patience', '14d'),
        })
        if (end.winner === 'reviewed') return end.value.text
        await review.cancel(end.winner === 'stopped' ? end.value.why : 'nobody reviewed')
        return null
      },
      { timeout: '30d' },
    )
    if (text === null) return wf.cancel('nothing to send')
    await wf.do('pick', picking, { items: 1 })
    await wf.handle(Review, 'rev-7').signal('approve', { by: 'ada' })
    const reply = await wf.waitForEvent('inbox.message.received', {
      match: { conversationId: lead.conversationId },
      timeout: '7d',
      orNull: true,
    })
    if (wf.patched('thank-them')) wf.emit('lead.created', { ...lead })
    return { score, text: text.trim(), reply: reply?.text ?? null }
  },
)

const engine = await createEngine({ workflows: [campaign, Qualify, Review, routing, picking] })
const outcome = await engine.run(campaign, { id: 'l', email: 'e', conversationId: 'c', tags: [] })
if (outcome.status === 'completed') console.log(outcome.output.text)
const dry = await engine.run(Review, { topic: 'bees', owner: 'ada' }, { stateless: true })
console.log(dry.status, dry.documents.length, (await engine.explain('rev-7')).sentence)

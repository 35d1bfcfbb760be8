// Definitions of every style, for the stories that tests tell in a browser: small, quick, and failing where a story needs it.

import { z } from 'zod'
import { graph, machine, task, typed, workflow } from '../../src/index.js'

/** The order of the demo: charge fails once, is tried again; then a person has to say yes. */
export const order = workflow(
  'order',
  {
    input: z.object({ id: z.string(), amount: z.number() }),
    signals: {
      approval: z.object({
        ok: z.boolean().describe('Ship it?'),
        note: z.string().optional().describe('For the customer'),
        carrier: z.enum(['post', 'courier']),
      }),
    },
  },
  async (wf, input) => {
    await wf.do('validate', () => input.amount > 0)
    const payment = await wf.do(
      'charge',
      ({ attempt }) => {
        if (attempt === 1) throw new Error('card network down')
        return { id: `pay-${input.id}`, amount: input.amount }
      },
      { retries: 3, retryDelay: '1s' },
    )
    const { carrier } = await wf.waitFor('approval', { timeout: '24h' })
    await wf.do('ship', () => carrier)
    return { payment, carrier }
  },
)

/** Fails for good, until the bank is up. */
export const bank = { isUp: false }
export const refund = workflow('refund', {}, async (wf, input: { id: string }) => {
  await wf.do('look up', () => input.id)
  await wf.do('pay back', () => {
    if (!bank.isUp) throw new Error('the bank is closed')
    return 'paid'
  })
})

/** Its next attempt is an hour away. */
export const patient = workflow('patient', {}, async (wf) => {
  const refuse = () => {
    throw new Error('come back later')
  }
  await wf.do('ask', refuse, { retries: 5, retryDelay: '1h' })
})

type Draft = { text: string; rounds: number }
export const press = { isBroken: true }
export const review = machine('review', {
  input: typed<{ topic: string }>(),
  state: typed<Draft>(),
  transitions: {
    write: {
      to: 'reviewing',
      run: async (state, ctx) => {
        const rounds = (state.rounds ?? 0) + 1
        return { text: `About ${ctx.input.topic}, version ${rounds}`, rounds }
      },
    },
    approve: {
      from: 'reviewing',
      to: 'printing',
      wait: true,
      schema: z.object({ by: z.string().describe('Who says so') }),
      run: async () => {},
    },
    reject: { from: 'reviewing', to: 'start', wait: true, run: async () => {} },
    print: {
      from: 'printing',
      to: 'end',
      run: async (state) => {
        if (press.isBroken) throw new Error('out of paper')
        return state.text
      },
    },
    expire: { from: 'reviewing', to: 'end', after: '7 days', run: async () => 'nobody came' },
  },
})

const enrich = task('enrich', async ({ email }: { email: string }) => ({
  company: email.split('@')[1] ?? '',
  size: email.endsWith('acme.example') ? 500 : 5,
}))
const assign = task('assign', async ({ leadId }: { leadId: string }) => ({ rep: `ada/${leadId}` }))

export const leads = graph({
  id: 'lead-routing',
  nodes: [
    {
      id: 'enriched',
      type: 'task',
      config: { task: 'enrich', input: { email: { cel: 'input.email' } } },
      retry: 3,
    },
    { id: 'large', type: 'condition', config: { if: { cel: 'enriched.size > 50' } } },
    {
      id: 'assigned',
      type: 'task',
      config: { task: 'assign', input: { leadId: { cel: 'input.id' } } },
    },
    { id: 'owned', type: 'set', config: { owner: { cel: 'assigned.rep' } } },
    { id: 'campaign', type: 'set', config: { owner: 'campaign for small companies' } },
  ],
  edges: [
    { from: 'trigger', to: 'enriched' },
    { from: 'enriched', to: 'large' },
    { from: 'large', to: 'assigned', when: true },
    { from: 'assigned', to: 'owned' },
    { from: 'large', to: 'campaign', when: false },
  ],
  output: { company: { cel: 'enriched.company' }, owner: { cel: 'owner' } },
})

export const batch = workflow('batch', {}, async (wf, input: { size: number }) => {
  await wf.setState({ done: 0 })
  const one = (n: number) => wf.do(`item ${n}`, enrich, { email: `n${n}@acme.example` })
  const found = await Promise.all(Array.from({ length: input.size }, (_, n) => one(n)))
  await wf.setState({ done: found.length })
  await wf.sleep('settle', '2 days')
  return found.length
})

/** A family: what the child does is a part of the story of the parent. */
const packed = workflow('packed', {}, async (wf, input: { id: string }) => {
  await wf.do('wrap', () => input.id)
  await wf.do('seal', () => input.id)
})
export const parcel = workflow('parcel', {}, async (wf, input: { id: string }) => {
  await wf.do('weigh', () => 3)
  await wf.do('box', packed, { id: input.id })
  await wf.waitFor('pick-up')
})

export const WORKFLOWS = [
  order,
  refund,
  patient,
  review,
  leads,
  batch,
  packed,
  parcel,
  enrich,
  assign,
]

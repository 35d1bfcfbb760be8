// 7. Lead routing: the same graph as JSON and through the typed builder.

import { cel, createEngine, graph, task } from 'perdure'
import { z } from 'zod'

const Lead = z.object({
  id: z.string(),
  email: z.string(),
  conversationId: z.string(),
  tags: z.array(z.string()),
})
const enrichLead = task('enrichLead', async (_i: { email: string }) => ({
  company: 'acme',
  size: 50,
  site: undefined as string | undefined,
}))
const scoreLead = task('scoreLead', async (_i: { company: string; size: number }) => ({
  value: 90,
}))
const assignRep = task('assignRep', async (_i: { leadId: string; team: 'field' | 'inside' }) => ({
  repId: 'r1',
}))
const nurture = task('nurture', async (_i: { email: string; tag?: string }) => ({ campaign: 'c1' }))
export const events = {
  'lead.created': Lead,
  'inbox.message.received': z.object({ conversationId: z.string(), text: z.string() }),
}
declare module 'perdure' {
  interface Register {
    events: typeof events
  }
}

export const routingJson = graph({
  id: 'lead-routing-json',
  triggers: [{ type: 'event', event: 'lead.created' }],
  settings: { concurrency: 10, perWorkspace: 50, timeout: '30 min' },
  nodes: [
    {
      id: 'enrich',
      type: 'task',
      config: { task: 'enrichLead', input: { email: { cel: 'input.email' } } },
      retry: 3,
    },
    { id: 'hot', type: 'condition', config: { if: { cel: 'enrich.size > 20' } } },
    {
      id: 'assign',
      type: 'task',
      config: { task: 'assignRep', input: { leadId: { cel: 'input.id' }, team: 'field' } },
      parent: 'safe',
    },
    { id: 'safe', type: 'try-catch' },
    {
      id: 'nurture',
      type: 'task',
      config: { task: 'nurture', input: { email: { cel: 'input.email' } } },
    },
    {
      id: 'reply',
      type: 'wait-for-event',
      config: {
        mode: 'event',
        event: 'inbox.message.received',
        match: { conversationId: { cel: 'input.conversationId' } },
      },
      timeout: '24h',
    },
    { id: 'both', type: 'merge' },
  ],
  edges: [
    { from: 'trigger', to: 'enrich' },
    { from: 'enrich', to: 'hot' },
    { from: 'hot', to: 'safe', when: true },
    { from: 'hot', to: 'nurture', when: false },
    { from: 'safe', to: 'reply' },
    { from: 'reply', to: 'both' },
    { from: 'nurture', to: 'both' },
  ],
})

export const routing = graph(
  'lead-routing',
  { input: Lead, triggers: [{ type: 'event', event: 'lead.created' }] },
  (g) => {
    const enriched = g.do('enrich', enrichLead, { email: g.input.email }, { retry: 3 })
    const score = g.retry('steady', { attempts: 2 }, () =>
      g.do('score', scoreLead, { company: enriched.company, size: enriched.size }),
    )
    g.condition('hot', cel`${score.value} >= 80 && ${enriched.size} > 20`, {
      // biome-ignore lint/suspicious/noThenProperty: the word of the graph; nobody awaits this object
      then: () => {
        const rep = g.tryCatch(
          'safe',
          () => g.do('assign', assignRep, { leadId: g.input.id, team: 'field' }),
          (error) => {
            g.http('alert', { url: 'https://hooks.example/alert', body: { text: error.message } })
          },
        )
        const reply = g.waitForEvent('reply', 'inbox.message.received', {
          match: { conversationId: g.input.conversationId },
          timeout: '24h',
        })
        g.switch('which', reply.text, { STOP: () => g.delay('quiet', '2d') }, () =>
          g.do('again', assignRep, { leadId: rep.repId, team: 'inside' }),
        )
      },
      else: () =>
        g.loop('tags', g.input.tags, (tag) =>
          g.do('nurture', nurture, { email: g.input.email, tag }),
        ),
    })
    const both = g.fork('report', {
      a: () => g.do('a', scoreLead, { company: 'x', size: 1 }),
      b: () => g.http('b', { url: 'https://crm.example' }),
    })
    return { score: score.value, a: both.a.value, status: both.b.status }
  },
)

const engine = await createEngine({
  workflows: [routing, routingJson, enrichLead, scoreLead, assignRep, nurture],
  events,
})
await engine.emit(
  'lead.created',
  { id: 'l1', email: 'a@b', conversationId: 'c1', tags: [] },
  { workspace: 'acme' },
)
const out = await (
  await engine.start(routing, { id: 'l2', email: 'x@y', conversationId: 'c2', tags: ['a'] })
).result()
console.log(out.score + out.a + out.status, JSON.stringify(routing.json))

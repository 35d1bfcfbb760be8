// Every new lead is enriched; large companies get a person, the others a campaign. First as JSON, then with the builder.

import { isDeepStrictEqual } from 'node:util'
import { cel, createEngine, graph, task, typed } from 'perdure'

type Lead = { id: string; email: string }
const enrich = task('enrich', async ({ email }: { email: string }) => ({
  company: email.split('@')[1] ?? '',
  size: email.endsWith('acme.example') ? 500 : 5,
}))
const assign = task('assign', async ({ leadId }: { leadId: string }) => ({ rep: `ada/${leadId}` }))

const routing = graph({
  id: 'lead-routing',
  triggers: [{ type: 'event', event: 'lead.created' }],
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

const built = graph('lead-routing-built', { input: typed<Lead>() }, (g) => {
  const enriched = g.do('enriched', enrich, { email: g.input.email }, { retry: 3 })
  g.condition('large', cel`${enriched.size} > 50`, {
    then: () => {
      const { rep } = g.do('assigned', assign, { leadId: g.input.id })
      g.set('owned', { owner: rep })
    },
    else: () => g.set('campaign', { owner: 'campaign for small companies' }),
  })
  return { company: enriched.company, owner: cel`owner` }
})

const engine = await createEngine({
  database: 'memory:',
  workflows: [routing, built, enrich, assign],
})

await engine.emit('lead.created', { id: 'l-1', email: 'bob@acme.example' }, { id: 'l-1' })
console.log(await engine.handle(routing, 'event:l-1:lead-routing').result()) // → { company: 'acme.example', owner: 'ada/l-1' }

const small = await engine.start(routing, { id: 'l-2', email: 'eve@shop.example' })
console.log(await small.result()) // → { company: 'shop.example', owner: 'campaign for small companies' }

const other = await engine.start(built, { id: 'l-3', email: 'joe@acme.example' })
console.log(await other.result()) // → { company: 'acme.example', owner: 'ada/l-3' }
console.log(isDeepStrictEqual(built.json.edges, routing.json.edges)) // → true
await engine.close()

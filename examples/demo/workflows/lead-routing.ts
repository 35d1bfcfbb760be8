// The routing of leads, as a graph: large companies get a person, the others a campaign.

import { fatal, graph, task } from 'perdure'

const SIZES: Readonly<Record<string, number>> = { 'acme.example': 500, 'shop.example': 5 }

export const enrich = task('enrich', async ({ email }: { email: string }) => {
  const company = email.split('@')[1] ?? ''
  const size = SIZES[company]
  if (size === undefined) throw fatal(new Error(`nothing is known of ${company}`))
  return { company, size }
})

export const assign = task('assign', async ({ leadId }: { leadId: string }) => ({
  rep: `ada/${leadId}`,
}))

export const leadRouting = graph({
  id: 'lead-routing',
  nodes: [
    {
      id: 'enriched',
      type: 'task',
      config: { task: 'enrich', input: { email: { cel: 'input.email' } } },
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

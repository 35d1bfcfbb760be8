// Every night at two: the sales of each region, two at a time, and one line that others can wait for.

import { createEngine, graph, task } from 'perdure'

const regions = task('regions', async () => ['north', 'south', 'west'])
const sales = task('sales', async ({ region }: { region: string }) => ({
  region,
  total: region.length * 100,
}))

const report = graph({
  id: 'nightly-report',
  triggers: [{ type: 'cron', cron: '0 2 * * *', timezone: 'Europe/Berlin', missed: 'once' }],
  nodes: [
    { id: 'all', type: 'task', config: { task: 'regions' } },
    { id: 'each', type: 'loop', config: { items: { cel: 'all' }, as: 'region', parallel: 2 } },
    {
      id: 'sold',
      type: 'task',
      parent: 'each',
      config: { task: 'sales', input: { region: { cel: 'region' } } },
      retry: 5,
    },
    {
      id: 'lines',
      type: 'set',
      config: { text: { cel: "each.map(s, s.region + ' ' + string(s.total)).join(', ')" } },
    },
    {
      id: 'told',
      type: 'emit',
      config: { event: 'report.ready', payload: { text: { cel: 'text' } } },
    },
  ],
  edges: [
    { from: 'trigger', to: 'all' },
    { from: 'all', to: 'each' },
    { from: 'each', to: 'lines' },
    { from: 'lines', to: 'told' },
  ],
  output: { cel: 'text' },
})

const engine = await createEngine({ database: 'memory:', workflows: [report, regions, sales] })
const [next] = await engine.schedules.next('nightly-report:0', 1)
console.log(next?.toLocaleTimeString('en-GB', { timeZone: 'Europe/Berlin' })) // → 02:00:00

const run = await engine.schedules.runNow('nightly-report:0')
console.log(await run.result()) // → north 500, south 500, west 400
await engine.close()

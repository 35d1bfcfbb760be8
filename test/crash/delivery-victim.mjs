// A process that dies in the moment in which a run of it has ended: VICTIM has the database, the schema and the receiver.

import { createEngine, task } from '../../dist/index.js'

const { database, schema, url, allow, id } = JSON.parse(process.env.VICTIM)
const order = task('order', () => 'done')
const engine = await createEngine({
  database,
  schema,
  workflows: [order],
  worker: { lease: '1s' },
  http: { allow, secrets: () => ({ value: 'secret', hosts: [] }) },
  webhooks: [{ id: 'ops', url, events: ['run.completed'], secret: 'OPS' }],
})
engine.on('run.completed', () => process.kill(process.pid, 'SIGKILL'))
await engine.start(order, undefined, { id })

// What Register says, and a definition whose code lives elsewhere. (Register of the tasks: 02-signup.ts; of the events:
// 07-graph.ts)
import { createEngine, fatal, type PgClient, ref, retryAfter, task, workflow } from 'perdure'
import type { createUser } from './02-signup.js'
import { events } from './07-graph.js'
import { CardDeclined } from './services.js'

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function same<A, B>(proof: Equal<A, B>): void

// An ORM, as far as a type test needs one.
type MyTx = PgClient & { insert(table: string, row: object): Promise<number> }
declare module 'perdure' {
  interface Register {
    tx: MyTx
  }
}

export const elsewhere = workflow('elsewhere', async (wf) => {
  const text = await wf.do('e', ref<{ a: number }, { b: string }>('shout'), { a: 1 })
  same<typeof text, { b: string }>(true)
  const mine = await wf.do('c', ref<typeof createUser>('createUser'), { email: 'x' })
  same<typeof mine, { id: string; email: string }>(true)
  const byName = await wf.do('n', 'createUser', { email: 'x' })
  same<typeof byName, { id: string; email: string }>(true)
  const warmed = await wf.do('w', 'warmCaches')
  same<typeof warmed, number>(true)
  const inserted = await wf.transaction('t', (tx) => tx.insert('users', { id: 1 }))
  same<typeof inserted, number>(true)
})

type Lead = { id: string; email: string; conversationId: string; tags: string[] }
const LEAD: Lead = { id: 'l', email: 'e', conversationId: 'c', tags: [] }

export const listener = workflow('listener', async (wf) => {
  const lead = await wf.waitForEvent('lead.created', { match: { id: 'l-1' } })
  same<typeof lead, Lead>(true)
  const late = await wf.waitForEvent('lead.created', { timeout: '1h', orNull: true })
  same<typeof late, Lead | null>(true)
  wf.emit('lead.created', { ...LEAD, id: 'l-2' })
  const run = await wf.start('user', ref<typeof createUser>('createUser'), { email: 'x' })
  const made = await run.result({ timeout: '1h' })
  same<typeof made, { id: string; email: string }>(true)
  await wf.handle(elsewhere, 'e').cancel('not needed')
})

const client = await createEngine({ worker: false, events })
await client.emit('lead.created', { ...LEAD, id: 'l-3' }, { id: 'e-3' })
const user = await (
  await client.start(ref<typeof createUser>('createUser'), { email: 'x' })
).result()
same<typeof user, { id: string; email: string }>(true)
await client.handle(ref<typeof createUser>('createUser'), 'id').result()

export const careful = task('careful', async (status: number) => {
  if (status === 401) throw fatal('the key is wrong')
  if (status === 402) throw fatal(new CardDeclined('stolen'))
  if (status === 429) throw retryAfter(new Error('slow down'), '30s')
})
same<ReturnType<typeof fatal<CardDeclined>>, CardDeclined>(true)
same<ReturnType<typeof retryAfter<string>>, Error>(true)

export const orm = await createEngine({
  tx: (client) => ({
    ...client,
    insert: async (table, row) =>
      (await client.query(`insert into ${table} …`, [row])).rowCount ?? 0,
  }),
})

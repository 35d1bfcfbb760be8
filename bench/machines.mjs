// W10: events sent to event machines, to many of them and to one, next to the usual way of doing it by hand: one transaction for
// each event, which locks the row of the machine, computes, writes the row and its history, and commits. And a machine that
// goes from place to place by itself.

import pg from 'pg'
import { createEngine, machine } from '../dist/index.js'
import { PAYLOAD } from './user-code.mjs'
import { after } from './workloads.mjs'

export const MACHINES = 1_000
export const SENDERS = 200
const CONNECTIONS = 20
const PLACES = 50

const counting = machine('counting', {
  initial: 'open',
  context: { count: 0, payload: PAYLOAD },
  states: {
    open: {
      on: {
        ADD: { actions: ({ context }) => Object.assign(context, { count: context.count + 1 }) },
      },
    },
  },
})

const walking = machine('walking', {
  transitions: Object.fromEntries(
    Array.from({ length: PLACES }, (_, i) => [
      `step${i}`,
      {
        from: i === 0 ? 'start' : `place${i}`,
        to: i === PLACES - 1 ? 'end' : `place${i + 1}`,
        run: async () => ({ payload: PAYLOAD }),
      },
    ]),
  ),
})

export async function machines({ url, seconds }) {
  const engine = await createEngine({
    database: url,
    workflows: [counting, walking],
    worker: { concurrency: MACHINES },
  })
  const send = (id) => engine.send(counting, id, { type: 'ADD' })
  const locked = await lockedMachines(url)
  const figures = {}
  for (const [name, sendTo] of [
    ['perdure', send],
    ['locked', locked.send],
  ]) {
    // All of them are there, and warm, before it counts.
    await firstEvents(sendTo)
    await rate(sendTo, MACHINES, Math.min(2, seconds))
    figures[`${name}Many`] = await rate(sendTo, MACHINES, seconds)
    figures[`${name}One`] = await rate(sendTo, 1, seconds)
  }
  await locked.close()
  return { ...figures, transitions: await walks(engine, seconds) }
}

async function firstEvents(send) {
  const lane = async (_, at) => {
    for (let i = at; i < MACHINES; i += SENDERS) await send(`m${MACHINES}-${i}`)
  }
  await Promise.all([...Array.from({ length: SENDERS }, lane), send('m1-0')])
}

/** Events per second, each sender one after the other. */
async function rate(send, machinesCount, seconds) {
  const isOver = after(seconds)
  let sent = 0
  const from = performance.now()
  const sender = async (_, lane) => {
    for (let i = lane; !isOver(); i += SENDERS) {
      await send(`m${machinesCount}-${i % machinesCount}`)
      sent += 1
    }
  }
  await Promise.all(Array.from({ length: SENDERS }, sender))
  return (sent * 1000) / (performance.now() - from)
}

async function walks(engine, seconds) {
  const isOver = after(seconds)
  let walked = 0
  const from = performance.now()
  const lane = async () => {
    while (!isOver()) {
      await (await engine.start(walking)).result()
      walked += PLACES
    }
  }
  await Promise.all(Array.from({ length: SENDERS }, lane))
  return (walked * 1000) / (performance.now() - from)
}

/** No engine: what people write who have a database and a state machine. */
async function lockedMachines(url) {
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS })
  await pool.query(`create table live (id text primary key, state text not null, snapshot jsonb not null, expires_at timestamptz, updated_at timestamptz not null);
    create table history (no bigserial primary key, id text not null, from_state text not null, to_state text not null, event text not null, payload jsonb, at timestamptz not null)`)
  const send = async (id) => {
    const client = await pool.connect()
    try {
      await client.query('begin')
      const select = 'select state, snapshot from live where id = $1 for update'
      let { rows } = await client.query(select, [id])
      if (rows.length === 0) {
        const first = { context: { count: 0, payload: PAYLOAD }, status: 'active' }
        const insert = 'insert into live values ($1, $2, $3, null, now()) on conflict do nothing'
        await client.query(insert, [id, 'open', JSON.stringify(first)])
        rows = (await client.query(select, [id])).rows
      }
      const { snapshot } = rows[0]
      snapshot.context.count += 1
      const update = 'update live set snapshot = $2, updated_at = now() where id = $1'
      await client.query(update, [id, JSON.stringify(snapshot)])
      const note =
        "insert into history (id, from_state, to_state, event, at) values ($1, 'open', 'open', 'ADD', now())"
      await client.query(note, [id])
      await client.query('commit')
    } finally {
      client.release()
    }
  }
  return { send, close: () => pool.end() }
}

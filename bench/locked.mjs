// The usual way without an engine, for W10: one transaction for each event, which locks the row of the machine, makes the machine
// from it, lets it work until it is stable, writes the row and its history, and commits.
//
//   pattern   as nestjs-durable-workflows does it: what its architecture says of a send, with the columns, indexes and the foreign key that its
//             generator of migrations writes. A history row for each change of the state.
//   lean      nothing that can be left out: no index but the primary key, no envelope, no look at the definition

import StateMachine from 'javascript-state-machine'
import pg from 'pg'

/** More than the ten of a pool that is not told: with them both cores are full. */
const CONNECTIONS = 20

const PATTERN_TABLES = `
create table live (
  id uuid primary key default gen_random_uuid(),
  state_value text not null,
  snapshot jsonb not null,
  expires_at timestamptz,
  updated_at timestamptz not null default now());
create index on live (expires_at) where expires_at is not null;
create index on live (state_value);
create index on live using gin (snapshot);
create table live_history (
  id uuid primary key default gen_random_uuid(),
  workflow_id uuid not null references live (id),
  from_state text not null,
  to_state text not null,
  event_type text not null,
  event_payload jsonb not null,
  transitioned_at timestamptz not null default now());
create index on live_history (workflow_id);
create index on live_history (transitioned_at);
create index on live_history using gin (event_payload)`

const LOCK = `
select id, state_value, snapshot, expires_at, updated_at from live where id = $1::uuid for update`
const WRITE = `
insert into live (id, state_value, snapshot, expires_at) values ($1::uuid, $2, $3::jsonb, $4)
on conflict (id) do update
set state_value = $2, snapshot = $3::jsonb, expires_at = $4, updated_at = now()`
const NOTE = `
insert into live_history (workflow_id, from_state, to_state, event_type, event_payload)
values ($1::uuid, $2, $3, $4, $5::jsonb)`

/** `definition`: states, their events, and one action each. */
export async function patternMachines(url, definition) {
  const { pool, within } = transactionsOf(url)
  await pool.query(PATTERN_TABLES)
  const send = (no, event) =>
    within(async (client) => {
      const id = `00000000-0000-4000-8000-${String(no).padStart(12, '0')}`
      const [row] = (await client.query(LOCK, [id])).rows
      const machine = madeFrom(definition, row?.snapshot)
      const moves = await machine.send(event)
      const { snapshot } = machine
      const { expiresAt = null } = definition.states[snapshot.state]
      await client.query(WRITE, [id, snapshot.state, JSON.stringify(snapshot), expiresAt])
      for (const { from, to } of moves)
        await client.query(NOTE, [id, from, to, event.type, JSON.stringify(event)])
      return { id, state: snapshot.state, snapshot, transitions: moves.length }
    })
  return { send, close: () => pool.end() }
}

/** One for each event: what is stored is checked and copied, and a state machine is made of the definition. */
function madeFrom(definition, stored) {
  const { schema, version, engine, state, context } = stored ?? {
    ...{ schema: 'durable-workflow-snapshot', version: 1, engine: 'js-state-machine' },
    ...{ state: definition.initial, context: definition.context },
  }
  const isKnown = schema === 'durable-workflow-snapshot' && version === 1
  if (!isKnown || engine !== 'js-state-machine' || !(state in definition.states))
    throw new Error(`This is no snapshot: ${schema} ${version} ${engine} ${state}`)
  const rules = rulesOf(definition)
  const transitions = rules.map(({ name, from, to }) => ({ name, from, to }))
  const machine = new StateMachine({ init: state, transitions })
  const moves = []
  machine.observe('onAfterTransition', ({ from, to }) => {
    if (from !== to) moves.push({ from, to })
  })
  const snapshot = {
    ...{ schema, version, engine, state, status: 'active' },
    context: JSON.parse(JSON.stringify(context)),
  }
  const send = async (event) => {
    const rule = rules.find(({ from, type }) => from === machine.state && type === event.type)
    if (!rule) return []
    machine[rule.name](event)
    await rule.actions({ context: snapshot.context, event })
    snapshot.state = machine.state
    return moves
  }
  return { snapshot, send }
}

function rulesOf({ states }) {
  let count = 0
  return Object.entries(states).flatMap(([from, { on }]) =>
    Object.entries(on).map(([type, { target, actions }]) => {
      count += 1
      return { name: `rule${count}`, from, to: target, type, actions }
    }),
  )
}

const LEAN_TABLES = `
create table lean (id text primary key, state text not null, context jsonb not null);
create table lean_history (no bigserial primary key, id text not null, from_state text not null, to_state text not null, event text not null, at timestamptz not null)`

export async function leanMachines(url, { initial, context: first, states }) {
  const { pool, within } = transactionsOf(url)
  await pool.query(LEAN_TABLES)
  const lock = 'select state, context from lean where id = $1 for update'
  const send = (no, event) =>
    within(async (client) => {
      const id = `m${no}`
      let { rows } = await client.query(lock, [id])
      if (rows.length === 0) {
        const insert = 'insert into lean values ($1, $2, $3) on conflict do nothing'
        await client.query(insert, [id, initial, JSON.stringify(first)])
        rows = (await client.query(lock, [id])).rows
      }
      const [{ state, context }] = rows
      const { target, actions } = states[state].on[event.type]
      actions({ context, event })
      const update = 'update lean set state = $2, context = $3 where id = $1'
      await client.query(update, [id, target, JSON.stringify(context)])
      const note =
        'insert into lean_history (id, from_state, to_state, event, at) values ($1, $2, $3, $4, now())'
      await client.query(note, [id, state, target, event.type])
    })
  return { send, close: () => pool.end() }
}

function transactionsOf(url) {
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS })
  const within = async (work) => {
    const client = await pool.connect()
    try {
      await client.query('begin')
      const result = await work(client)
      await client.query('commit')
      return result
    } catch (error) {
      await client.query('rollback')
      throw error
    } finally {
      client.release()
    }
  }
  return { pool, within }
}

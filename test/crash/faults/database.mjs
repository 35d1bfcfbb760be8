// Faults of the database server: restarts, a primary that becomes read-only, lost races, a crowd at its door.

import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { crew, dismissed, STEADY, unended, until } from './load.mjs'
import { nobodyReaped } from './looks.mjs'

/** Of this process, kept while the server goes away. */
export async function onServer(url, sql, params = []) {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query(sql, params)).rows
  } finally {
    await client.end().catch(() => {})
  }
}

export const restarts = {
  id: 'f3',
  title: 'PostgreSQL restarts: fast, immediate, kill -9 of the server and of one backend',
  ...{ unit: 'restarts', count: 200, short: 0, seconds: 400 },
  checked: 'as F1; nothing acknowledged is lost; no worker is restarted; no run fails',
  tests: [
    [
      'test/crash/outage.test.ts',
      '[X04] fails no run and loses none: work goes on by itself after fast and immediate restarts and after kill -9',
    ],
  ],
  async run(ground, count) {
    const { postgres, url } = ground
    const falls = [
      () => postgres.restart('fast'),
      () => postgres.restart('immediate'),
      () => postgres.kill9().then(() => postgres.start()),
      () => killBackend(url),
    ]
    const options = { perWorld: 40, leaseMs: 3_000, isReborn: true }
    const outcome = await ground.worlds(count, options, async (world, share, outcome) => {
      const victims = await crew(world, 2)
      const accepted = []
      for (let i = 0; i < share && ground.goesOn(outcome, count); i += 1) {
        for (const victim of victims) victim.tell({ runs: world.newRuns(...STEADY) })
        await sleep(ground.between(30, 300))
        await falls[i % falls.length]()
        accepted.push(Date.now())
        outcome.did()
        await sleep(ground.between(300, 900))
      }
      outcome.broken.push(...(await unended(victims, runsOf(world))))
      if (victims.some(({ end }) => end)) outcome.broken.push('a worker ended by an outage')
      await dismissed(victims, outcome)
      const { journal } = await world.snapshot()
      for (const at of accepted) {
        const next = Math.min(...journal.flatMap((entry) => (entry.at > at ? [entry.at] : [])))
        if (Number.isFinite(next)) outcome.sample('resume after a restart', next - at)
      }
    })
    outcome.percentiles('resume after a restart', 3_000)
    return outcome
  },
}

const runsOf = (world) => [...world.runs].map(([id, kind]) => ({ id, kind }))

/** One of ours; the server ends all the others and recovers. */
async function killBackend(url) {
  const [one] = await onServer(
    url,
    "select pid from pg_stat_activity where application_name = 'perdure' order by random() limit 1",
  )
  if (one) process.kill(one.pid, 'SIGKILL')
  const isBack = () => onServer(url, 'select 1').then(Boolean, () => false)
  await sleep(50)
  await until(isBack)
}

export const readOnly = {
  id: 'f24',
  title:
    'The database becomes read-only and ends all connections, as at a failover, then comes back',
  ...{ unit: 'failovers', count: 20, short: 2, seconds: 60 },
  checked: 'as F1; it is treated as an outage: no run fails, no worker is restarted',
  tests: [['test/contract/migrate.test.ts', 'a standby is refused']],
  async run(ground, count) {
    const name = `failing_${randomBytes(4).toString('hex')}`
    await onServer(ground.url, `create database ${name}`)
    const url = Object.assign(new URL(ground.url), { pathname: `/${name}` }).href
    const become = async (on, isSystem) => {
      const value = on ? 'on' : 'off'
      if (isSystem) {
        // What is open notices, too.
        await onServer(ground.url, `alter system set default_transaction_read_only = ${value}`)
        await onServer(ground.url, 'select pg_reload_conf()')
        return
      }
      await onServer(
        ground.url,
        `begin read write; alter database ${name} set default_transaction_read_only = ${value}; commit`,
      )
      await onServer(
        ground.url,
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1',
        [name],
      )
    }
    const options = { perWorld: 10, leaseMs: 3_000, isReborn: true, url }
    try {
      return await ground.worlds(count, options, async (world, share, outcome) => {
        const victims = await crew(world, 2)
        for (let i = 0; i < share && ground.goesOn(outcome, count); i += 1) {
          for (const victim of victims) victim.tell({ runs: world.newRuns(...STEADY) })
          await sleep(ground.between(30, 200))
          const isSystem = ground.postgres !== null && i % 2 === 1
          await become(true, isSystem)
          await sleep(ground.between(200, 900))
          await become(false, isSystem)
          outcome.did()
        }
        outcome.broken.push(...(await unended(victims, runsOf(world))))
        await dismissed(victims, outcome)
      })
    } finally {
      await onServer(ground.url, `drop database if exists ${name} with (force)`)
    }
  },
}

/** A trigger that loses races, one in so many statements. A sequence counts them: it knows no rollback. */
const injector = (schema, share) => `
  create sequence ${schema}.injected;
  create function ${schema}.inject() returns trigger language plpgsql as $f$
  begin
    if random() < ${share} then
      perform nextval('${schema}.injected');
      raise exception 'a lost race'
        using errcode = (array['40001', '40P01', '55P03'])[1 + floor(random() * 3)::int];
    end if;
    return null;
  end $f$;
  create trigger inject after insert on ${schema}.journal execute function ${schema}.inject();
  create trigger inject after update on ${schema}.runs execute function ${schema}.inject();`

export const lostRaces = {
  id: 'f23',
  title:
    'Statements lose races: 40001, 40P01, 55P03, locks held by another client, serializable sessions',
  ...{ unit: 'injected errors', count: 1_000, short: 12, seconds: 60 },
  checked: 'as F1; a call is repeated as a whole, never half; no run fails of it',
  async run(ground, count) {
    // Also if the answer comes late a life may hold what it had: nobody dies here, but a beat can lose its race.
    const options = { perWorld: 350, leaseMs: 5_000, isReborn: true }
    return ground.worlds(count, options, async (world, share, outcome) => {
      const strict = new URL(ground.url)
      strict.searchParams.set('options', '-c default_transaction_isolation=serializable')
      const victims = [
        ...(await crew(world, 1)),
        ...(await crew(world, 1, { database: strict.href })),
      ]
      await world.query(injector(world.name, 0.08))
      const rival = await holdLocks(ground, world)
      const injected = async () => {
        const [row] = await world.query(
          'select case when is_called then last_value else 0 end::int as count from @schema@.injected',
        )
        return row.count
      }
      let before = 0
      for (let i = 0; before < share && ground.goesOn(outcome, count); i += 1) {
        const runs = victims.map(() => world.newRuns(...STEADY))
        for (const [at, victim] of victims.entries()) victim.tell({ runs: runs[at] })
        if (i % 4 === 3) outcome.broken.push(...(await unended(victims, runs.flat(), 120_000)))
        else await sleep(100)
        const now = await injected()
        outcome.did(now - before)
        before = now
      }
      outcome.broken.push(...(await unended(victims, runsOf(world), 120_000)))
      outcome.note({ 'locks held by another client': await rival() })
      await world.query(
        'drop trigger inject on @schema@.journal; drop trigger inject on @schema@.runs',
      )
      await dismissed(victims, outcome)
    })
  },
}

/** Another client that locks rows of runs, in any order, for longer than our statements wait. */
async function holdLocks(ground, world) {
  const client = new pg.Client({ connectionString: ground.url })
  client.on('error', () => {})
  await client.connect()
  let isOn = true
  let count = 0
  const rows = `select uid from ${world.name}.runs where finished_at is null order by random() limit 3 for update`
  const holding = (async () => {
    while (isOn) {
      await client.query('begin')
      const held = await client.query(rows).catch(() => ({ rowCount: 0 }))
      count += held.rowCount
      await sleep(ground.between(20, 200))
      await client.query('rollback')
      await sleep(30)
    }
    await client.end()
  })()
  return async () => {
    isOn = false
    await holding
    return count
  }
}

export const crowds = {
  id: 'f21',
  title: '50 and more transactional steps at once want the few connections there are for them',
  ...{ unit: 'crowds', count: 20, short: 1, seconds: 200 },
  checked:
    'as F1; no beat waits behind user code: no lease is lost or in doubt; nothing is locked for ever',
  async run(ground, count) {
    const more = (_snapshot, world) => {
      const counters = world.counters()
      return [
        ...nobodyReaped(counters),
        ...(counters['worker.doubtful'] > 0 ? ['a lease was in doubt behind user code'] : []),
      ]
    }
    const options = { perWorld: 5, leaseMs: ground.isShort ? 30_000 : 6_000, more }
    // In the soak one takes longer than a lease.
    const size = ground.isShort ? 50 : 300
    return ground.worlds(count, options, async (world, share, outcome) => {
      const victims = await crew(world, 1, { concurrency: size })
      for (let i = 0; i < share && ground.goesOn(outcome, count); i += 1) {
        const runs = world.newRuns(...Array.from({ length: size }, () => 'crowded'))
        victims[0].tell({ runs })
        outcome.broken.push(...(await unended(victims, runs)))
        outcome.did()
      }
      await dismissed(victims, outcome)
    })
  },
}

// Looks at everything that must be right for runs to go on, and says what to do about what is not.

import { setTimeout as sleep } from 'node:timers/promises'
import { PerdureError } from '../model/errors.js'
import type { Driver } from '../store/driver.js'
import { clockOf, runHealth, type ServerHealth, serverHealth } from '../store/health.js'
import { pendingMigrations } from '../store/migrate.js'
import { type OpenedPlace, type Place, withDatabase } from './open.js'

export interface Finding {
  readonly about: string
  /** `bad`: runs cannot go on, or could be lost. */
  readonly level: 'good' | 'look' | 'bad'
  readonly text: string
  /** What to do. */
  readonly next: string | null
}

const NODE_LEAST = [20, 19]
const POSTGRES_LEAST = 150_000
const CLOCK_LOOK_MS = 2_000
/** Two for commits, one each for beats, hints and LISTEN, four to read, four for transactions of steps. */
const CONNECTIONS_OF_ENGINE = 13
const HINT_MS = 2_000
/** A run that is due for longer than this waits for a worker. */
const LATE_MS = 30_000

const good = (about: string, text: string): Finding => ({ about, level: 'good', text, next: null })
const look = (about: string, text: string, next: string): Finding => ({
  about,
  level: 'look',
  text,
  next,
})
const bad = (about: string, text: string, next: string): Finding => ({
  about,
  level: 'bad',
  text,
  next,
})

export async function examine(
  place: Place,
  node = process.versions.node,
): Promise<readonly Finding[]> {
  const findings = [ofNode(node)]
  try {
    await withDatabase(place, async (opened) => {
      for await (const finding of ofDatabase(opened)) findings.push(finding)
    })
  } catch (error) {
    if (!PerdureError.is(error)) throw error
    const { code, message, hint } = error
    findings.push((code === 'DATABASE_LOCKED' ? look : bad)('database', message, hint))
  }
  return findings
}

function ofNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [least = 0, leastMinor = 0] = NODE_LEAST
  if (major > least || (major === least && minor >= leastMinor))
    return good('node', `Node ${version}`)
  return bad('node', `Node ${version} is too old.`, `install Node ${NODE_LEAST.join('.')} or newer`)
}

async function* ofDatabase({ driver, store, schema }: OpenedPlace): AsyncGenerator<Finding> {
  const isEmbedded = driver.kind === 'embedded'
  const health = await serverHealth(driver, schema)
  yield ofVersion(driver, health)
  yield isEmbedded ? ofEmbedded() : ofSettings(health)
  if (!isEmbedded) {
    yield ofConnections(health)
    yield await ofHints(driver, schema)
  }
  const { applied, pending } = await pendingMigrations(driver, schema)
  yield ofMigrations(schema, applied, pending.length)
  if (pending.length > 0) return
  const before = Date.now()
  const nowMs = await clockOf(driver, schema)
  if (!isEmbedded) yield ofClock(Math.round(nowMs - (before + Date.now()) / 2))
  yield ofWorkers(await store.read.workers(), isEmbedded)
  yield* ofRuns(await runHealth(driver, schema), nowMs)
}

function ofVersion({ description }: Driver, { version, versionNumber }: ServerHealth): Finding {
  const text = `PostgreSQL ${version.split(' ')[0]}, ${description}`
  if (versionNumber >= POSTGRES_LEAST) return good('database', text)
  return bad('database', `${text}: too old.`, 'upgrade to PostgreSQL 15 or newer')
}

const ofEmbedded = (): Finding =>
  good(
    'durability',
    'The embedded database survives crashes of the process, not power cuts (it does not fsync). Nobody else has it open.',
  )

function ofSettings({ unsafe }: ServerHealth): Finding {
  if (unsafe.length === 0)
    return good(
      'durability',
      'What is committed survives power cuts (fsync, synchronous_commit, full_page_writes are on).',
    )
  return look(
    'durability',
    `${unsafe.join(' and ')} ${unsafe.length > 1 ? 'are' : 'is'} off: a power cut can take back what was committed, and steps run again.`,
    `turn ${unsafe.join(', ')} on for this database or its user`,
  )
}

function ofClock(aheadMs: number): Finding {
  const text = `The clock of the database is ${Math.abs(aheadMs)} ms ${aheadMs < 0 ? 'behind' : 'ahead of'} this machine's.`
  if (Math.abs(aheadMs) <= CLOCK_LOOK_MS) return good('clock', text)
  return look(
    'clock',
    text,
    "set both with NTP: the database's decides when runs are due, this one is only in your logs",
  )
}

function ofConnections({ connections, connectionsMax }: ServerHealth): Finding {
  const text = `${connections} of ${connectionsMax} connections are in use; an engine takes up to ${CONNECTIONS_OF_ENGINE}.`
  if (connections + CONNECTIONS_OF_ENGINE <= connectionsMax) return good('connections', text)
  return look('connections', text, 'raise max_connections, or run fewer processes')
}

/** Told and heard as processes do it: what stands between is tried, not guessed. */
async function ofHints(driver: Driver, schema: string): Promise<Finding> {
  const channel = `${schema}_doctor`
  const text = String(Math.random())
  let stop: (() => Promise<void>) | null = null
  const heard = new Promise<'heard'>((resolve) => {
    const listener = (payload: string) => void (payload === text && resolve('heard'))
    void driver.listen(channel, listener).then(
      (off) => {
        stop = off
        driver.notify(channel, text)
      },
      () => {},
    )
  })
  const late = new AbortController()
  const answer = await Promise.race([
    heard,
    sleep(HINT_MS, 'late' as const, { signal: late.signal }),
  ])
  late.abort()
  await (stop as (() => Promise<void>) | null)?.()
  if (answer === 'heard') return good('hints', 'Processes hear of each other at once (LISTEN).')
  return look(
    'hints',
    'NOTIFY does not arrive: is a pooler in transaction mode between? Other processes hear of a run within a second instead of at once.',
    'connect to the server itself, or use the session mode of the pooler',
  )
}

function ofMigrations(schema: string, applied: number, pending: number): Finding {
  if (pending === 0) return good('migrations', `The schema "${schema}" is up to date (${applied}).`)
  const text =
    applied === 0
      ? `The schema "${schema}" has no tables of Perdure.`
      : `${pending} migrations are pending in the schema "${schema}".`
  return bad('migrations', text, 'perdure migrate (an engine does it when it opens)')
}

function ofWorkers(
  workers: readonly { readonly isAlive: boolean }[],
  isEmbedded: boolean,
): Finding {
  const alive = workers.filter(({ isAlive }) => isAlive).length
  // Whoever looks has the directory to itself.
  if (isEmbedded)
    return good(
      'workers',
      'None: this database is used by one process at a time, and that is this one now.',
    )
  if (alive > 0) return good('workers', `${alive} alive.`)
  return look(
    'workers',
    'No worker is alive: nothing is executed.',
    'start one: perdure worker, or createEngine in your app',
  )
}

function* ofRuns(runs: Awaited<ReturnType<typeof runHealth>>, nowMs: number): Generator<Finding> {
  const { open, due, dueSince, missing, missingDefinition, diverged, divergedId } = runs
  const lateMs = dueSince === null ? 0 : nowMs - dueSince
  const text = `${open} have not ended; ${due} are due${due > 0 ? `, the oldest for ${Math.round(lateMs / 1000)} s` : ''}.`
  if (lateMs <= LATE_MS) yield good('runs', text)
  else
    yield look(
      'runs',
      text,
      'start more workers, or raise worker.concurrency; perdure explain <run> says why one waits',
    )
  if (missing === 0) yield good('code', 'Every run that is due has a worker with its code.')
  else
    yield look(
      'code',
      `${missing} are due and no live worker has their code (${missingDefinition}).`,
      'start a worker with it; perdure runs --reason missing-code lists them',
    )
  if (diverged === 0) yield good('divergence', 'No run has diverged.')
  else
    yield bad(
      'divergence',
      `${diverged} have diverged: their code does not match their history (${divergedId}).`,
      'deploy matching code, or guard the change with wf.patched; perdure check says where',
    )
}

// Starts each real server once per test run and tells the tests where it is, or why it is missing.

import type { TestProject } from 'vitest/node'
import { type Part, reportParts } from './parts.js'
import { findPgBouncer } from './pgbouncer.mjs'
import { findRedis } from './redis.mjs'
import { providePostgres } from './servers.mjs'

export type DatabaseName = 'postgres15' | 'postgres18' | 'pglite' | 'memory' | 'redis'

export interface Database extends Part {
  readonly name: DatabaseName
  /** As `database` of createEngine; null for the store in memory and Redis (who needs one starts it), and when skipped. */
  readonly url: string | null
}

export interface Redis extends Part {
  /** A test may start one and stop it. */
  readonly isOurs: boolean
}

declare module 'vitest' {
  export interface ProvidedContext {
    databases: readonly Database[]
    pgbouncer: Part
    redis: Redis
    fast: boolean
  }
}

type Server = Awaited<ReturnType<typeof providePostgres>>

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const fast = process.env.PERDURE_TEST_FAST === '1'
  const servers: Server[] = []
  const stop = async () => {
    await Promise.all(servers.map((server) => server.stop()))
  }
  const [postgres15, postgres18, pgbouncer, redis] = await Promise.all([
    open(15, fast, servers),
    open(18, fast, servers),
    lookForPgBouncer(fast),
    lookForRedis(fast),
  ])
  const databases: Database[] = [
    postgres15,
    postgres18,
    { name: 'pglite', url: 'memory:', skip: null, enable: null },
    { name: 'memory', url: null, skip: null, enable: null },
  ]
  const parts = [...databases, pgbouncer, redis]
  reportParts(parts)
  try {
    checkRequired(parts)
  } catch (error) {
    await stop()
    throw error
  }
  project.provide('databases', [...databases, { ...redis, name: 'redis', url: null }])
  project.provide('pgbouncer', pgbouncer)
  project.provide('redis', redis)
  project.provide('fast', fast)
  return stop
}

async function open(version: 15 | 18, fast: boolean, servers: Server[]): Promise<Database> {
  const name = `postgres${version}` as const
  if (fast) return { name, url: null, skip: 'left out by --fast', enable: 'npm test' }
  try {
    const server = await providePostgres({ version })
    servers.push(server)
    return { name, url: server.url, skip: null, enable: null }
  } catch (error) {
    const enable = `TEST_DATABASE_URL_${version}=postgresql://… npm test (or: npm install --include=optional)`
    return { name, url: null, skip: (error as Error).message, enable }
  }
}

async function lookForPgBouncer(fast: boolean): Promise<Part> {
  const name = 'pgbouncer'
  if (fast) return { name, skip: 'left out by --fast', enable: 'npm test' }
  try {
    await findPgBouncer()
    return { name, skip: null, enable: null }
  } catch (error) {
    return { name, skip: (error as Error).message, enable: 'apt-get install pgbouncer' }
  }
}

async function lookForRedis(fast: boolean): Promise<Redis> {
  const name = 'redis'
  if (fast) return { name, skip: 'left out by --fast', enable: 'npm test', isOurs: false }
  try {
    await findRedis()
    return { name, skip: null, enable: null, isOurs: true }
  } catch (error) {
    if (process.env.TEST_REDIS_URL) return { name, skip: null, enable: null, isOurs: false }
    const enable = 'apt-get install redis-server, or TEST_REDIS_URL=redis://… npm test'
    return { name, skip: (error as Error).message, enable, isOurs: false }
  }
}

/** REQUIRE=postgres15,postgres18,pgbouncer,redis turns a skip into a failure; the browser is looked for in test/browser. */
function checkRequired(parts: readonly Part[]): void {
  const required = process.env.REQUIRE?.split(',').filter(Boolean) ?? []
  const missing = required.flatMap((name) => {
    if (name === 'browser') return []
    const part = parts.find((candidate) => candidate.name === name)
    if (part && part.skip === null) return []
    return [`${name} (${part?.skip ?? 'not a name of a server'})`]
  })
  if (missing.length > 0) throw new Error(`REQUIRE asks for what is missing: ${missing.join(', ')}`)
}

// Engines on one database that hear of each other over BullMQ, and a look into its queue.

import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import pg from 'pg'
import { inject, onTestFinished } from 'vitest'
import { bullmq } from '../../src/bullmq/index.js'
import { composeEngine, type Instead } from '../../src/compose-engine.js'
import { readEngineOptions } from '../../src/engine/options.js'
import type { Definition, Engine } from '../../src/index.js'
import { databases, freshSchema, urlOf } from '../support/databases.js'
import { eventually } from '../support/world.js'

export const redis = inject('redis')
const [postgres] = databases('postgres18', 'postgres15').filter(({ skip }) => skip === null)

/** Why nothing of this can run here; null: it can. */
export const missing = redis.skip ?? (postgres ? null : 'no PostgreSQL')
export const TITLE = missing === null ? 'BullMQ' : `BullMQ (${missing.split('\n', 1)[0]})`

/** Nothing but hints: no poll, and a beat often enough to know the others. */
export const HINTS_ALONE = {
  pollMs: 600_000,
  leaseMs: 1_800,
  defects: new Set(['no-poll'] as const),
} satisfies Instead['kernel']
/** A poll that finds soon what no hint has told. */
export const POLLING = { pollMs: 100, leaseMs: 3_000 } satisfies Instead['kernel']

export type Staged = Engine<readonly []> & { readonly lines: readonly string[] }

export class Stage {
  readonly schema = freshSchema()
  readonly url: string

  /** `url`: of the Redis. */
  constructor(url: string) {
    this.url = url
  }

  /** Is closed when the test ends. */
  async open(
    workflows: readonly Definition[],
    more: { readonly worker?: unknown; readonly kernel?: Instead['kernel'] } = {},
  ): Promise<Staged> {
    const lines: string[] = []
    const say = (level: string) => (message: string) => void lines.push(`${level}: ${message}`)
    const log = { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }
    const transport = bullmq({ connection: this.url })
    const { worker = true, kernel = HINTS_ALONE } = more
    const { schema } = this
    const given = { database: postgresUrl(), schema, workflows, transport, worker, log }
    const engine = await composeEngine(readEngineOptions(given, {}), { kernel })
    onTestFinished(() => engine.close())
    return Object.assign(engine as unknown as Engine<readonly []>, { lines })
  }

  /** Starts, signals and reads. Its own results are asked for often: they are not what is looked at. */
  caller(workflows: readonly Definition[]): Promise<Staged> {
    return this.open(workflows, { worker: false, kernel: { pollMs: 100, leaseMs: 3_000 } })
  }

  /** Until each of those who are there has looked twice: then it knows that there are others, and tells them. */
  async acquainted(): Promise<void> {
    const before = new Map((await this.beats()).map(({ id, beat }) => [id, beat]))
    const slowest = async () =>
      Math.min(...(await this.beats()).map(({ id, beat }) => beat - (before.get(id) ?? beat)))
    await eventually(slowest).toBeGreaterThanOrEqual(2)
  }

  private async beats(): Promise<readonly { readonly id: string; readonly beat: number }[]> {
    const client = new pg.Client({ connectionString: postgresUrl() })
    await client.connect()
    const { rows } = await client.query(`select id, beat::int from ${this.schema}.workers`)
    await client.end()
    return rows
  }

  /** How many processes hear what is published to all. */
  async listeners(): Promise<number> {
    const client = new Redis(this.url)
    const [, count] = await client.pubsub('NUMSUB', `perdure:${this.schema}`)
    client.disconnect()
    return Number(count)
  }

  queue(): Queue {
    const connection = new Redis(this.url, { maxRetriesPerRequest: null })
    const queue = new Queue(this.schema, { connection })
    onTestFinished(async () => {
      await queue.close()
      connection.disconnect()
    })
    return queue
  }
}

function postgresUrl(): string {
  if (!postgres) throw new Error('no PostgreSQL')
  return urlOf(postgres)
}

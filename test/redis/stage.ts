// A Redis of its own for a test file, and stores and engines on it.

import { Redis } from 'ioredis'
import { afterAll, beforeAll, inject, onTestFinished } from 'vitest'
import { composeEngine, type Instead } from '../../src/compose-engine.js'
import { readEngineOptions } from '../../src/engine/options.js'
import type { Definition, Engine } from '../../src/index.js'
import type { ToolStore } from '../../src/kernel/store.js'
import { openRedisStore, type RedisStoreOptions } from '../../src/redis/open.js'
import { freshSchema } from '../support/databases.js'
import { provideRedis, type RedisServer } from '../support/redis.mjs'

export const redis = inject('redis')
export const TITLE = redis.skip === null ? 'Redis' : `Redis (${redis.skip.split('\n', 1)[0]})`
export const QUIET = { debug() {}, info() {}, warn() {}, error() {} }
export const FAST = { pollMs: 100, leaseMs: 3_000 } satisfies Instead['kernel']

export class Stage {
  private opened: { readonly server: RedisServer; readonly client: Redis } | null = null

  constructor() {
    beforeAll(async () => {
      const server = await provideRedis()
      this.opened = { server, client: new Redis(server.url) }
    })
    afterAll(async () => {
      this.opened?.client.disconnect()
      await this.opened?.server.stop()
    })
  }

  get url(): string {
    return this.opened?.server.url ?? ''
  }

  /** Beside all stores. */
  get client(): Redis {
    if (!this.opened) throw new Error('there is no Redis yet')
    return this.opened.client
  }

  /** Is closed when the test ends. */
  async store(
    schema: string,
    more: Partial<RedisStoreOptions> & { readonly Client?: typeof Redis } = {},
  ): Promise<ToolStore> {
    const { Client = Redis, ...options } = more
    const given = { url: this.url, schema, version: 'test', log: QUIET, ...options }
    const { store } = await openRedisStore(Client, given)
    onTestFinished(() => store.close())
    return store
  }

  async engine(
    schema: string,
    workflows: readonly Definition[],
    options: object = {},
  ): Promise<Engine<readonly []>> {
    const given = { database: this.url, schema, workflows, log: QUIET, ...options }
    const engine = await composeEngine(readEngineOptions(given, {}), { kernel: FAST })
    onTestFinished(() => engine.close())
    return engine as unknown as Engine<readonly []>
  }

  /** The number of the last entry of the log, and of the one that the snapshot includes. */
  async ends(schema: string): Promise<{ readonly last: number; readonly base: number }> {
    const [last, base] = await this.client.hmget(this.key(schema, 'state'), 'last', 'base')
    return { last: Number(last), base: Number(base) }
  }

  key(schema: string, name: string): string {
    return `perdure:{${schema}}:${name}`
  }
}

export { freshSchema }

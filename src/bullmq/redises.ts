// The connections to Redis. It may be away when they are made and at any time later: they come back by themselves, and the log says
// each once.

import type { Redis, RedisOptions } from 'ioredis'
import type { Log } from '../kernel/ports.js'

/** Those of ioredis that BullMQ can work with. */
type ConnectionOptions = Omit<RedisOptions, 'keyPrefix' | 'maxRetriesPerRequest' | 'replyMapping'>
export type Connection = string | ConnectionOptions

/** A command waits for its connection; whoever must not wait asks `areReady` first. */
const OPTIONS = { maxRetriesPerRequest: null }

export class Redises {
  private readonly make: () => Redis
  private readonly all: Redis[] = []
  private readonly log: Log
  private isAway = false
  /** Sends, and is lent to BullMQ. */
  readonly commands: Redis

  constructor(Client: typeof Redis, connection: Connection, log: Log) {
    this.log = log
    this.make = () =>
      typeof connection === 'string'
        ? new Client(connection, OPTIONS)
        : new Client({ ...connection, ...OPTIONS })
    this.commands = this.open()
    this.commands.on('error', (error: unknown) => this.away(error))
    this.commands.on('close', () => this.away(undefined))
    this.commands.on('ready', () => this.back())
  }

  get areReady(): boolean {
    return this.commands.status === 'ready'
  }

  open(): Redis {
    const client = this.make()
    // What happens to one happens to all: the first says it.
    client.on('error', () => {})
    this.all.push(client)
    return client
  }

  close(): void {
    this.isAway = true
    for (const client of this.all) client.disconnect()
  }

  private away(error: unknown): void {
    if (this.isAway) return
    this.isAway = true
    this.log.warn('Redis is away: runs go on by polling', error === undefined ? {} : { error })
  }

  private back(): void {
    if (this.isAway) this.log.info('Redis is back: processes hear hints again')
    this.isAway = false
  }
}

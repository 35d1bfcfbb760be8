// The connections to Redis: one for the log, one that hears hints. A command fails at once when its connection does; who sends it decides
// what becomes of it.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { Log } from '../kernel/ports.js'
import { PerdureError } from '../model/error.js'

const CONNECT_MS = 10_000
/** A server that takes longer is as good as away: what was sent is sent again, and applied once. */
const COMMAND_MS = 20_000
const AGAIN_MS_MAX = 500

const OPTIONS = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  connectTimeout: CONNECT_MS,
  commandTimeout: COMMAND_MS,
  retryStrategy: (times: number) => Math.min(20 * times, AGAIN_MS_MAX),
}

/** Without the password. */
export function describeRedis(url: string): string {
  try {
    const { protocol, host, pathname } = new URL(url)
    return `${protocol}//${host}${pathname === '/' ? '' : pathname}`
  } catch {
    return 'Redis'
  }
}

export class Connection {
  readonly description: string
  readonly commands: Redis
  /** May send nothing but what subscribes. */
  readonly subscriber: Redis
  private isOpen = false
  private isAway = false
  private isClosed = false
  private lastError: Error | null = null

  constructor(Client: typeof Redis, url: string, log: Log) {
    this.description = describeRedis(url)
    this.commands = new Client(url, OPTIONS)
    this.subscriber = new Client(url, {
      ...OPTIONS,
      enableOfflineQueue: true,
      maxRetriesPerRequest: null,
    })
    this.subscriber.on('error', () => {})
    this.commands.on('error', (error: unknown) => this.away(log, error))
    this.commands.on('close', () => this.away(log, undefined))
    this.commands.on('ready', () => {
      if (this.isAway) log.info('Redis is back: runs go on')
      this.isAway = false
    })
  }

  /** Throws DATABASE_UNAVAILABLE. */
  async open(): Promise<void> {
    try {
      await Promise.race([this.commands.connect(), late(CONNECT_MS)])
      this.isOpen = true
      const info = await this.commands.info()
      const said = (name: string): string =>
        new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1]?.trim() ?? ''
      if (said('role') === 'slave') throw new Error('it is a replica and cannot be written to')
      const policy = said('maxmemory_policy')
      if (policy !== '' && policy !== 'noeviction') throw evicting(this.description, policy)
    } catch (error) {
      this.close()
      throw error instanceof PerdureError
        ? error
        : unavailable(this.description, this.lastError ?? plainError(error))
    }
  }

  /** Resolves when commands can be sent; throws after `ms`. */
  async ready(ms: number): Promise<void> {
    if (this.commands.status === 'ready') return
    if (this.isClosed) throw new Error('the connection is closed')
    await new Promise<void>((resolve, reject) => {
      const over = (error: Error | null): void => {
        clearTimeout(timer)
        this.commands.off('ready', back)
        this.commands.off('end', end)
        if (error) reject(error)
        else resolve()
      }
      const back = (): void => over(null)
      const end = (): void => over(new Error('the connection is closed'))
      const timer = setTimeout(() => over(new Error('no connection')), ms)
      this.commands.on('ready', back)
      this.commands.on('end', end)
    })
  }

  close(): void {
    this.isClosed = true
    this.commands.disconnect()
    this.subscriber.disconnect()
  }

  private away(log: Log, given: unknown): void {
    const error = given === undefined ? null : plainError(given)
    this.lastError = error ?? this.lastError
    if (this.isAway || this.isClosed || !this.isOpen) return
    this.isAway = true
    log.warn('Redis is away: runs wait for it', error ? { error } : {})
  }
}

/** Without the command, which the client adds to an error: it may be the password, or what a run has stored. */
export function plainError(error: unknown): Error {
  return new Error(error instanceof Error ? error.message : String(error))
}

async function late(ms: number): Promise<never> {
  await sleep(ms, undefined, { ref: false })
  throw new Error('no answer')
}

function unavailable(description: string, error: Error): PerdureError {
  return new PerdureError(
    'DATABASE_UNAVAILABLE',
    `The database ${description} cannot be used: ${error.message}.`,
    {
      hint: 'check that it runs, that the address is right and that it is the primary',
      cause: error,
    },
  )
}

/** It would drop the log when it has no room for another value. */
function evicting(description: string, policy: string): PerdureError {
  return new PerdureError(
    'DATABASE_UNSAFE',
    `The database ${description} drops keys when its memory is full (maxmemory-policy ${policy}).`,
    {
      hint: 'use a Redis of its own for Perdure, with: maxmemory-policy noeviction',
      details: { policy },
    },
  )
}

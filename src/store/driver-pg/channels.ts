// Hints between processes: LISTEN on a connection of its own, NOTIFY on another, never inside a kernel transaction
// (a commit with a notification takes a lock of the whole cluster).
//
// Owns:      the listening client, and what waits to be notified.
// Invariants
//   H1. The first notification goes at once, then at most one statement per 2 ms; equal payloads go once.
//   H2. Losing either connection loses hints, nothing else. The listener comes back by itself.

import type { Client, ClientConfig, QueryConfig } from 'pg'
import { dropLater } from './connection.js'
import type { LanePool } from './lanes.js'

const NOTIFY_EVERY_MS = 2
const PING_EVERY_MS = 15_000
const PING_ANSWER_MS = 5_000
const RECONNECT_MS = 1_000
/** The server refuses 8,000 bytes. */
const PAYLOAD_BYTES_MAX = 7_999
/** Hints that wait while the database does not answer; beyond it they are dropped. */
const WAITING_MAX = 1_000

export class Notifier {
  private readonly lane: LanePool
  private waiting = new Map<string, [channel: string, payload: string]>()
  private isSending = false

  constructor(lane: LanePool) {
    this.lane = lane
  }

  notify(channel: string, payload: string): void {
    if (Buffer.byteLength(payload) > PAYLOAD_BYTES_MAX || this.waiting.size >= WAITING_MAX) return
    this.waiting.set(`${channel}\n${payload}`, [channel, payload])
    if (!this.isSending) void this.send()
  }

  private async send(): Promise<void> {
    this.isSending = true
    while (this.waiting.size > 0) {
      const pairs = [...this.waiting.values()]
      this.waiting = new Map()
      const calls = pairs.map((_, i) => `pg_notify($${2 * i + 1}, $${2 * i + 2})`)
      await this.lane.query(`select ${calls.join(', ')}`, pairs.flat()).catch(() => {})
      await new Promise<void>((resolve) => setTimeout(resolve, NOTIFY_EVERY_MS))
    }
    this.isSending = false
  }
}

type Listener = (payload: string) => void

export class ListenConnection {
  private readonly makeClient: () => Client
  private readonly listeners = new Map<string, Set<Listener>>()
  private client: Client | null = null
  private connecting: Promise<void> | null = null
  private timer: NodeJS.Timeout | null = null
  private isClosed = false

  constructor(makeClient: () => Client) {
    this.makeClient = makeClient
  }

  /** Resolves when the server listens, or when it cannot be reached now (it is tried again). */
  async listen(channel: string, listener: Listener): Promise<() => Promise<void>> {
    const isNew = !this.listeners.has(channel)
    const set = this.listeners.get(channel) ?? new Set()
    this.listeners.set(channel, set.add(listener))
    if (this.client === null) await this.connect()
    else if (isNew) await this.client.query(`listen ${quoted(channel)}`).catch(() => {})
    return async () => {
      set.delete(listener)
      if (set.size > 0 || this.listeners.get(channel) !== set) return
      this.listeners.delete(channel)
      const unlisten: QueryConfig & ClientConfig = {
        text: `unlisten ${quoted(channel)}`,
        query_timeout: PING_ANSWER_MS,
      }
      await this.client?.query(unlisten).catch(() => {})
    }
  }

  async close(): Promise<void> {
    this.isClosed = true
    if (this.timer !== null) clearTimeout(this.timer)
    this.listeners.clear()
    await this.connecting
    const { client } = this
    this.client = null
    if (client === null) return
    const stay = dropLater(client)
    await client.end().catch(() => {})
    stay()
  }

  private connect(): Promise<void> {
    this.connecting ??= this.open().finally(() => {
      this.connecting = null
    })
    return this.connecting
  }

  private async open(): Promise<void> {
    if (this.isClosed) return
    const client = this.makeClient()
    client.on('error', () => this.lose(client))
    client.on('end', () => this.lose(client))
    client.on('notification', ({ channel, payload }) => {
      for (const listener of this.listeners.get(channel) ?? []) listener(payload ?? '')
    })
    try {
      await client.connect()
      const channels = [...this.listeners.keys()].map((channel) => `listen ${quoted(channel)}`)
      if (channels.length > 0) await client.query(channels.join('; '))
      this.client = client
      this.later(PING_EVERY_MS)
    } catch {
      await client.end().catch(() => {})
      this.later(RECONNECT_MS)
    }
  }

  private lose(client: Client): void {
    if (this.client !== client) return
    this.client = null
    this.later(RECONNECT_MS)
  }

  /** Either the ping of a living connection or the next attempt to have one. */
  private later(ms: number): void {
    if (this.isClosed) return
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = setTimeout(() => {
      const { client } = this
      void (client === null ? this.connect() : this.ping(client))
    }, ms)
  }

  /** A connection that a firewall has forgotten says nothing: only a question shows it. */
  private async ping(client: Client): Promise<void> {
    const silence = setTimeout(() => {
      this.lose(client)
      void client.end().catch(() => {})
    }, PING_ANSWER_MS)
    try {
      await client.query('select 1')
      if (this.client === client) this.later(PING_EVERY_MS)
    } catch {
      this.lose(client)
    } finally {
      clearTimeout(silence)
    }
  }
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

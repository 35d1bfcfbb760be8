// The log of calls in Redis, and the replica of this process that follows it. Whatever waits goes out in one round: one script call
// appends all calls that write as one entry, and brings what others have appended; they are applied in the order of the log, and then
// those who read get their answers.
//
// Invariants
//   G1. One round at a time. A batch has the number (sender, counter), and Redis appends each number once: it may be sent again.
//   G2. An answer is what applying the entry has given here: so it is acknowledged only when Redis has stored it.
//   G3. The replica is at entry `seen`, which was written by `mark`. Redis compares both: one that has lost its end, or was emptied, is noticed,
//       and the replica is made anew of what is there.

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../kernel/ports.js'
import { StoreUnavailable } from '../kernel/store.js'
import { PerdureError } from '../model/error.js'
import { type Connection, plainError } from './connection.js'
import { pack, unpack } from './packing.js'
import { Replica, type ReplicaOptions, WRITES } from './replica.js'
import { ADOPT, EXCHANGE, OPEN, Scripts, SNAPSHOT } from './scripts.js'

export type Write = (typeof WRITES)[number]

/** How long a round is sent again before those who wait are told that the database is away. */
const RESEND_MS = 2_000
const AGAIN_MS = 5
/** Entries per answer of Redis. */
const PAGE = 1_000
/** Of one batch, about. */
const BATCH_CHARS_MAX = 8_000_000
/** So many entries, and as much as the last snapshot has. */
const SNAPSHOT_EVERY = 5_000
const SNAPSHOT_LOCK_MS = 60_000

type Reply =
  | readonly ['behind']
  | readonly ['version', string]
  | readonly [
      'more' | 'done',
      readonly [now: string, base: string, size: string],
      readonly Entry[],
      own: string,
    ]
type Entry = readonly [
  id: string,
  fields: readonly [h: string, head: string, b: string, calls: string],
]

interface Asked {
  /** null: it reads. */
  readonly calls: string | null
  readonly read: ((replica: Replica) => unknown) | null
  resolve(value: unknown): void
  reject(error: unknown): void
}

type Outcome = { readonly value: unknown } | { readonly error: unknown }

export interface LogOptions extends ReplicaOptions {
  readonly schema: string
  /** All processes must apply the log alike. */
  readonly version: string
  readonly log: Log
  readonly snapshotEvery?: number
}

export class RedisLog {
  replica: Replica
  private readonly connection: Connection
  private readonly options: LogOptions
  private readonly scripts: Scripts
  private readonly sender = randomUUID()
  private counter = 0
  private seen = 0
  private mark = ''
  /** Of the snapshot, and of the log behind it. */
  private base = 0
  private size = 0
  private charsBehind = 0
  private readonly waiting: Asked[] = []
  private going: Promise<void> | null = null
  private snapshotting: Promise<void> | null = null
  private isClosed = false

  constructor(connection: Connection, options: LogOptions) {
    this.connection = connection
    this.options = options
    this.scripts = new Scripts(connection.commands, options.schema)
    this.replica = new Replica(options)
  }

  /** Throws DATABASE_VERSION. */
  async open(): Promise<void> {
    const { version } = this.options
    const found = await this.load()
    if (found !== version && !(await this.adopt(found)))
      throw otherVersion(this.connection, found, version)
    await this.read(() => {})
  }

  write(method: Write, args: readonly unknown[]): Promise<unknown> {
    return this.ask(JSON.stringify([method, args]), null)
  }

  read<T>(work: (replica: Replica) => T): Promise<Awaited<T>> {
    return this.ask(null, work) as Promise<Awaited<T>>
  }

  /** The last that closes leaves a snapshot with nothing behind it: another version can go on from there. */
  async close(): Promise<void> {
    if (this.isClosed) return
    await this.snapshotting
    const { commands } = this.connection
    if (commands.status === 'ready' && this.seen > this.base) await this.snapshot().catch(() => {})
    this.isClosed = true
    await this.going
    if (commands.status === 'ready') await this.scripts.forget(this.sender).catch(() => {})
  }

  // ── rounds ──────────────────────────────────────────────────────────────────────────────────────────────────

  private ask(calls: string | null, read: Asked['read']): Promise<unknown> {
    if (this.isClosed) return Promise.reject(new StoreUnavailable('the store is closed'))
    return new Promise((resolve, reject) => {
      this.waiting.push({ calls, read, resolve, reject })
      this.going ??= this.go()
    })
  }

  private async go(): Promise<void> {
    // Those who ask in the same moment go out together.
    await null
    while (this.waiting.length > 0) {
      const asked = this.take()
      try {
        await this.round(asked)
      } catch (error) {
        const told = asStoreError(error)
        for (const { reject } of asked) reject(told)
      }
      this.snapshotIfLong()
    }
    // In the same moment in which nothing waits: who asks next begins anew.
    this.going = null
  }

  private take(): Asked[] {
    let chars = 0
    const many = this.waiting.findIndex(({ calls }) => {
      chars += calls?.length ?? 0
      return chars > BATCH_CHARS_MAX
    })
    return this.waiting.splice(0, many < 0 ? this.waiting.length : Math.max(many, 1))
  }

  private async round(asked: readonly Asked[]): Promise<void> {
    const writing = asked.filter(({ calls }) => calls !== null)
    const outcomes = await this.exchange(writing.map(({ calls }) => calls ?? ''))
    for (const [i, { resolve, reject }] of writing.entries()) {
      const outcome = outcomes[i] ?? { error: new StoreUnavailable('the answer was lost') }
      if ('value' in outcome) resolve(outcome.value)
      else reject(outcome.error)
    }
    for (const { read, resolve, reject } of asked) {
      if (!read) continue
      try {
        resolve(await read(this.replica))
      } catch (error) {
        reject(error)
      }
    }
  }

  /** Appends these and applies all there is; the outcome of each of them. */
  private async exchange(calls: readonly string[]): Promise<readonly Outcome[]> {
    const batch = calls.length > 0 ? `[${calls.join(',')}]` : ''
    if (batch !== '') this.counter += 1
    const counter = batch === '' ? '' : String(this.counter)
    const head = `${this.sender} ${counter}`
    let outcomes: readonly Outcome[] = []
    for (;;) {
      const reply = await this.send(counter, batch)
      if (reply[0] === 'version')
        throw otherVersion(this.connection, reply[1], this.options.version)
      if (reply[0] === 'behind') {
        await this.load()
        continue
      }
      const [kind, [now, base, size], entries, own] = reply
      for (const [id, [, written, , text]] of entries) {
        const [sender = '', number = '', at] = written.split(' ')
        const applied = await this.apply(
          `${sender} ${number}`,
          Number(at),
          text,
          Number.parseInt(id, 10),
        )
        if (written.startsWith(`${head} `)) outcomes = applied
      }
      if (own !== '0') outcomes = await this.apply(head, Number(now), batch, Number(own))
      this.replica.moveTo(Number(now))
      this.based(Number(base), Number(size))
      if (kind === 'done') return outcomes
    }
  }

  /** Until it is answered, or RESEND_MS are over. */
  private async send(counter: string, batch: string): Promise<Reply> {
    const until = performance.now() + RESEND_MS
    for (;;) {
      try {
        await this.connection.ready(Math.max(1, until - performance.now()))
        const args = [
          this.options.version,
          String(this.seen),
          this.mark,
          PAGE,
          this.sender,
          counter,
          batch,
        ]
        return (await this.scripts.run(EXCHANGE, args)) as Reply
      } catch (error) {
        const isRefused = (error as { name?: unknown }).name === 'ReplyError'
        if (isRefused || this.isClosed || performance.now() >= until) throw error
        // A connection that is closing refuses at once, and says that it is closed when somebody lets it.
        await sleep(AGAIN_MS)
      }
    }
  }

  private async apply(
    mark: string,
    at: number,
    text: string,
    id: number,
  ): Promise<readonly Outcome[]> {
    if (id !== this.seen + 1)
      throw new Error(`the log in Redis goes on with ${id} behind ${this.seen}`)
    const calls = JSON.parse(text) as readonly (readonly [Write, readonly unknown[]])[]
    const outcomes: Outcome[] = []
    for (const [method, args] of calls) {
      this.replica.setTime(at)
      outcomes.push(await applied(this.replica, method, args))
    }
    this.seen = id
    this.mark = mark
    this.charsBehind += text.length
    return outcomes
  }

  // ── snapshots ───────────────────────────────────────────────────────────────────────────────────────────────

  /** The version that it was written by. */
  private async load(): Promise<string> {
    const args = [this.options.version, this.sender]
    const answer = (await this.scripts.runBuffer(OPEN, args)) as readonly Buffer[]
    const [version, , base, mark, size, now] = answer.map(String)
    const dumped = answer[6]
    const replica = new Replica(this.options)
    if (dumped) await replica.restore(unpack(dumped))
    replica.moveTo(Number(now))
    this.replica = replica
    this.seen = Number(base)
    this.mark = mark ?? ''
    this.charsBehind = 0
    this.based(Number(base), Number(size))
    return version ?? ''
  }

  private async adopt(found: string): Promise<boolean> {
    const isUsed = [...this.replica.workers.values()].some(
      ({ leaseUntil }) => leaseUntil > this.replica.now(),
    )
    return !isUsed && (await this.scripts.run(ADOPT, [this.options.version, found])) === 1
  }

  private based(base: number, size: number): void {
    if (base !== this.base) this.charsBehind = 0
    this.base = base
    this.size = size
  }

  private snapshotIfLong(): void {
    const every = this.options.snapshotEvery ?? SNAPSHOT_EVERY
    if (this.seen - this.base < every || this.charsBehind < this.size) return
    if (this.snapshotting !== null) return
    const { lock } = this.scripts
    const { commands } = this.connection
    this.snapshotting = commands
      .set(lock, this.sender, 'PX', SNAPSHOT_LOCK_MS, 'NX')
      .then(async (isOurs) => {
        if (isOurs === null) return
        await this.snapshot()
        await commands.del(lock)
      })
      .catch((given: unknown) => {
        const error = plainError(given)
        this.options.log.debug('no snapshot was written to Redis', { error })
      })
      .finally(() => {
        this.snapshotting = null
      })
  }

  /** Of the state between two rounds. No round goes out meanwhile; timers and user code go on. */
  private async snapshot(): Promise<void> {
    const { packed, seen, mark } = await this.read(async (replica) => {
      return { packed: await pack(replica.dump()), seen: this.seen, mark: this.mark }
    })
    if (seen <= this.base) return
    await this.scripts.run(SNAPSHOT, [this.options.version, String(seen), mark, packed])
  }
}

async function applied(
  replica: Replica,
  method: Write,
  args: readonly unknown[],
): Promise<Outcome> {
  try {
    if (!WRITES.includes(method)) throw new Error(`the log in Redis has a call "${method}"`)
    const call = replica[method] as (...given: unknown[]) => Promise<unknown>
    return { value: await call.apply(replica, [...args]) }
  } catch (error) {
    // It is the same for everybody: nothing was changed, and who has sent it is told.
    return { error }
  }
}

/** Redis that is away, full or read-only says nothing about a call: it is sent again. */
function asStoreError(error: unknown): unknown {
  if (error instanceof StoreUnavailable || PerdureError.is(error)) return error
  return new StoreUnavailable(`Redis: ${plainError(error).message}`)
}

function otherVersion({ description }: Connection, found: string, ours: string): PerdureError {
  return new PerdureError(
    'DATABASE_VERSION',
    `The state in ${description} belongs to version ${found} of Perdure, and this is version ${ours}.`,
    {
      hint: 'all processes on one Redis have the same version: close all of them, then start the others',
      details: { found, ours },
    },
  )
}

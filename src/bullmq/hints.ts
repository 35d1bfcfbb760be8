// Hints over BullMQ. A job says that a run is due, or will be; whoever gets it looks for due runs, and the database decides. What
// all must hear goes over publish and subscribe of Redis.
//
// Invariants
//   B1. A job is only a hint: losing it, or getting it twice, changes no run. Nothing here is waited for by the kernel.
//   B2. While Redis is away nothing is kept for it: the poll finds what is due.
//   B3. A process that cannot take a run passes the hint on to all.
//   B4. A job names the definition and the run, and has nothing of its input.

import type { Job, Queue, Worker } from 'bullmq'
import type { DueRun, Hints } from '../kernel/ports.js'
import { hintsOver } from '../live-hints.js'
import type { Redises } from './redises.js'

/** A run that is due later is found by the poll: waits of weeks, which mostly end sooner, would fill Redis. */
const AHEAD_MS_MAX = 86_400_000
/** Beyond it they are dropped: those before them wake everybody who can execute. */
const WAITING_MAX = 10_000
const BULK_MAX = 500
const AT_ONCE = 20
const RETRY_MS = 1_000
const LAST_MS = 500

/** What dashboards show; the name of the job is the definition. */
interface Shown {
  readonly run: string
  readonly workspace: string
  readonly version: string | null
}
type Named = Job<Shown, void, string>

export interface BullHintsOptions {
  readonly bull: { readonly Queue: typeof Queue; readonly Worker: typeof Worker }
  readonly redises: Redises
  readonly queue: string
  readonly executes: boolean
}

export async function openBullHints({
  bull,
  redises,
  queue: name,
  executes,
}: BullHintsOptions): Promise<Hints> {
  const channel = `perdure:${name}`
  const { hints, heard, hear } = hintsOver((payload) => {
    if (redises.areReady) redises.commands.publish(channel, payload).catch(() => {})
  })
  const subscriber = redises.open()
  subscriber.on('message', (_channel, payload) => heard(payload))
  // Waits for the connection, and is done again on every later one.
  subscriber.subscribe(channel).catch(() => {})

  const jobs = new Jobs(new bull.Queue(name, { connection: redises.commands }), redises)
  const worker = executes
    ? new bull.Worker<Shown, void, string>(
        name,
        async ({ name: definition, data: { version } }: Named) => {
          if (hear({ kind: 'due', definition, version })) return
          hints.publish({ kind: 'due', definition: null })
        },
        { connection: redises.commands, concurrency: AT_ONCE, runRetryDelay: RETRY_MS },
      )
    : null
  worker?.on('error', () => {})

  return {
    ...hints,
    wake: (runs) => jobs.add(runs),
    close: async () => {
      await hints.close()
      await Promise.race([jobs.sent(), after(LAST_MS)])
      const closing = Promise.allSettled([worker?.close(true), jobs.queue.close()])
      await Promise.race([closing, after(LAST_MS)])
      redises.close()
      await closing
    },
  }
}

/** Adds what waits in one call, and what comes meanwhile in the next. */
class Jobs {
  readonly queue: Queue
  private readonly redises: Redises
  private readonly waiting = new Map<string, DueRun>()
  private sending: Promise<void> | null = null

  constructor(queue: Queue, redises: Redises) {
    this.queue = queue
    this.redises = redises
    queue.on('error', () => {})
  }

  add(runs: readonly DueRun[]): void {
    if (!this.redises.areReady) return
    for (const due of runs) {
      if (due.inMs > AHEAD_MS_MAX || this.waiting.size >= WAITING_MAX) continue
      this.waiting.set(`${due.run.uid}-${due.seq}`, due)
    }
    if (this.waiting.size === 0) return
    this.sending ??= this.send().finally(() => {
      this.sending = null
    })
  }

  sent(): Promise<void> {
    return this.sending ?? Promise.resolve()
  }

  private async send(): Promise<void> {
    while (this.waiting.size > 0) {
      const some = [...this.waiting].slice(0, BULK_MAX)
      for (const [id] of some) this.waiting.delete(id)
      await this.queue.addBulk(some.map(jobOf)).catch(() => {})
    }
  }
}

function jobOf([jobId, { run, inMs }]: readonly [string, DueRun]) {
  const data: Shown = { run: run.id, workspace: run.workspace, version: run.version }
  const opts = { jobId, delay: inMs, removeOnComplete: true, removeOnFail: true }
  return { name: run.definition, data, opts }
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}

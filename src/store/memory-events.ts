// Events and waits of the store in memory.

import { createHash } from 'node:crypto'
import type {
  EventStore,
  EventWait,
  Hearing,
  NewEvent,
  Subscriptions,
  TurnDelta,
  Within,
} from '../kernel/store.js'
import { EVENT_RUN, RUN_ID, type RunId, type Uid, uuidv7 } from '../model/ids.js'
import { type Instant, isFinal } from '../model/run.js'
import { MemoryOperating } from './memory-operating.js'
import type { MemoryRun } from './memory-run.js'

interface MemoryEvent extends NewEvent {
  readonly workspace: string
  readonly at: Instant
  isTold: boolean
}

export interface MemoryWait extends EventWait {
  readonly row: MemoryRun
  isLooked: boolean
}

type Named = Pick<Hearing, 'uid' | 'name' | 'occurrence'>

export class MemoryEvents extends MemoryOperating implements EventStore {
  readonly events = new Map<string, MemoryEvent>()
  protected waits: MemoryWait[] = []
  private readonly subscribed = new Map<string, Subscriptions>()

  async subscribe(subscriptions: readonly Subscriptions[]): Promise<void> {
    for (const one of subscriptions) this.subscribed.set(one.definition, one)
  }

  async emit(workspace: string, event: NewEvent, within: Within | null): Promise<void> {
    if (within) this.atCommit(within, () => this.happens(workspace, event))
    else this.happens(workspace, event)
  }

  async fanOut(atMost: number): Promise<readonly Hearing[]> {
    const found: Hearing[] = []
    for (const event of this.events.values()) {
      if (event.isTold) continue
      const hearing = this.waits.filter((wait) => hears(wait, event) && wait.since <= event.at)
      if (hearing.length === 0) event.isTold = true
      found.push(...hearing.map((wait) => hearingOf(wait, event.name, event.payload)))
    }
    for (const wait of this.waits) {
      if (wait.isLooked || !('event' in wait.heard)) continue
      const event = [...this.events.values()].find(
        (one) => hears(wait, one) && one.at >= wait.since,
      )
      if (event) found.push(hearingOf(wait, event.name, event.payload))
      else wait.isLooked = true
    }
    return found.slice(0, atMost)
  }

  async awaited(after: Uid | null, atMost: number): Promise<readonly Hearing[]> {
    const waits = this.waits.filter(({ row, heard }) => 'run' in heard && row.uid > (after ?? ''))
    waits.sort((a, b) => (a.row.uid < b.row.uid ? -1 : 1))
    return waits.slice(0, atMost).map((wait) => {
      const { heard, row } = wait
      const run = 'run' in heard ? this.find(row.run.workspace, heard.run) : undefined
      if (!run) return hearingOf(wait, 'unknown', null)
      if (!isFinal(run.status)) return hearingOf(wait, null, null)
      return hearingOf(wait, run.status, run.journal.at(-1)?.payload ?? null)
    })
  }

  async heard(waits: readonly Named[]): Promise<void> {
    this.waits = this.waits.filter(
      ({ row, name, occurrence }) =>
        !waits.some(
          (one) => one.uid === row.uid && one.name === name && one.occurrence === occurrence,
        ),
    )
  }

  override async prune(...args: Parameters<MemoryOperating['prune']>) {
    const answer = await super.prune(...args)
    this.waits = this.waits.filter(({ row }) => this.runs.has(row.uid))
    return answer
  }

  protected override listens(row: MemoryRun, { waits, events }: TurnDelta): void {
    if (waits) {
      const others = this.waits.filter((wait) => wait.row !== row)
      this.waits = [...others, ...waits.map((wait) => ({ ...wait, row, isLooked: false }))]
    }
    for (const event of events) this.happens(row.run.workspace, event)
  }

  private startBy(
    workspace: string,
    event: NewEvent,
    definition: string,
    timeoutMs: number | null,
  ): void {
    const id = runIdOf(event, definition)
    if (this.find(workspace, id)) return
    const chance = createHash('sha256').update(`${workspace} ${id}`).digest()
    const uid = uuidv7(this.now(), chance.subarray(0, 10)) as Uid
    const rest = { version: null, order: null, priority: 5, delayMs: 0, parent: null }
    const tags = { event: event.name }
    const input = event.payload
    const limits = this.limitsOf(definition, workspace, input)
    const run = { uid, id, workspace, definition, input, tags, timeoutMs, limits, ...rest }
    this.startNow({ run, meta: { bornWith: 1 }, message: null })
  }

  private happens(workspace: string, event: NewEvent): void {
    const key = `${workspace}\u001f${event.id}`
    if (this.events.has(key)) return
    this.events.set(key, { ...event, workspace, at: this.now(), isTold: false })
    for (const { definition, to } of this.subscribed.values()) {
      const found = to.find(
        ({ event: name, match }) =>
          name === event.name && match.every((one) => event.keys.includes(one)),
      )
      if (found && !this.isForeign(definition, workspace))
        this.startBy(workspace, event, definition, found.timeoutMs)
    }
  }
}

/** As start_subscribed_v1 names it. */
function runIdOf({ id }: NewEvent, definition: string): RunId {
  const run = `${EVENT_RUN}${id}:${definition}`
  const hash = () => createHash('md5').update(`${id} ${definition}`).digest('hex')
  return (RUN_ID.test(run) ? run : `${EVENT_RUN}${hash()}`) as RunId
}

export function hears({ heard, row }: MemoryWait, { workspace, name, keys }: MemoryEvent): boolean {
  if (!('event' in heard) || heard.event !== name || row.run.workspace !== workspace) return false
  return heard.match.every((key) => keys.includes(key))
}

function hearingOf(
  { row, name, occurrence }: MemoryWait,
  message: string | null,
  payload: string | null,
): Hearing {
  const { workspace, id } = row.run
  return { uid: row.uid, to: { workspace, id }, name, occurrence, message, payload }
}

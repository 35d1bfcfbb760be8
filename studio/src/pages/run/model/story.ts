// From the journal of a run to the lanes of its timeline: one for each step, wait, sleep and child, with what it did when. Pure.

import type { JournalEntry } from 'perdure'

/** `backoff`: between two attempts. `place`: where a machine was. */
export type SpanKind = 'attempt' | 'backoff' | 'wait' | 'sleep' | 'child' | 'place'
export type SpanState = 'open' | 'done' | 'failed' | 'withdrawn'

export interface Span {
  readonly kind: SpanKind
  readonly from: number
  /** null: it goes on. */
  to: number | null
  state: SpanState
  /** The entry that tells of its end, or of its beginning while it is open. */
  seq: number
  readonly attempt: number
  /** When a sleep, a wait or a pause between attempts ends by itself. */
  readonly until: number | null
  readonly label: string
}

export interface Lane {
  /** As the journal names it: `charge`, `charge#2`. */
  readonly name: string
  readonly kind: 'step' | 'wait' | 'sleep' | 'child' | 'undo' | 'places'
  readonly spans: Span[]
  /** The first and the last entry that tell of it. */
  readonly firstSeq: number
  lastSeq: number
  /** Of a child: its run. */
  runId: string | null
  workflow: string | null
}

export interface Mark {
  readonly kind: string
  readonly at: number
  readonly seq: number
}

export interface Story {
  readonly lanes: readonly Lane[]
  /** What happened to the run itself: its end, that it was re-opened. */
  readonly marks: readonly Mark[]
  readonly from: number
  /** The last thing that is known. */
  readonly to: number
  readonly isOver: boolean
}

export const PLACES = 'place'
const ENDS = ['run.completed', 'run.failed', 'run.cancelled', 'run.timed_out']

export function storyOf(entries: Iterable<JournalEntry>): Story {
  const teller = new Teller()
  for (const entry of entries) teller.hear(entry)
  return teller.told()
}

class Teller {
  private readonly lanes = new Map<string, Lane>()
  private readonly marks: Mark[] = []
  private from = Number.POSITIVE_INFINITY
  private to = 0
  private isOver = false

  hear(entry: JournalEntry): void {
    const at = entry.at.getTime()
    this.from = Math.min(this.from, at)
    this.to = Math.max(this.to, at)
    if (entry.transitions) this.move(entry, at)
    if (entry.kind.startsWith('run.')) this.mark(entry, at)
    this.part(entry, at)
  }

  /** What it says of a step, a wait, a sleep or a child. */
  private part(entry: JournalEntry, at: number): void {
    const { kind } = entry
    if (kind === 'step.asked') this.open(entry, 'step', 'attempt', at)
    else if (kind === 'step.completed' || kind === 'step.failed') this.tried(entry, 'step', at)
    else if (kind === 'undo.completed' || kind === 'undo.failed') this.tried(entry, 'undo', at)
    else if (kind === 'timer.set') this.open(entry, 'sleep', 'sleep', at)
    else if (kind === 'wait.opened') this.open(entry, 'wait', 'wait', at)
    else if (kind === 'child.started') this.open(entry, 'child', 'child', at)
    else if (kind === 'timer.fired' || kind === 'message.taken') this.close(entry, at, 'done')
    else if (kind === 'wait.withdrawn') this.close(entry, at, 'withdrawn')
    else if (kind === 'child.ended') this.childEnded(entry, at)
  }

  told(): Story {
    if (this.isOver) this.endAll()
    const { marks, from, to, isOver } = this
    return { lanes: [...this.lanes.values()], marks, from: Math.min(from, to), to, isOver }
  }

  private mark({ kind, seq }: JournalEntry, at: number): void {
    if (kind === 'run.created') return
    this.marks.push({ kind, at, seq })
    this.isOver = ENDS.includes(kind)
    if (kind === 'run.reopened') this.isOver = false
  }

  private lane(name: string, kind: Lane['kind'], seq: number): Lane {
    const known = this.lanes.get(name)
    if (known) known.lastSeq = seq
    if (known) return known
    const numbers = { firstSeq: seq, lastSeq: seq }
    const lane: Lane = { name, kind, spans: [], ...numbers, runId: null, workflow: null }
    this.lanes.set(name, lane)
    return lane
  }

  private open(entry: JournalEntry, kind: Lane['kind'], span: SpanKind, at: number): void {
    const lane = this.lane(entry.name, kind, entry.seq)
    endBackoff(lane, at)
    lane.runId = entry.runId ?? lane.runId
    lane.workflow = entry.workflow ?? lane.workflow
    lane.spans.push(spanOf(entry, span, at, null))
  }

  /** An attempt of a step, known when it has ended. */
  private tried(entry: JournalEntry, kind: 'step' | 'undo', at: number): void {
    const lane = this.lane(entry.name, kind, entry.seq)
    const from = entry.startedAt?.getTime() ?? at
    this.from = Math.min(this.from, from)
    endBackoff(lane, from)
    const asked = lane.spans.at(-1)
    if (asked?.kind === 'attempt' && asked.state === 'open') lane.spans.pop()
    const state = entry.kind.endsWith('.failed') ? 'failed' : 'done'
    const begun = asked?.state === 'open' && !entry.startedAt ? asked.from : from
    lane.spans.push({ ...spanOf(entry, 'attempt', begun, at), state })
    if (state === 'failed' && entry.until) lane.spans.push(spanOf(entry, 'backoff', at, null))
  }

  private close(entry: JournalEntry, at: number, state: SpanState): void {
    const lane = this.lane(entry.name, 'wait', entry.seq)
    const open = lane.spans.at(-1)
    if (open && open.to === null) end(open, at, state, entry.seq)
    else lane.spans.push({ ...spanOf(entry, 'wait', at, at), state })
  }

  private childEnded(entry: JournalEntry, at: number): void {
    const state = entry.error ? 'failed' : 'done'
    this.close(entry, at, state)
    const lane = this.lane(entry.name, 'child', entry.seq)
    if (state === 'failed' && entry.until) lane.spans.push(spanOf(entry, 'backoff', at, null))
  }

  private move(entry: JournalEntry, at: number): void {
    const lane = this.lane(PLACES, 'places', entry.seq)
    for (const { from, to } of entry.transitions ?? []) {
      const before = lane.spans.at(-1)
      if (before) end(before, at, 'done', before.seq)
      else lane.spans.push({ ...spanOf(entry, 'place', this.from, at), state: 'done', label: from })
      lane.spans.push({ ...spanOf(entry, 'place', at, null), label: to })
    }
  }

  private endAll(): void {
    for (const { spans } of this.lanes.values()) {
      const last = spans.at(-1)
      if (last?.to === null)
        end(last, this.to, last.kind === 'place' ? 'done' : 'withdrawn', last.seq)
    }
  }
}

function spanOf(entry: JournalEntry, kind: SpanKind, from: number, to: number | null): Span {
  const { seq, attempt = 1, until } = entry
  const state = to === null ? 'open' : 'done'
  return { kind, from, to, state, seq, attempt, until: until?.getTime() ?? null, label: '' }
}

function end(span: Span, at: number, state: SpanState, seq: number): void {
  span.to = Math.max(at, span.from)
  span.state = state
  span.seq = seq
}

function endBackoff(lane: Lane, at: number): void {
  const last = lane.spans.at(-1)
  if (last?.kind === 'backoff' && last.to === null) end(last, at, 'done', last.seq)
}

/** When it began and, if it has, ended. */
export function boundsOf({ spans }: Lane): { readonly from: number; readonly to: number | null } {
  return { from: spans[0]?.from ?? 0, to: spans.at(-1)?.to ?? null }
}

export function stateOf({ spans }: Lane): SpanState {
  const last = spans.at(-1)
  return last?.kind === 'backoff' && last.to === null ? 'open' : (last?.state ?? 'done')
}

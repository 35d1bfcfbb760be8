// What people look at of many runs at once, in the store in memory.

import type {
  ActivityCount,
  InsightReader,
  RunReader,
  RunsOf,
  RunView,
  StepCount,
  StepCounts,
  StepsOf,
  Window,
} from '../kernel/store.js'
import { firstUid, type Uid } from '../model/ids.js'
import type { DocumentRow } from '../model/program.js'
import { type Entry, type Instant, isFinal } from '../model/run.js'
import { DELIVERY } from '../model/webhook.js'
import { documentsOf } from './memory-documents.js'
import { entryOf, type MemoryRun, viewOf } from './memory-run.js'

interface Rows {
  readonly runs: ReadonlyMap<Uid, MemoryRun>
  now(): Instant
}

/** As sql/queries/insight.sql says it. */
export class MemoryInsight implements InsightReader, Pick<RunReader, 'inbox'> {
  protected readonly rows: Rows

  constructor(rows: Rows) {
    this.rows = rows
  }

  async activity({ from, to, bucketMs, ...of }: Window): Promise<readonly ActivityCount[]> {
    const counts = new Map<string, ActivityCount>()
    const count = (at: Instant, what: ActivityCount['what']): void => {
      const last = Math.ceil((to - from) / bucketMs) - 1
      const bucket = Math.min(Math.max(Math.floor((at - from) / bucketMs), 0), last)
      const key = `${String(bucket).padStart(9, '0')} ${what}`
      counts.set(key, { bucket, what, runs: (counts.get(key)?.runs ?? 0) + 1 })
    }
    for (const row of this.of(of)) {
      const { uid, createdAt, finishedAt, status } = row
      if (uid >= firstUid(from) && uid < firstUid(to)) count(createdAt, 'started')
      const hasEnded = finishedAt !== null && finishedAt >= from && finishedAt < to
      if (hasEnded && isFinal(status)) count(finishedAt, status)
    }
    return [...counts.keys()].sort().flatMap((key) => counts.get(key) ?? [])
  }

  async inbox({ after, limit, ...of }: Parameters<RunReader['inbox']>[0]): Promise<RunView[]> {
    const now = this.rows.now()
    const isForPeople = ({ uid, status, reason, stop, dueAt, asksAt }: MemoryRun): boolean =>
      status === 'waiting' &&
      reason === 'signal' &&
      stop === null &&
      (dueAt ?? asksAt ?? now + 1) > now &&
      (after === null || uid > after)
    return this.of(of).filter(isForPeople).slice(0, limit).map(viewOf)
  }

  async recent(uids: readonly Uid[], limit: number): Promise<ReadonlyMap<Uid, readonly Entry[]>> {
    return this.each(uids, ({ journal }) =>
      journal.slice(-limit).toReversed().map(entryOf).map(withoutValue),
    )
  }

  async visible(uids: readonly Uid[], limit: number) {
    return this.each(uids, (row): readonly DocumentRow[] =>
      documentsOf(row)
        .filter(({ untilSeq, isHidden }) => untilSeq === null && !isHidden)
        .slice(0, limit),
    )
  }

  async stepCounts(of: StepsOf): Promise<StepCounts> {
    const { from, runsMax, entriesMax, entriesOfAll } = of
    const newest = this.of(of)
      .filter(({ uid }) => from === null || uid >= firstUid(from))
      .toReversed()
      .slice(0, 5 * runsMax)
    const chosen = newest.filter(({ finishedAt }) => finishedAt !== null).slice(0, runsMax)
    const each = chosen.map((row) => row.journal.filter(isOfStep).slice(-entriesMax))
    const isCut = each.some(({ length }) => length >= entriesMax)
    const total = each.reduce((sum, { length }) => sum + length, 0)
    const isFew = newest.length < 5 * runsMax && chosen.length < runsMax
    return {
      runs: chosen.length,
      isWhole: isFew && !isCut && total < entriesOfAll,
      steps: countedSteps(each),
    }
  }

  private of({ workspace, definition }: RunsOf): MemoryRun[] {
    const fits = ({ run }: MemoryRun): boolean =>
      run.workspace === workspace &&
      (definition === null ? run.definition !== DELIVERY : run.definition === definition)
    return [...this.rows.runs.values()].filter(fits).sort((a, b) => (a.uid < b.uid ? -1 : 1))
  }

  private each<T>(
    uids: readonly Uid[],
    itemsOf: (row: MemoryRun) => readonly T[],
  ): ReadonlyMap<Uid, readonly T[]> {
    const items = uids.flatMap((uid): [Uid, readonly T[]][] => {
      const row = this.rows.runs.get(uid)
      return row ? [[uid, itemsOf(row)]] : []
    })
    return new Map(items.filter(([, found]) => found.length > 0))
  }
}

function withoutValue(entry: Entry): Entry {
  const { kind, meta } = entry
  const isTold = kind === 'child.ended' && meta?.retryAt !== undefined
  if (kind === 'step.failed' || kind === 'undo.failed' || isTold) return entry
  return { ...entry, payload: null }
}

const OF_STEPS: readonly Entry['kind'][] = [
  'step.completed',
  'step.failed',
  'child.started',
  'child.ended',
]
const isOfStep = ({ kind }: Entry): boolean => OF_STEPS.includes(kind)

interface Counting {
  executions: number
  failures: number
  retries: number
  readonly durations: number[]
}

function countedSteps(journals: readonly (readonly Entry[])[]): readonly StepCount[] {
  const steps = new Map<string, Counting>()
  for (const journal of journals) {
    const askedAt = new Map<string, Instant>()
    for (const { kind, name, occurrence, at, meta } of journal) {
      const key = `${name} ${occurrence}`
      const since = askedAt.get(key)
      askedAt.set(key, at)
      if (kind === 'child.started') continue
      const known = withoutRounds(name)
      const step = steps.get(known) ?? { executions: 0, failures: 0, retries: 0, durations: [] }
      steps.set(known, step)
      const isRetry = meta?.retryAt !== undefined
      const isFailure = kind === 'step.failed' || (meta?.status ?? 'completed') !== 'completed'
      step.executions += isRetry ? 0 : 1
      step.failures += isFailure && !isRetry ? 1 : 0
      step.retries += isRetry ? 1 : 0
      const ms = kind === 'child.ended' ? since && at - since : meta?.startedAgo
      if (ms !== undefined) step.durations.push(ms)
    }
  }
  return [...steps.keys()].sort().map((name) => {
    const { durations = [], ...counts } = steps.get(name) ?? NOTHING
    durations.sort((a, b) => a - b)
    return {
      name,
      ...counts,
      p50Ms: percentile(durations, 0.5),
      p95Ms: percentile(durations, 0.95),
    }
  })
}

const NOTHING: Counting = { executions: 0, failures: 0, retries: 0, durations: [] }

const withoutRounds = (name: string): string =>
  name.replace(/^@\d+\//, '').replace(/[@#]\d+\//g, '/')

/** As percentile_cont: between two values, in proportion. */
function percentile(sorted: readonly number[], part: number): number | null {
  const at = (sorted.length - 1) * part
  const [below, above] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]]
  if (below === undefined || above === undefined) return null
  return below + (above - below) * (at - Math.floor(at))
}

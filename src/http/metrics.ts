// Counts in the form that Prometheus reads. Those of runs and workers are asked of the database at each reading: every process tells
// the same. The others are of this process, so they are summed up over all of them.

import { type Metric, Registry } from 'prom-client'
import type { DistributionInfo, EngineMetrics, RunCount, WorkerInfo } from '../index.js'

export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE

interface Sample {
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
  readonly metricName?: string
}

class Page {
  private readonly registry = new Registry()

  gauge(name: string, help: string, ...values: Sample[]): void {
    this.add('gauge', name, help, values)
  }

  counter(name: string, help: string, ...values: Sample[]): void {
    this.add('counter', name, help, values)
  }

  histogram(name: string, help: string, values: readonly Sample[]): void {
    this.add('histogram', name, help, values)
  }

  text(): Promise<string> {
    return this.registry.metrics()
  }

  /** The registry writes what such an object gives: nothing here is counted by the library itself. */
  private add(type: string, name: string, help: string, values: readonly Sample[]): void {
    const metric = { name, get: async () => ({ name, help, type, values }) }
    this.registry.registerMetric(metric as unknown as Metric)
  }
}

/** `own`: null for who may not see all workspaces. */
export function metricsText(
  counts: readonly RunCount[],
  workers: readonly WorkerInfo[],
  own: EngineMetrics | null,
): Promise<string> {
  const page = new Page()
  const runs = counts.map(({ runs: value, ...labels }) => ({ labels, value }))
  page.gauge('perdure_runs', 'Runs that are stored, by definition and status.', ...runs)
  const alive = workers.filter(({ isAlive }) => isAlive)
  const held = alive.reduce((sum, worker) => sum + worker.runs, 0)
  page.gauge('perdure_workers', 'Workers whose lease holds.', { value: alive.length })
  page.gauge('perdure_runs_held', 'Runs that live workers hold.', { value: held })
  if (own !== null) ofThisProcess(page, own)
  return page.text()
}

function ofThisProcess(page: Page, own: EngineMetrics): void {
  const { dueLagMs, counters, commitDeltas, commitMs, steps } = own
  const lag = { value: dueLagMs / 1_000 }
  page.gauge('perdure_due_lag_seconds', 'How late the run is that is due for longest.', lag)
  const count = (name: string, help: string, counter: string): void =>
    page.counter(name, help, { value: counters[counter] ?? 0 })
  count('perdure_turns_total', 'Turns that this process has begun.', 'turn.begun')
  count('perdure_claims_total', 'Questions for due runs.', 'claim.asked')
  count('perdure_claimed_runs_total', 'Runs that such a question gave.', 'claim.runs')
  page.counter(
    'perdure_happened_total',
    'How often something happened that is rare, as a commit that was sent again.',
    ...Object.entries(counters)
      .filter(([name]) => !COUNTED.has(name))
      .map(([what, value]) => ({ labels: { what }, value })),
  )
  const batch = 'perdure_commit_deltas'
  page.histogram(batch, 'What one commit stored: turns, starts, messages.', [
    ...samplesOf(batch, {}, commitDeltas, 1),
  ])
  const commit = 'perdure_commit_seconds'
  page.histogram(commit, 'How long the database took for a commit.', [
    ...samplesOf(commit, {}, commitMs, 1_000),
  ])
  const step = 'perdure_step_seconds'
  page.histogram(
    step,
    'Attempts of steps, by definition and outcome.',
    steps.flatMap(({ workflow, outcome, ms }) => [
      ...samplesOf(step, { workflow, outcome }, ms, 1_000),
    ]),
  )
  ofNode(page)
}

/** They have names of their own. */
const COUNTED = new Set([
  ...['turn.begun', 'claim.asked', 'claim.runs'],
  ...['commit.batches', 'commit.deltas'],
])

/** Under the names that are usual. Asked for when it is read: nothing watches meanwhile. */
function ofNode(page: Page): void {
  const { user, system } = process.cpuUsage()
  const startedAt = (Date.now() - process.uptime() * 1_000) / 1_000
  page.counter('process_cpu_seconds_total', 'Time of the processor.', {
    value: (user + system) / 1_000_000,
  })
  page.gauge('process_resident_memory_bytes', 'Memory.', { value: process.memoryUsage.rss() })
  page.gauge('process_start_time_seconds', 'When it began.', { value: startedAt })
  page.counter('nodejs_eventloop_active_seconds_total', 'Time in which the event loop was busy.', {
    value: performance.eventLoopUtilization().active / 1_000,
  })
}

/** Buckets are cumulative there. `unit`: so many of ours are one of theirs. */
function* samplesOf(
  name: string,
  labels: Readonly<Record<string, string>>,
  { bounds, counts, sum }: DistributionInfo,
  unit: number,
): Generator<Sample> {
  let value = 0
  for (const [i, count] of counts.entries()) {
    value += count
    const bound = bounds[i]
    const le = bound === undefined ? '+Inf' : String(bound / unit)
    yield { metricName: `${name}_bucket`, labels: { ...labels, le }, value }
  }
  yield { metricName: `${name}_sum`, labels, value: sum / unit }
  yield { metricName: `${name}_count`, labels, value }
}

// Counts in the form that Prometheus reads. Asked of the database at each reading: every process tells the same.

import { Gauge, Registry } from 'prom-client'
import type { RunCount, WorkerInfo } from '../index.js'

export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE

export async function metricsText(
  counts: readonly RunCount[],
  workers: readonly WorkerInfo[],
): Promise<string> {
  const registry = new Registry()
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] })
  const runs = gauge('perdure_runs', 'Runs that are stored, by definition and status.', [
    'workflow',
    'status',
  ])
  for (const { workflow, status, runs: count } of counts) runs.set({ workflow, status }, count)
  const alive = workers.filter(({ isAlive }) => isAlive)
  gauge('perdure_workers', 'Workers whose lease holds.', []).set(alive.length)
  gauge('perdure_runs_held', 'Runs that live workers hold.', []).set(
    alive.reduce((sum, worker) => sum + worker.runs, 0),
  )
  return registry.metrics()
}

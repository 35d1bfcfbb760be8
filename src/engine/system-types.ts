// What engine.workers and engine.stats give.

import type { Status } from '../model/run.js'

/** One process that executes runs, or has until its lease ended. */
export type WorkerInfo = Readonly<{
  id: string
  build: string
  /** By the database's clock. One that is not will be reaped: its runs go on elsewhere. */
  isAlive: boolean
  startedAt: Date
  leaseUntil: Date
  /** That it holds now. */
  runs: number
  workflows: readonly Readonly<{ name: string; version: string }>[]
}>

/** So many runs of a definition have that status. */
export type RunCount = Readonly<{ workflow: string; status: Status; runs: number }>

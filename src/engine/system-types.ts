// What the calls give that are about all of it: workers, counts, types of nodes, the engine itself.

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

/** So many values at most as large as each of the bounds, and in the last place those above them all. */
export type DistributionInfo = Readonly<{
  bounds: readonly number[]
  counts: readonly number[]
  sum: number
}>

/** What this process has done since its engine was made; the lag is that of all processes. */
export type EngineMetrics = Readonly<{
  /** How long the run that has been due for longest has been so, and nobody has taken it; 0: there is none. */
  dueLagMs: number
  /** How often each thing happened: commits, claims, turns, and what is rare. */
  counters: Readonly<Record<string, number>>
  /** What one commit stored, and how long the database took for it. */
  commitDeltas: DistributionInfo
  commitMs: DistributionInfo
  /** Attempts of steps. `again`: nobody's failure, as a conflict of transactions. Beyond 200 definitions the others are one. */
  steps: readonly Readonly<{
    workflow: string
    outcome: 'completed' | 'failed' | 'again'
    ms: DistributionInfo
  }>[]
}>

/** A type of node, for whoever lets people draw graphs. */
export type NodeTypeInfo = Readonly<{
  name: string
  title: string
  /** flow, data, time, container, call; of a type that a user has registered what stands before its dot. */
  group: string
  description: string | null
  isBuiltIn: boolean
  /** Other nodes may have it as their parent. */
  isContainer: boolean
  /** The ways out of it beside the usual one, for `when` of an edge; null: they are named in its config. */
  outputs: readonly string[] | null
  /** A JSON Schema; null: none is known. */
  config: object | null
}>

/** What an engine is and was told. Nothing of it is secret. */
export type EngineInfo = Readonly<{
  version: string
  database: 'postgresql' | 'redis' | 'embedded' | 'memory'
  isEmbedded: boolean
  /** It executes runs. */
  isWorker: boolean
  /** null: finished runs are kept for ever. */
  retentionMs: number | null
}>

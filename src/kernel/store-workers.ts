// Who executes runs, and a run that it has taken. Part of store.ts.

import type { LimitRules } from '../model/admission.js'
import type { WorkerId } from '../model/ids.js'
import type { RowFacts, Stop } from '../model/run.js'

/** One incarnation of an engine process. */
export interface Worker {
  readonly id: WorkerId
  readonly build: string
  readonly leaseMs: number
  /**
   * Empty for an engine with `worker: false`: it owns only what it must end without code. Of one name several versions: a run
   * that has none yet gets the first. It may grow: `declare` says so.
   */
  readonly definitions: readonly {
    readonly name: string
    readonly version: string
    readonly limits?: LimitRules | null
    /** Its limits are stored with it: whoever executes it has no say in them. */
    readonly isStored?: boolean
  }[]
}

/** A run that was taken, as its row says. What it was started with is entry 1 of its journal. */
export interface Claimed extends RowFacts {
  readonly epoch: number
  readonly seq: number
  readonly inbox: number
  readonly stop: Stop | null
  readonly crashes: number
  readonly attempt: number
}

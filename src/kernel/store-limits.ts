// The store port for limits: slots are given by one call at a time, apart from claiming. Part of store.ts.

import type { LimitRules } from '../model/admission.js'
import type { RunId } from '../model/ids.js'
import type { Instant } from '../model/run.js'
import type { Claimed, Worker } from './store-workers.js'

export interface LimitStore {
  /**
   * Gives slots to runs that ask for them, as far as the limits of their definitions allow: higher priority first, then the
   * longer asking; under a limit that keys or workspaces share, each of these in its turn. Looks at a bounded number of groups
   * (runs that are counted alike), and goes on behind them at the next call. Idempotent, for anyone, at any time.
   * `isSweep`: slots that nobody alive could use are taken back.
   * Of those that get a slot, as many as `places` are taken by `by`, if a claim of its would take them: by priority, then the
   * longer asking. The others are due.
   */
  admit(isSweep: boolean, by?: Worker | null, places?: number): Promise<Admitted>
}

export interface Admitted {
  readonly now: Instant
  /** How many got a slot, with those that were taken. */
  readonly admitted: number
  readonly claimed: readonly Claimed[]
  /** When somebody asks next, as far as it looked. */
  readonly nextAt: Instant | null
  /** It began with the first group; it came to the last one. */
  readonly isStart: boolean
  readonly isEnd: boolean
}

/** What a definition says, and what is so. */
export interface NamedRules extends LimitRules {
  readonly definition: string
}

/** Of a definition, of a workspace, or of a key of a definition. */
export interface LimitUse {
  readonly kind: 'definition' | 'workspace' | 'key'
  readonly definition: string
  /** The workspace, or the key. */
  readonly name: string
  readonly used: number
  readonly asking: number
}

/** Where runs are counted. '': not so. */
export interface LimitPlace {
  readonly definition: string
  readonly workspace: string
  readonly key: string
}

/** A run at a limit. */
export interface LimitedRun {
  readonly id: RunId
  readonly workspace: string
  readonly definition: string
  /** It was created, or asks for a slot, since then. */
  readonly since: Instant
}

/** Reading limits: for people. */
export interface LimitReader {
  limitRules(): Promise<readonly NamedRules[]>
  limitUse(): Promise<readonly LimitUse[]>
  /** Some runs that have a slot there, oldest first. */
  holders(where: LimitPlace, atMost: number): Promise<readonly LimitedRun[]>
  /** Some that ask for one, the longest asking first. */
  askers(where: LimitPlace, atMost: number): Promise<readonly LimitedRun[]>
}

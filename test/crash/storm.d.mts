import type { Normal } from './checker.mjs'
import type { World } from './world.mjs'

export interface Kill {
  /** Of faultPoints(), or 'random'. */
  readonly point: string
  readonly hit?: number
  readonly afterMs?: number
}

export const KINDS: readonly string[]
export function makePlan(options: {
  readonly points: readonly string[]
  readonly perPoint: number
  readonly total: number
  readonly random: () => number
}): readonly Kill[]
export function undisturbed(
  world: World,
  kinds?: readonly string[],
): Promise<{ readonly normal: Normal; readonly problems: readonly string[] }>
export function storm(
  world: World,
  plan: readonly Kill[],
  options?: {
    readonly slots?: number
    readonly newRuns?: number
    readonly calm?: boolean
    /** What each life starts; else what leads to its point, and others in turn. */
    readonly kinds?: readonly string[]
    /** By performance.now(): no new life after that. */
    readonly until?: number | null
    readonly onKill?: (kill: Kill) => void
  },
): Promise<{ readonly kills: ReadonlyMap<string, number>; readonly missed: readonly Kill[] }>
export function verdict(
  world: World,
  normal: Normal,
  options?: {
    readonly victims?: number
    readonly withinMs?: number
    /** Lives lost their lease and went on: then one life may execute an attempt twice. */
    readonly isReborn?: boolean
    /** Transactions were ended because they took too long: one life may execute their steps twice. */
    readonly isSlow?: boolean
  },
): Promise<readonly string[]>
export function seeded(seed: number): () => number

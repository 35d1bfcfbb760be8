import type { Snapshot } from './world.mjs'

export type Normal = Readonly<Record<string, object>>

/** One line for each promise that was broken. */
export function check(
  snapshot: Snapshot,
  expected: {
    readonly runs: ReadonlyMap<string, string>
    readonly acked: readonly string[]
    readonly normal: Normal
    /** What senders of events were told. */
    readonly sent?: readonly { readonly id: string; readonly to: string; readonly count: number }[]
    /** false: not every life listened. */
    readonly events?: boolean
    readonly isReborn?: boolean
    /** Transactions were ended because they took too long: one life may execute their steps twice. */
    readonly isSlow?: boolean
    /** By process: how often it was stopped at a moment of chance. */
    readonly stops?: ReadonlyMap<number, number>
  },
): readonly string[]
export function normalOf(snapshot: Snapshot, runs: ReadonlyMap<string, string>): Normal

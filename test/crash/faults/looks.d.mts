import type { Said, Snapshot } from '../world.mjs'

type Problems = readonly string[]

export function executedOnce(snapshot: Pick<Snapshot, 'ledger'>): Problems
export function nothingEarly(snapshot: Pick<Snapshot, 'journal'>): Problems
export function nobodyReaped(counters: Readonly<Record<string, number>>): Problems
export function oneClick(
  snapshot: Pick<Snapshot, 'runs' | 'journal'>,
  said: readonly Said[],
  kinds: ReadonlyMap<string, string>,
): Problems
export function oneOrTheOther(snapshot: Pick<Snapshot, 'runs' | 'journal' | 'waits'>): Problems
export function heardOnce(snapshot: Pick<Snapshot, 'runs' | 'journal'>): Problems
export function handOvers(
  snapshot: Pick<Snapshot, 'runs' | 'journal'>,
  def: string,
): readonly number[]
export function startDelays(
  snapshot: Pick<Snapshot, 'runs' | 'journal' | 'ledger'>,
): readonly number[]

// Rounds of loops in a journal: those that have ended are behind the run, and only what the last one left counts. Pure.
//
// A question of round 3 of loop "renewals" is named renewals@3/charge, its undo undo:renewals@3/charge, the end of the
// round renewals@3.

import type { Entry } from '../model/run.js'
import { RECORD } from './asks.js'

export function lastRounds(entries: readonly Entry[]): ReadonlyMap<string, number> {
  const last = new Map<string, number>()
  for (const { kind, name } of entries) {
    if (kind !== 'round.ended') continue
    const at = name.lastIndexOf('@')
    last.set(name.slice(0, at), Number(name.slice(at + 1)))
  }
  return last
}

/** Without what belongs to rounds that have ended, but for the end of the last one of each loop. */
export function withoutRounds(
  entries: readonly Entry[],
  last: ReadonlyMap<string, number>,
): readonly Entry[] {
  if (last.size === 0) return entries
  return entries.filter((entry) => !isBehind(entry, last))
}

function isBehind({ kind, name, meta }: Entry, last: ReadonlyMap<string, number>): boolean {
  const start = name.startsWith('undo:') ? 5 : 0
  for (let at = name.indexOf('@', start); at >= 0; at = name.indexOf('@', at + 1)) {
    const ended = last.get(name.slice(start, at))
    if (ended === undefined) continue
    const [, digits = '', rest = ''] = /^(\d+)(.*)$/s.exec(name.slice(at + 1)) ?? []
    if (digits === '') continue
    if (rest.startsWith('/') && Number(digits) <= ended) return true
    if (rest !== '') continue
    if (kind === 'round.ended' && Number(digits) < ended) return true
    // The question belongs to the round; who comes later asks for its end alone.
    if (kind === 'step.asked' && meta?.target === RECORD && Number(digits) <= ended) return true
  }
  return false
}

// What a run has asked for and not heard of yet, by its journal. Pure.

import { errorRecord } from '../model/error-record.js'
import { shownName } from '../model/ids.js'
import type { Entry } from '../model/run.js'
import { isForPeople } from './facts.js'
import type { OpenQuestion } from './types.js'

const ASKED: Partial<Record<Entry['kind'], OpenQuestion['kind']>> = {
  'step.asked': 'step',
  'step.failed': 'step',
  'undo.failed': 'step',
  'timer.set': 'timer',
  'wait.opened': 'wait',
  'child.started': 'child',
  'child.ended': 'child',
}
const ENDS = ['step.failed', 'undo.failed', 'child.ended']

/** `entries`: newest first. The newest of each question says how it stands. Oldest first. */
export function openQuestions(entries: readonly Entry[]): readonly OpenQuestion[] {
  const told = new Set<string>()
  const ended: string[] = []
  const open: OpenQuestion[] = []
  for (const entry of entries) {
    const { kind, name, occurrence, meta } = entry
    if (kind === 'run.stopping') ended.push('')
    if (kind === 'scope.ended') ended.push(`${shownName(name, occurrence)}/`)
    if (kind === 'round.ended') ended.push(`${name}/`)
    const key = `${occurrence} ${name}`
    if (told.has(key)) continue
    told.add(key)
    const isOver = ENDS.includes(kind) && meta?.retryAt === undefined
    const asked = ASKED[kind]
    if (asked === undefined || isOver || ended.some((path) => name.startsWith(path))) continue
    open.push(questionOf(asked, entry))
  }
  return open.reverse()
}

function questionOf(
  kind: OpenQuestion['kind'],
  { name, occurrence, at, attempt, meta, payload }: Entry,
): OpenQuestion {
  const until = meta?.retryAt ?? meta?.dueAt
  return {
    kind,
    name: shownName(name, occurrence),
    since: new Date(at),
    until: until === undefined ? null : new Date(until),
    names: (meta?.names ?? []).filter(isForPeople),
    event: meta?.event ?? null,
    runId: meta?.uid ?? meta?.run ?? null,
    attempt,
    error: meta?.retryAt === undefined || payload === null ? null : errorRecord(payload),
  }
}

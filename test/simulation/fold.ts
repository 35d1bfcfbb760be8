// What a journal says, told a second time and in another way than the kernel's own reading of it.

import { shownName } from '../../src/model/ids.js'
import type { Entry } from '../../src/model/run.js'
import type { MemoryRun } from '../../src/store/memory.js'

export const keyOf = (entry: { readonly name: string; readonly occurrence: number }): string =>
  `${entry.name}#${entry.occurrence}`

const FINAL_KINDS: Partial<Record<Entry['kind'], string>> = {
  'run.completed': 'completed',
  'run.failed': 'failed',
  'run.cancelled': 'cancelled',
  'run.timed_out': 'timed_out',
}
const ANSWERS = new Set<Entry['kind']>([
  'step.completed',
  'step.failed',
  'timer.fired',
  'message.taken',
  'wait.withdrawn',
  'child.ended',
  'record',
  'scope.ended',
  'round.ended',
  'undo.completed',
  'undo.failed',
])

const DONE = new Set<Entry['kind']>(['step.completed', 'undo.completed'])

export const finalStatusOf = (entry: Entry | undefined): string | null =>
  (entry && FINAL_KINDS[entry.kind]) ?? null

/** It answers its question for good. */
export const isAnswer = (entry: Entry): boolean =>
  ANSWERS.has(entry.kind) && entry.meta?.retryAt === undefined

const isFailure = (entry: Entry): boolean =>
  isAnswer(entry) &&
  (entry.kind === 'step.failed' ||
    (entry.kind === 'child.ended' && entry.meta?.status !== 'completed'))

/** The entry that answers this question, unless the run was re-opened behind it. */
export function answerTo(row: MemoryRun, key: string): Entry | null {
  let found: Entry | null = null
  for (const entry of row.journal) {
    if (entry.kind === 'run.reopened') {
      // Everything asked after the failure is forgotten; too much for here: only what succeeded counts.
      if (found && !DONE.has(found.kind)) found = null
    } else if (isAnswer(entry) && keyOf(entry) === key) found = entry
  }
  return found
}

/**
 * The run knows this child. One that a step has started under an id it does not know before the step is recorded: if it
 * ends first, nobody tells the child.
 */
export const knows = ({ journal }: MemoryRun, { uid, run }: MemoryRun): boolean =>
  String(run.id) === String(uid) ||
  journal.some(
    ({ kind, meta }) =>
      (kind === 'child.started' || kind === 'step.completed') && meta?.uid === uid,
  )

export interface Open {
  readonly waits: readonly Entry[]
  readonly children: readonly string[]
  /** The earliest time at which something happens by itself. */
  readonly dueAt: number | null
  /** There may be more: the journal does not say which of the scopes around an undone step has failed. */
  readonly doubtful: boolean
}

/** What the run waits for. Not for runs that were re-opened. */
export function openQuestions(row: MemoryRun): Open {
  const asked = new Map<string, Entry>()
  const retries = new Map<string, number>()
  const children = new Map<string, string>()
  for (const entry of row.journal) {
    const key = keyOf(entry)
    switch (entry.kind) {
      case 'timer.set':
      case 'wait.opened':
        asked.set(key, entry)
        break
      case 'child.started':
        children.set(key, entry.meta?.uid ?? '')
        retries.delete(key)
        break
      default:
        if (isAnswer(entry)) {
          asked.delete(key)
          children.delete(key)
          retries.delete(key)
        } else if (entry.meta?.retryAt !== undefined) {
          retries.set(key, entry.meta.retryAt)
          children.delete(key)
        }
    }
  }
  const gone = withdrawnIn(row)
  let doubtful = false
  for (const key of [...asked.keys(), ...retries.keys(), ...children.keys()]) {
    const why = gone(key)
    if (why === null || (why === 'stopping' && children.has(key))) continue
    doubtful ||= why === 'undone'
    asked.delete(key)
    retries.delete(key)
    children.delete(key)
  }
  const dues = [...retries.values()]
  for (const entry of asked.values())
    if (entry.meta?.dueAt !== undefined) dues.push(entry.meta.dueAt)
  const waits = [...asked.values()].filter((entry) => entry.kind === 'wait.opened')
  return {
    waits,
    children: [...children.values()],
    dueAt: dues.length === 0 ? null : Math.min(...dues),
    doubtful,
  }
}

export const isUndo = (name: string): boolean => name.startsWith('undo:')

/** What the names inside a scope that has ended begin with. */
export const insideOf = ({ kind, name, occurrence }: Entry): string =>
  kind === 'round.ended' ? `${name}/` : `${shownName(name, occurrence)}/`

const isEnd = ({ kind }: Entry): boolean => kind === 'scope.ended' || kind === 'round.ended'

/** Undoable steps that are neither undone nor behind the run, oldest first, by the name of their undo. */
export function openUndos(journal: readonly Entry[]): readonly string[] {
  let open: string[] = []
  for (const entry of journal) {
    const { kind, name, occurrence, meta } = entry
    if (meta?.undoable) open.push(`undo:${shownName(name, occurrence)}`)
    if (kind === 'undo.completed') open = open.filter((one) => one !== name)
    if (kind !== 'round.ended') continue
    open = open.filter((one) => !one.startsWith(`undo:${name}/`))
  }
  return open
}

/** Why nobody waits for a question any more: its scope has ended, or is perhaps being undone, or the run is stopping. */
function withdrawnIn({ journal }: MemoryRun) {
  const over = new Set<string>()
  let undos: string[] = []
  let stopping = false
  for (const entry of withoutForgotten(journal, journal.length + 1)) {
    if (isEnd(entry)) {
      over.add(insideOf(entry))
      // That is the scope that had failed.
      undos = undos.filter((name) => !name.startsWith(insideOf(entry)))
    }
    if (entry.kind === 'run.stopping') stopping = true
    if (!isUndo(entry.name) || stopping) continue
    undos.push(entry.name.slice(5))
  }
  // One of the scopes around it has failed, the outermost for all that is known.
  const scoped = undos.filter((name) => name.includes('/'))
  const undone = new Set(scoped.map((name) => name.slice(0, name.indexOf('/') + 1)))
  const within = (key: string, scopes: ReadonlySet<string>): boolean => {
    for (const inside of scopes) if (key.startsWith(inside)) return true
    return false
  }
  return (key: string): 'over' | 'undone' | 'stopping' | null => {
    if (isUndo(key)) return null
    if (within(key, over)) return 'over'
    if (stopping) return 'stopping'
    return within(key, undone) ? 'undone' : null
  }
}

/** The entries before `seq`, but for those that a re-opening has forgotten: what was asked behind the failure. */
export function withoutForgotten(journal: readonly Entry[], seq: number): readonly Entry[] {
  let kept: Entry[] = []
  for (const entry of journal.slice(0, seq - 1)) {
    const { name, occurrence } = entry.meta ?? {}
    if (entry.kind === 'run.reopened' && name !== undefined && occurrence !== undefined) {
      const key = keyOf({ name, occurrence })
      const at = kept.findLastIndex((e) => isAnswer(e) && !DONE.has(e.kind) && keyOf(e) === key)
      const asked = new Set(kept.slice(0, at).map(keyOf))
      const ends = kept.slice(at).filter((e) => e.kind === 'scope.ended')
      const isLeft = (e: Entry): boolean =>
        isFailure(e) && ends.some((end) => e.name.startsWith(insideOf(end)))
      kept = kept.filter(
        (e, i) => at < 0 || i < at || (i > at && asked.has(keyOf(e)) && !isLeft(e)),
      )
    } else kept.push(entry)
  }
  return kept
}

// What a journal says, told a second time and in another way than the kernel's own reading of it.

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
])

export const finalStatusOf = (entry: Entry | undefined): string | null =>
  (entry && FINAL_KINDS[entry.kind]) ?? null

/** It answers its question for good. */
export const isAnswer = (entry: Entry): boolean =>
  ANSWERS.has(entry.kind) && entry.meta?.retryAt === undefined

/** The entry that answers this question, unless the run was re-opened behind it. */
export function answerTo(row: MemoryRun, key: string): Entry | null {
  let found: Entry | null = null
  for (const entry of row.journal) {
    if (entry.kind === 'run.reopened') {
      // Everything asked after the failure is forgotten; too much for here: only what succeeded counts.
      if (found && found.kind !== 'step.completed') found = null
    } else if (isAnswer(entry) && keyOf(entry) === key) found = entry
  }
  return found
}

export interface Open {
  readonly waits: readonly Entry[]
  readonly children: readonly string[]
  /** The earliest time at which something happens by itself. */
  readonly dueAt: number | null
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
  const dues = [...retries.values()]
  for (const entry of asked.values())
    if (entry.meta?.dueAt !== undefined) dues.push(entry.meta.dueAt)
  const waits = [...asked.values()].filter((entry) => entry.kind === 'wait.opened')
  return {
    waits,
    children: [...children.values()],
    dueAt: dues.length === 0 ? null : Math.min(...dues),
  }
}

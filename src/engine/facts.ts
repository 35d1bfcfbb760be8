// What a journal says about a run that its row does not: what is open, what it can take, what is undone. Pure.

import type { Made } from '../authoring/definition.js'
import { shownName } from '../model/ids.js'
import type { Entry } from '../model/run.js'
import type { Offer, UndoState } from './types.js'

/** Questions of one kind that are open. `entries`: newest first. */
export function openEntries(entries: readonly Entry[], kind: Entry['kind']): readonly Entry[] {
  const answered = new Set<string>()
  const ended: string[] = []
  return entries.filter((entry) => {
    const key = `${entry.occurrence} ${entry.name}`
    if (entry.kind === 'run.stopping') ended.push('')
    if (entry.kind === 'scope.ended') ended.push(`${shownName(entry.name, entry.occurrence)}/`)
    if (entry.kind === 'round.ended') ended.push(`${entry.name}/`)
    if (entry.kind === kind) {
      return !answered.has(key) && !ended.some((path) => entry.name.startsWith(path))
    }
    answered.add(key)
    return false
  })
}

/** What the run takes now: the names that it waits for. */
export function offers(entries: readonly Entry[], made: Made | undefined): readonly Offer[] {
  const waits = openEntries(entries, 'wait.opened')
  const names = new Set(waits.toReversed().flatMap(({ meta }) => meta?.names ?? []))
  const signals = made?.signals ?? {}
  return [...names].filter(isForPeople).map((name) => {
    const schema = jsonSchemaOf(signals[name])
    const { title, description } = (schema ?? {}) as { title?: unknown; description?: unknown }
    const text = (said: unknown): string | null => (typeof said === 'string' ? said : null)
    const words = { title: text(title), description: text(description) }
    return { kind: kindOf(made), name, schema, ...words }
  })
}

/** What a machine hears from its own engine is in parentheses. */
export const isForPeople = (name: string): boolean => !/^\(.*\)$/.test(name)

function kindOf(made: Made | undefined): Offer['kind'] {
  if (made?.kind !== 'machine') return 'signal'
  return made.machine.takesEvents ? 'event' : 'transition'
}

/** Where the library of the schema gives one. */
export function jsonSchemaOf(schema: unknown): object | null {
  const standard = (schema as { '~standard'?: { jsonSchema?: { input?: unknown } } } | undefined)?.[
    '~standard'
  ]
  const input = standard?.jsonSchema?.input
  if (typeof input !== 'function') return null
  try {
    return input({ target: 'draft-2020-12' }) as object
  } catch {
    return null
  }
}

const UNDO = 'undo:'

/** What can be undone, oldest first, and what has become of it. `entries`: newest first. */
export function undoPlan(entries: readonly Entry[], skipped: readonly string[]): UndoState[] {
  const states = new Map<string, UndoState['state']>()
  const rounds: string[] = []
  const plan: UndoState[] = []
  for (const { kind, name, occurrence, meta } of entries) {
    if (kind === 'round.ended') rounds.push(`${name}/`)
    if (kind === 'undo.completed') states.set(name, 'done')
    if (kind === 'undo.failed' && meta?.retryAt === undefined && !states.has(name)) {
      states.set(name, 'failed')
    }
    if (!meta?.undoable || rounds.some((path) => name.startsWith(path))) continue
    const step = shownName(name, occurrence)
    const known = states.get(UNDO + step)
    const state = known ?? (skipped.includes(UNDO + step) ? 'skipped' : 'planned')
    plan.push({ step, state })
  }
  return plan.reverse()
}

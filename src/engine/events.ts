// engine.on: facts that were committed, in the words of the public surface.

import type { Left } from '../authoring/machine/scene.js'
import type { KernelEvent } from '../kernel/api.js'
import { decode } from '../model/codec.js'
import { errorRecord } from '../model/error-record.js'
import { optionInvalid } from '../model/errors.js'
import { shownName } from '../model/ids.js'
import type { Entry, EntryKind } from '../model/run.js'
import { beforeRead, type Core } from './core.js'
import type { EngineEvents } from './types.js'

type Name = keyof EngineEvents

const NAMES = [
  'workflow.created',
  'workflow.transition',
  'workflow.timeout.triggered',
  'run.completed',
  'run.failed',
  'run.cancelled',
  'run.timed_out',
  'run.waiting',
  'run.resumed',
  'step.completed',
  'step.failed',
] as const satisfies readonly Name[]

/** What each fact says beyond which run it is about. */
const TOLD: Partial<Record<EntryKind, (entry: Entry) => object>> = {
  'run.created': () => ({}),
  'run.completed': ({ payload }) => ({ output: payload === null ? undefined : decode(payload) }),
  'run.failed': (entry) => ({ error: errorIn(entry) }),
  'run.cancelled': ({ meta }) => ({ reason: meta?.reason ?? '' }),
  'run.timed_out': () => ({}),
  'step.completed': (entry) => ({ step: stepIn(entry), attempt: entry.attempt }),
  'step.failed': (entry) => ({
    step: stepIn(entry),
    attempt: entry.attempt,
    error: { ...errorIn(entry), step: stepIn(entry), attempt: entry.attempt },
    retryAt: entry.meta?.retryAt === undefined ? null : new Date(entry.meta.retryAt),
  }),
}

const stepIn = (entry: Entry): string => shownName(entry.name, entry.occurrence)
const errorIn = ({ payload }: Entry) =>
  payload === null ? { name: 'Error', message: 'unknown' } : errorRecord(payload)

export function listen(
  core: Core,
  workspace: string | null,
  event: unknown,
  listener: unknown,
): () => void {
  beforeRead(core)
  const name = NAMES.find((known) => known === event)
  if (!name) throw optionInvalid('event', 'engine.on', event, `one of ${NAMES.join(', ')}`)
  if (typeof listener !== 'function') {
    throw optionInvalid('listener', 'engine.on', listener, 'a function')
  }
  const call = listener as (event: object) => unknown
  return core.kernel.on(async (kernelEvent) => {
    if (workspace !== null && kernelEvent.run.workspace !== workspace) return
    for (const fact of factsOf(kernelEvent, name)) {
      try {
        await call(fact)
      } catch (error) {
        core.log.error(`a listener of ${name} threw`, { error, runId: kernelEvent.run.id })
      }
    }
  })
}

/** One entry of a machine may tell of several transitions. */
function factsOf(event: KernelEvent, name: Name): readonly object[] {
  if (event.kind === 'entry' && name === 'workflow.transition') return transitionsIn(event)
  if (event.kind === 'entry' && name === 'workflow.timeout.triggered') return timeoutsIn(event)
  return nameOf(event) === name ? [told(event)] : []
}

type EntryEvent = Extract<KernelEvent, { kind: 'entry' }>

function transitionsIn(event: EntryEvent): readonly object[] {
  const { kind, meta, payload } = event.entry
  if (kind !== 'step.completed' || meta?.checkpoint === undefined || payload === null) return []
  const left = decode(payload) as Pick<Left, 'moves' | 'payload'>
  const fact = told(event) as { readonly id: string }
  return left.moves.map((move, i) => ({
    ...fact,
    id: `${fact.id}/${i}`,
    ...move,
    payload: left.payload,
  }))
}

/** A machine has been at a place for as long as it may. */
function timeoutsIn(event: EntryEvent): readonly object[] {
  const { kind, meta } = event.entry
  if (kind !== 'wait.withdrawn' || meta?.place === undefined) return []
  return [{ ...told(event), state: meta.place }]
}

function nameOf(event: KernelEvent): string {
  if (event.kind !== 'entry') return `run.${event.kind}`
  const { kind } = event.entry
  return kind === 'run.created' ? 'workflow.created' : kind
}

function told(event: KernelEvent): object {
  const { run } = event
  const fact = {
    id: event.id,
    runId: run.id,
    workflow: run.definition,
    workspace: run.workspace,
    at: new Date(event.kind === 'entry' ? event.entry.at : event.at),
  }
  if (event.kind === 'waiting') return { ...fact, reason: event.reason }
  if (event.kind === 'resumed') return { ...fact, after: event.after, stepsDone: event.stepsDone }
  return { ...fact, ...TOLD[event.entry.kind]?.(event.entry) }
}

// engine.on: facts that were committed, in the words of the public surface.

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
    if (nameOf(kernelEvent) !== name) return
    try {
      await call(told(kernelEvent))
    } catch (error) {
      core.log.error(`a listener of ${name} threw`, { error, runId: kernelEvent.run.id })
    }
  })
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

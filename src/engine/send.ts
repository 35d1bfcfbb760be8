// send: an event for an event machine, which the first one creates. Resolves when the machine is at rest again and that is
// committed, whichever process did it.

import { randomUUID } from 'node:crypto'
import type { Left } from '../authoring/machine/scene.js'
import { beginning, SNAPSHOT } from '../authoring/machine/snapshot.js'
import type { Sent } from '../authoring/machine/types.js'
import type { Address } from '../kernel/api.js'
import type { Called, RunView } from '../kernel/store.js'
import { decode } from '../model/codec.js'
import { decodeError } from '../model/error-record.js'
import { idTaken, optionInvalid, PerdureError, runFinished, runNotFound } from '../model/errors.js'
import type { MessageId } from '../model/ids.js'
import { isFinal } from '../model/run.js'
import {
  addressOf,
  beforeWrite,
  type Core,
  type Found,
  found,
  messageIdOf,
  signalNameOf,
} from './core.js'
import { storedPayload } from './messages.js'
import type { Spaced } from './operate.js'
import { optionsObject } from './paged.js'
import { prepareStart, startPrepared } from './start.js'

const ENGINE = 'perdure'
const OPTIONS = ['id', 'workspace']

interface Sending {
  readonly to: Address
  readonly target: Found
}

interface Given {
  readonly target: unknown
  readonly id: unknown
  readonly event: unknown
  readonly options: unknown
}

/** `spaceOf`: the workspace that options name, if the client may go there. */
export async function sendEvent(
  core: Core,
  spaceOf: (options: Spaced, call: string) => string,
  { target, id: runId, event, options }: Given,
): Promise<Sent> {
  const own = optionsObject(options, 'engine.send', OPTIONS)
  beforeWrite(core, 'send')
  const to = addressOf(spaceOf(own, 'send'), runId)
  const sending = { to, target: found(core, 'send', target) }
  const { made, name: definition } = sending.target
  if (made && (made.kind !== 'machine' || !made.machine.takesEvents)) {
    throw optionInvalid(
      'machine',
      'engine.send',
      definition,
      'an event machine; use trigger or signal',
    )
  }
  const { type, ...fields } = eventOf(event)
  const name = signalNameOf(type)
  const stored = storedPayload(core, made, name, fields)
  // What is there is not awaited: events come one after the other.
  const payload = typeof stored === 'string' ? stored : await stored
  const given = messageIdOf(own.id)
  const id = given ?? (randomUUID() as MessageId)
  if (!isKnown(core, sending)) await checkDefinition(core, sending)
  const call = { name, payload, id, withinMs: 0, isNew: given === null }
  let called: Called | null
  try {
    // Here and not apart: one promise less for every event.
    called = await core.kernel.trigger(to, call)
  } catch (error) {
    called = await createAndCall(core, sending, call, error)
  }
  const standing = standingBehind(called)
  return standing ? sent(to, standing) : sentOf(core, sending, called)
}

function eventOf(event: unknown): { readonly type: unknown } & Record<string, unknown> {
  if (typeof event === 'object' && event !== null && 'type' in event) return event
  throw optionInvalid('event', 'engine.send', event, 'an object with a type: { type, … }')
}

/** Once per run: what a run is of never changes, and its id comes back only after it was pruned. */
function isKnown(core: Core, { to, target }: Sending): boolean {
  return core.sentTo.get(to) === target.name
}

async function checkDefinition(core: Core, { to, target }: Sending): Promise<void> {
  const view = await core.kernel.read.get(to.workspace, to.id)
  if (view && view.definition !== target.name) throw idTaken(to.id, view.definition, target.name)
  if (!view) return
  if (core.sentTo.size >= 10_000) core.sentTo.clear()
  core.sentTo.set(to, target.name)
}

type Call = Parameters<Core['kernel']['trigger']>[1]

async function createAndCall(
  core: Core,
  sending: Sending,
  call: Call,
  error: unknown,
): Promise<Called | null> {
  if (!PerdureError.is(error, 'RUN_NOT_FOUND')) return unlessFinished(error)
  await create(core, sending)
  // The first call may still arrive when the run is there: this one has its id.
  return core.kernel.trigger(sending.to, { ...call, isNew: false }).catch(unlessFinished)
}

function unlessFinished(error: unknown): null {
  if (PerdureError.is(error, 'RUN_FINISHED')) return null
  throw error
}

/** Two at once are one run: the same id, the same input. */
async function create(core: Core, { to, target }: Sending): Promise<void> {
  const options = { id: to.id }
  const { workspace } = to
  const start = { call: 'start', workspace, target, input: undefined, options }
  await startPrepared(core, await prepareStart(core, start))
}

/** null: nothing has come of it that says so. */
function standingBehind(called: Called | null): Standing | null {
  if (called?.fate !== 'taken' || !called.reply?.payload) return null
  if (called.reply.kind === 'step.failed') return null
  const { place, state, moves, isDone } = decode(called.reply.payload) as Left
  return { place, state, transitions: moves.length, status: isDone ? 'done' : 'active' }
}

async function sentOf(core: Core, { to }: Sending, called: Called | null): Promise<Sent> {
  const { fate, reply } = called ?? { fate: 'finished', reply: null }
  if (reply?.kind === 'step.failed') throw decodeError(reply.payload ?? '', core.errors)
  const view = await core.kernel.read.get(to.workspace, to.id)
  if (!view) throw runNotFound(to.id)
  // It was stopped before it had come to the end of the event.
  if (fate === 'taken') throw runFinished(to.id, view.status)
  return sent(to, standing(core, view))
}

interface Standing {
  readonly place: string
  readonly state: unknown
  readonly transitions: number
  readonly status: Sent['snapshot']['status']
}

function standing(core: Core, view: RunView): Standing {
  const made = core.definitions.get(view.definition)
  const begun = made?.kind === 'machine' ? beginning(made.machine, decode(view.input)) : null
  const place = view.place ?? begun?.place ?? ''
  const state = view.state === null ? begun?.state : decode(view.state)
  const status = !isFinal(view.status) ? 'active' : view.status === 'failed' ? 'error' : 'done'
  return { place, state, transitions: 0, status }
}

function sent({ id }: Address, { place, state: context, transitions, status }: Standing): Sent {
  const { schema, version } = SNAPSHOT
  const snapshot = { schema, version, engine: ENGINE, state: place, status, context }
  return { id, state: place, snapshot, transitions, done: status !== 'active' }
}

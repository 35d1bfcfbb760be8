// signal: a payload passes the schema that the run's definition declares for it, where it is sent.

import { randomUUID } from 'node:crypto'
import type { Made } from '../authoring/definition.js'
import { emitted, eventNameOf } from '../authoring/function/events.js'
import { checksSomething, parse } from '../authoring/schema.js'
import type { Address } from '../kernel/api.js'
import type { Client, Reply, RunView } from '../kernel/store.js'
import { decode, encode } from '../model/codec.js'
import { didYouMean, notAvailable, runFinished, runNotFound } from '../model/errors.js'
import type { Stored } from '../model/run.js'
import { type Duration, durationMs } from '../model/time.js'
import { type Core, type Found, messageIdOf, signalNameOf } from './core.js'
import { transitionUnavailable } from './errors.js'
import { infoOf } from './read.js'

export interface Mail {
  readonly to: Address
  /** The definition of the run, where the caller knows it. */
  readonly target: Found | null
  readonly name: unknown
  readonly payload: unknown
  readonly id: unknown
  /** A client inside a transaction of the caller. */
  readonly within: Client | null
}

export async function sendSignal(core: Core, mail: Mail): Promise<void> {
  const { to, within } = mail
  const { operations } = core.kernel
  const name = signalNameOf(mail.name)
  const messageId = messageIdOf(mail.id)
  const made = await (within
    ? definitionWithin(core, mail, within)
    : definitionFor(core, mail, name))
  if (made) warnIfUndeclared(core, made, name, to)
  const stored = await storedPayload(core, made, name, mail.payload)
  if (within) await operations.signalWithin(within, to, name, stored, messageId)
  else await core.kernel.signal(to, name, stored, messageId)
}

/** A call: the run takes it or refuses it, and is read after that. */
export async function sendTrigger(
  core: Core,
  mail: Omit<Mail, 'within'> & { readonly patience: unknown },
): Promise<RunView> {
  const { to } = mail
  const name = signalNameOf(mail.name)
  const id = messageIdOf(mail.id)
  const withinMs = mail.patience === undefined ? 0 : durationMs(mail.patience as Duration)
  const made = await definitionFor(core, mail, name)
  // A machine refuses what it does not know, with what it can take.
  if (made && made.kind !== 'machine') warnIfUndeclared(core, made, name, to)
  const payload = await storedPayload(core, made, name, mail.payload)
  const { fate, reply } = await core.kernel.trigger(to, { name, payload, id, withinMs })
  const view = await core.kernel.read.get(to.workspace, to.id)
  if (!view) throw runNotFound(to.id)
  if (fate === 'finished') throw runFinished(to.id, view.status)
  if (fate === 'taken' && !isRefusal(reply)) return view
  const info = await infoOf(core, view)
  const offers = 'available' in info ? info.available.map((offer) => offer.name) : []
  const { place } = info
  throw place === null
    ? notAvailable(to.id, name, offers)
    : transitionUnavailable({ id: to.id, name, place, isGuarded: fate === 'taken' }, offers)
}

/** A machine has looked at it, and its guard or its rules said no. */
function isRefusal(reply: Reply | null): boolean {
  if (reply?.kind !== 'step.completed' || reply.payload === null) return false
  const left = decode(reply.payload) as { readonly isMoved?: unknown } | null
  return left?.isMoved === false
}

interface Emission extends Pick<Mail, 'name' | 'payload' | 'id' | 'within'> {
  readonly workspace: string
}

/** To every run of the workspace that waits for it. The payload passes the schema of its event here. */
export async function emitEvent(core: Core, emission: Emission): Promise<void> {
  const { workspace, payload, within } = emission
  const name = eventNameOf(emission.name, core.events)
  const id = messageIdOf(emission.id) ?? randomUUID()
  const schema = core.events?.[name]
  const what = `The payload of event "${name}"`
  const parsed = schema ? await parse(schema, payload, 'PAYLOAD_INVALID', what) : payload
  const event = { id, ...emitted(name, parsed, core.valueBytesMax) }
  await core.kernel.operations.emit(workspace, event, within)
}

/** At once, if there is nothing to be asked. */
export function storedPayload(
  core: Core,
  made: Made | null,
  name: string,
  payload: unknown,
): Stored | Promise<Stored> {
  const schema = made && Object.hasOwn(made.signals, name) ? made.signals[name] : undefined
  const stored = (value: unknown): Stored =>
    encode(value, `the payload of signal "${name}"`, core.valueBytesMax)
  if (!schema || !checksSomething(schema)) return stored(payload)
  const what = `The payload of signal "${name}"`
  return parse(schema, payload, 'PAYLOAD_INVALID', what).then(stored)
}

/** The run may have been started in the same transaction: only that can see it. */
async function definitionWithin(core: Core, mail: Mail, within: Client): Promise<Made | null> {
  const { definition } = await core.kernel.operations.lookWithin(within, mail.to)
  if (mail.target && mail.target.name !== definition) throw runNotFound(mail.to.id)
  return mail.target?.made ?? core.definitions.get(definition) ?? null
}

/** Looks the run up only if one of our definitions has something to say about signals of that name. */
async function definitionFor(
  core: Core,
  mail: Pick<Mail, 'to' | 'target'>,
  name: string,
): Promise<Made | null> {
  const { to, target } = mail
  if (target?.made) return target.made
  const matters = [...core.definitions.values()].some(({ signals }) => {
    const schema = Object.hasOwn(signals, name) ? signals[name] : undefined
    return schema !== undefined && checksSomething(schema)
  })
  if (!matters) return null
  const view = await core.kernel.read.get(to.workspace, to.id)
  if (view === null) throw runNotFound(to.id)
  return core.definitions.get(view.definition) ?? null
}

/** It is kept all the same: another version of the code may wait for it. */
function warnIfUndeclared(core: Core, made: Made, name: string, to: Address): void {
  const declared = Object.keys(made.signals)
  if (declared.length === 0 || declared.includes(name)) return
  const near = didYouMean(name, declared)
  core.log.warn(
    `workflow "${made.name}" declares no signal "${name}"${near ? `: did you mean "${near}"?` : ''}`,
    { runId: to.id },
  )
}

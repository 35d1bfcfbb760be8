// signal: a payload passes the schema that the run's definition declares for it, where it is sent.

import type { Made } from '../authoring/definition.js'
import { checksSomething, parse } from '../authoring/schema.js'
import type { Address } from '../kernel/api.js'
import { encode } from '../model/codec.js'
import { didYouMean, runNotFound } from '../model/errors.js'
import { type Core, messageIdOf, signalNameOf } from './core.js'

export interface Mail {
  readonly to: Address
  /** The definition of the run, where the caller knows it. */
  readonly made: Made | null
  readonly name: unknown
  readonly payload: unknown
  readonly id: unknown
}

export async function sendSignal(core: Core, mail: Mail): Promise<void> {
  const name = signalNameOf(mail.name)
  const messageId = messageIdOf(mail.id)
  const made = mail.made ?? (await definitionOf(core, mail.to, name))
  if (made) warnIfUndeclared(core, made, name, mail.to)
  const schema = made && Object.hasOwn(made.signals, name) ? made.signals[name] : undefined
  const parsed = schema
    ? await parse(schema, mail.payload, 'PAYLOAD_INVALID', `The payload of signal "${name}"`)
    : mail.payload
  const stored = encode(parsed, `the payload of signal "${name}"`, core.valueBytesMax)
  await core.kernel.signal(mail.to, name, stored, messageId)
}

/** Looks the run up only if one of our definitions has something to say about signals of that name. */
async function definitionOf(core: Core, to: Address, name: string): Promise<Made | null> {
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

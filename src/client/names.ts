// What a call names: a definition or a type of documents, which a client knows by its brand, or only its name.

import { optionInvalid, PerdureError, shown } from '../model/errors.js'

/** As src/authoring/definition.ts and documents.ts say: the same in every copy of the package. */
const DEFINITION = Symbol.for('perdure.definition')
const REF = Symbol.for('perdure.ref')
const DOCUMENT = Symbol.for('perdure.document')

type Branded = Readonly<Record<symbol, { readonly name?: unknown } | string | undefined>>

export function nameOf(target: unknown, call: string): string {
  if (typeof target === 'string' && target !== '') return target
  const isThing = (typeof target === 'object' || typeof target === 'function') && target !== null
  const branded = (isThing ? target : {}) as Branded
  const made = isThing && Object.hasOwn(target, DEFINITION) ? branded[DEFINITION] : undefined
  const name = branded[REF] ?? (typeof made === 'object' ? made.name : undefined)
  if (typeof name === 'string') return name
  throw new PerdureError('DEFINITION_UNKNOWN', `client.${call} was given ${shown(target)}.`, {
    hint: 'give a workflow, a task, or the name of one',
  })
}

export function documentNameOf(type: unknown): string | undefined {
  if (type === undefined || typeof type === 'string') return type
  const branded = (type ?? {}) as Branded & { readonly documentName?: unknown }
  const facts = branded[DOCUMENT]
  const name = branded.documentName ?? (typeof facts === 'object' ? facts.name : undefined)
  if (typeof name === 'string') return name
  throw optionInvalid('type', 'client.documents', type, 'a type of documents, or its name')
}

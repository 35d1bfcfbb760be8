// Types of documents: document(), @Document, and those that are built in.

import { encode } from '../model/codec.js'
import { checkOptions, nameInvalid, optionInvalid } from '../model/errors.js'
import { DEFINITION_NAME } from '../model/ids.js'
import { ERROR_TEXT_MAX } from '../model/limits.js'
import type { NewDocument } from '../model/run.js'
import { isClass } from './definition.js'
import type { DocumentClass, DocumentType } from './document-types.js'
import { isSchema } from './schema.js'
import type { Opt, Schema } from './types.js'

export type * from './document-types.js'

/** What is known of a type of documents at run time. */
export interface DocumentFacts {
  readonly name: string
  readonly schema: Schema | null
  /** Whose instances are taken as plain content. */
  readonly prototype: object | null
}

/** Shared by all copies of the package. */
const BRAND = Symbol.for('perdure.document')

/** A type of documents whose content passes the schema. */
export function document<C>(name: string, schema: Schema<unknown, C>): DocumentType<C> {
  const facts = { name: nameOf(name), schema: schemaOf(schema, name), prototype: null }
  const type = Object.defineProperty({ documentName: name }, BRAND, { value: facts })
  return Object.freeze(type) as unknown as DocumentType<C>
}

/** Stands on a class, as a standard decorator and as one of `experimentalDecorators`. */
export type DocumentDecorator = <C extends DocumentClass>(
  cls: C,
  context?: ClassDecoratorContext<C>,
) => void

/** The class is a type of documents: its fields are the content. The name is that of the class, unless one is given. */
export function Document(options: Opt<{ name: string; schema: Schema }> = {}): DocumentDecorator {
  const where = '@Document'
  if (typeof options !== 'object' || options === null) {
    throw optionInvalid('options', where, options, 'an object: @Document({ name, schema })')
  }
  checkOptions(options, where, ['name', 'schema'])
  const { name, schema } = options
  const checked = schema === undefined ? null : schemaOf(schema, name ?? where)
  return (cls, context) => {
    const facts: DocumentFacts = {
      name: nameOf(name ?? context?.name ?? cls.name),
      schema: checked,
      prototype: cls.prototype as object,
    }
    Object.defineProperty(cls, BRAND, { value: facts })
  }
}

/** What a call was given as a type; `where` names the call. */
export function documentFacts(type: unknown, where: string): DocumentFacts {
  if (typeof type === 'string') return { name: nameOf(type), schema: null, prototype: null }
  const isThing = (typeof type === 'object' && type !== null) || typeof type === 'function'
  // Its own: a class does not become the type that it extends.
  if (isThing && Object.hasOwn(type, BRAND)) return (type as { [BRAND]: DocumentFacts })[BRAND]
  const expected = isClass(type)
    ? 'a class with @Document'
    : 'what document() gives, a class with @Document, or a name'
  throw optionInvalid('type', where, type, expected)
}

function nameOf(name: unknown): string {
  if (typeof name === 'string' && DEFINITION_NAME.test(name)) return name
  throw nameInvalid('document', name)
}

function schemaOf(schema: unknown, name: unknown): Schema {
  if (isSchema(schema)) return schema
  const expected = 'a Standard Schema (Zod, Valibot, ArkType, …) or typed<T>()'
  throw optionInvalid('schema', `document("${String(name)}")`, schema, expected)
}

// ── those that are built in ─────────────────────────────────────────────────────────────────────────────────

/** Something that was said. */
export const MessageDocument = document(
  'MessageDocument',
  texts<{ role: string; content: string }>(['role', 'content']),
)
export const MarkdownDocument = document(
  'MarkdownDocument',
  texts<{ markdown: string }>(['markdown']),
)
export const LinkDocument = document(
  'LinkDocument',
  texts<{ url: string; title?: string | undefined }>(['url'], ['title']),
)
/** Of a transition that failed: written by the engine for each attempt. */
export const ErrorDocument = document('ErrorDocument', texts<{ error: string }>(['error']))

/** What an attempt that failed leaves to people. */
export function errorDocument(message: string, id: string): NewDocument {
  const type = ErrorDocument.documentName
  const error = message.slice(0, ERROR_TEXT_MAX)
  const content = encode({ error }, 'an error', Number.POSITIVE_INFINITY)
  return { id, type, key: null, tags: [], isHidden: false, content }
}

/** An object of texts, and nothing else. */
function texts<T>(needed: readonly string[], more: readonly string[] = []): Schema<T> {
  const validate = (value: unknown) => {
    if (typeof value !== 'object' || value === null) {
      return { issues: [{ message: 'must be an object' }] }
    }
    const given = value as Readonly<Record<string, unknown>>
    const wrong = [
      ...needed.filter((key) => typeof given[key] !== 'string'),
      ...more.filter((key) => given[key] !== undefined && typeof given[key] !== 'string'),
    ].map((key) => ({ message: 'must be a text', path: [key] }))
    const unknown = Object.keys(given)
      .filter((key) => ![...needed, ...more].includes(key))
      .map((key) => ({ message: 'is not a field of it', path: [key] }))
    const issues = [...wrong, ...unknown]
    return issues.length > 0 ? { issues } : { value: value as T }
  }
  return { '~standard': { version: 1, vendor: 'perdure', validate } }
}

// Documents as the code of a run writes and reads them: a draft, stored with the answer of its attempt or not at all.

import { decode, encode } from '../model/codec.js'
import { checkOptions, optionInvalid } from '../model/errors.js'
import { isStepName } from '../model/ids.js'
import type { Attempt, DocumentRow } from '../model/program.js'
import { type Generator, generatorOf } from '../model/random.js'
import type { NewDocument } from '../model/run.js'
import type { Content, Doc, DocumentOptions, Documents, StoredDocument } from './document-types.js'
import { type DocumentFacts, documentFacts } from './documents.js'
import { parse } from './schema.js'

const TAGS_MAX = 16

/** The documents of one attempt. Of an attempt that is over nothing is taken any more. */
export class DocumentDraft implements Documents {
  readonly #attempt: Attempt
  readonly #bytesMax: number
  #ids: Generator | null = null
  #written: NewDocument[] = []

  constructor(attempt: Attempt, valueBytesMax: number) {
    this.#attempt = attempt
    this.#bytesMax = valueBytesMax
  }

  /** What the attempt has saved, in order; of one type and key only the last. */
  get written(): readonly NewDocument[] {
    return this.#written
  }

  async save<D extends Doc>(type: D, given: Content<D>, options?: DocumentOptions) {
    this.#check()
    const facts = documentFacts(type, 'documents.save')
    const more = readDocumentOptions(options, facts.name)
    const content = await contentOf(facts, given, this.#bytesMax)
    // The schema may have taken its time.
    this.#check()
    const document: NewDocument = { id: this.#newId(), type: facts.name, ...more, content }
    this.#written = placed(this.#written, document)
    return this.#told(document) as StoredDocument<Content<D>>
  }

  async find<D extends Doc>(type: D, key?: string) {
    const { name } = documentFacts(type, 'documents.find')
    const wanted = key === undefined ? null : documentKey(key, name)
    const all = await this.#view()
    const found = all.findLast(
      (document) => document.className === name && (wanted === null || document.key === wanted),
    )
    return (found ?? null) as StoredDocument<Content<D>> | null
  }

  async all<D extends Doc>(type?: D, options?: { readonly tag?: string | undefined }) {
    const name = type === undefined ? null : documentFacts(type, 'documents.all').name
    const tag = readTag(options)
    const all = await this.#view()
    return all.filter(
      ({ className, tags }) =>
        (name === null || className === name) && (tag === null || tags.includes(tag)),
    ) as StoredDocument<Content<D>>[]
  }

  /** What is stored, with what this attempt has written in its place. */
  async #view(): Promise<StoredDocument[]> {
    this.#check()
    const rows: readonly (NewDocument | DocumentRow)[] = await this.#attempt.documents()
    this.#check()
    const all = this.#written.reduce(placed, [...rows])
    return all.map((one) => ('seq' in one ? storedDocument(one) : this.#told(one)))
  }

  #told(document: NewDocument): StoredDocument {
    const { step, number: attempt } = this.#attempt
    return storedDocument({ ...document, step, attempt, at: this.#attempt.now() })
  }

  #check(): void {
    this.#attempt.signal.throwIfAborted()
  }

  /** The same at every execution of this attempt: nothing of an execution that was lost is stored. */
  #newId(): string {
    const { idempotencyKey, number } = this.#attempt
    this.#ids ??= generatorOf(`${idempotencyKey}/${number}/documents`)
    return this.#ids.uuid()
  }
}

/** What replaces another stands in its place. */
function placed<T extends NewDocument>(all: T[], document: T): T[] {
  const { type, key } = document
  const at = key === null ? -1 : all.findIndex((one) => one.type === type && one.key === key)
  return at < 0 ? [...all, document] : all.with(at, document)
}

/** As people and code see it. */
export function storedDocument(
  row: NewDocument & Pick<DocumentRow, 'step' | 'attempt' | 'at'>,
): StoredDocument {
  const { id, type: className, key, tags, step, attempt } = row
  const content = decode(row.content)
  const createdAt = new Date(row.at)
  return Object.freeze({ id, className, key, tags, content, step, attempt, createdAt })
}

async function contentOf(facts: DocumentFacts, given: unknown, bytesMax: number) {
  const { name, schema, prototype } = facts
  // An instance of the class is its content; what methods it has, every reader has from the class.
  const isInstance = prototype !== null && given instanceof Object && isOf(given, prototype)
  const plain: unknown = isInstance ? { ...given } : given
  const what = `The content of document "${name}"`
  const checked = schema ? await parse(schema, plain, 'PAYLOAD_INVALID', what) : plain
  return encode(checked, `the content of document "${name}"`, bytesMax)
}

function isOf(value: object, prototype: object): boolean {
  return Object.getPrototypeOf(value) === prototype
}

// ── options ─────────────────────────────────────────────────────────────────────────────────────────────────

export function readDocumentOptions(
  options: unknown,
  name: string,
): Pick<NewDocument, 'key' | 'tags' | 'isHidden'> {
  const where = `documents.save("${name}")`
  if (options === undefined) return { key: null, tags: [], isHidden: false }
  if (typeof options !== 'object' || options === null) {
    throw optionInvalid('options', where, options, 'an object')
  }
  checkOptions(options, where, ['key', 'tags', 'hidden'])
  const { key, tags = [], hidden = false } = options as Readonly<Record<string, unknown>>
  if (typeof hidden !== 'boolean') throw optionInvalid('hidden', where, hidden, 'true or false')
  if (!Array.isArray(tags) || tags.length > TAGS_MAX || !tags.every(isStepName)) {
    throw optionInvalid('tags', where, tags, `at most ${TAGS_MAX} texts of 1 to 256 bytes`)
  }
  const isKeyed = key !== undefined && key !== null
  return { key: isKeyed ? documentKey(key, name) : null, tags: [...tags], isHidden: hidden }
}

export function documentKey(key: unknown, name: string): string {
  if (isStepName(key)) return key
  throw optionInvalid('key', `documents of "${name}"`, key, 'a text of 1 to 256 bytes')
}

/** null: of any tag. */
export function readTag(options: unknown): string | null {
  const where = 'documents.all'
  if (options === undefined) return null
  if (typeof options !== 'object' || options === null) {
    throw optionInvalid('options', where, options, 'an object: { tag }')
  }
  checkOptions(options, where, ['tag'])
  const { tag } = options as { readonly tag?: unknown }
  if (tag !== undefined && !isStepName(tag)) throw optionInvalid('tag', where, tag, 'a text')
  return tag ?? null
}

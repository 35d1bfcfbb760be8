// wf.documents: each call is a step, so that a replay hears what the first pass heard, and a document is saved once.

import { decode, encode } from '../../model/codec.js'
import type { Attempt, StepOrder } from '../../model/program.js'
import { NO_RETRY } from '../../model/retry.js'
import type { Instant } from '../../model/run.js'
import { DocumentDraft, documentKey, readDocumentOptions, readTag } from '../document-draft.js'
import { type Documents, documentFacts, type StoredDocument } from '../documents.js'
import { refuseNested } from '../nesting.js'
import { answered } from '../recorded.js'
import type { Context } from './context.js'

const LABEL = 'document'
/** Of a recorded document beside its content: at most 16 tags and a key. */
const REST_BYTES_MAX = 16_384

export function documentsOf(context: Context): Documents {
  return new RecordedDocuments(context) as unknown as Documents
}

/** What is wrong with a call is thrown at the call; what is wrong with a content, by its step. */
class RecordedDocuments {
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  save(type: never, content: never, options?: object): Promise<StoredDocument> {
    const { turn, around } = this.#context
    const { name } = documentFacts(type, 'wf.documents.save')
    readDocumentOptions(options, name)
    const step = `document:${name}`
    refuseNested(this.#context, `wf.documents.save("${name}")`)
    const { valueBytesMax } = around
    const order = this.#order(async (draft) => {
      const saved = await draft.save(type, content, options)
      const { createdAt: _, ...kept } = saved
      // The content is within its limit; what is recorded with it is short.
      const value = encode(kept, `document "${name}"`, valueBytesMax + REST_BYTES_MAX)
      return { value, documents: draft.written }
    })
    // It is dated by its answer, as it is stored.
    return answered(turn.step(step, order), around, (stored) => {
      const kept = decode(stored) as Omit<StoredDocument, 'createdAt'>
      return { ...kept, createdAt: new Date(turn.now()) }
    })
  }

  find(type: never, key?: string): Promise<StoredDocument | null> {
    const { name } = documentFacts(type, 'wf.documents.find')
    if (key !== undefined) documentKey(key, name)
    refuseNested(this.#context, `wf.documents.find("${name}")`)
    return this.#read(`documents.find:${name}`, async (draft) => {
      const found = await draft.find(type, key)
      return found && noted(found)
    }) as Promise<StoredDocument | null>
  }

  all(type?: never, options?: object): Promise<StoredDocument[]> {
    const of = type === undefined ? '' : `:${documentFacts(type, 'wf.documents.all').name}`
    readTag(options)
    refuseNested(this.#context, 'wf.documents.all')
    return this.#read(`documents.all${of}`, async (draft) => {
      const all = await draft.all(type, options)
      return all.map(noted)
    }) as Promise<StoredDocument[]>
  }

  #read(step: string, read: (draft: DocumentDraft) => Promise<unknown>): Promise<unknown> {
    const { turn, around } = this.#context
    const order = this.#order(async (draft) => {
      return { value: encode(await read(draft), `what ${step} found`, around.valueBytesMax) }
    })
    return answered(turn.step(step, order), around, (stored) => {
      const found = decode(stored) as Noted | readonly Noted[] | null
      if (found === null) return null
      return isList(found) ? found.map(dated) : dated(found)
    })
  }

  #order(execute: (draft: DocumentDraft) => ReturnType<StepOrder['execute']>): StepOrder {
    const { valueBytesMax } = this.#context.around
    const run = (attempt: Attempt) => execute(new DocumentDraft(attempt, valueBytesMax))
    return { label: LABEL, retry: NO_RETRY, timeoutMs: null, execute: run }
  }
}

/** As it is recorded: plain JSON, wherever its content is. */
type Noted = Omit<StoredDocument, 'createdAt'> & { readonly at: Instant }

function noted({ createdAt, ...document }: StoredDocument): Noted {
  return { ...document, at: createdAt.getTime() }
}

function dated({ at, ...document }: Noted): StoredDocument {
  return { ...document, createdAt: new Date(at) }
}

function isList<T>(value: T | readonly T[]): value is readonly T[] {
  return Array.isArray(value)
}

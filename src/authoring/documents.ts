// Documents: what a run shows to people, written by its code and rolled back with it.

import type { Schema } from './types.js'

/** The plain form of @Document. */
export interface DocumentType<C = unknown> {
  readonly documentName: string
  readonly '~content': C
}

export type DocumentClass<T = object> = abstract new (...args: never[]) => T
export type Doc = DocumentType | DocumentClass | string
export type Content<D> =
  D extends DocumentType<infer C> ? C : D extends DocumentClass<infer I> ? I : unknown

export type StoredDocument<C = unknown> = Readonly<{
  id: string
  className: string
  key: string | null
  tags: readonly string[]
  content: C
  step: string
  attempt: number
  createdAt: Date
}>

export interface DocumentOptions {
  /** The same key replaces, and keeps the place of the first. */
  readonly key?: string | undefined
  readonly tags?: readonly string[] | undefined
  /** Not for people: for the run itself. */
  readonly hidden?: boolean | undefined
}

export interface Documents {
  /** Gone again if the attempt that wrote it fails. */
  save<D extends Doc>(
    type: D,
    content: Content<D>,
    options?: DocumentOptions,
  ): Promise<StoredDocument<Content<D>>>
  find<D extends Doc>(type: D, key?: string): Promise<StoredDocument<Content<D>> | null>
  all<D extends Doc>(
    type?: D,
    options?: { readonly tag?: string | undefined },
  ): Promise<StoredDocument<Content<D>>[]>
}

/** What is known of a type of documents at run time. */
export interface DocumentFacts {
  readonly name: string
  readonly schema: Schema | null
}

// The public types of documents: what a run shows to people.

/** What document() gives, and the built-in types are. */
export interface DocumentType<C = unknown> {
  readonly documentName: string
  /** Never there at run time. */
  readonly '~content': C
}
/** A class under @Document: its fields are the content. */
export type DocumentClass<T = object> = abstract new (...args: never[]) => T
/** What names a type of documents. A text is a type of any content. */
export type Doc = DocumentType | DocumentClass | string
export type Content<D> =
  D extends DocumentType<infer C> ? C : D extends DocumentClass<infer I> ? I : unknown

export type StoredDocument<C = unknown> = Readonly<{
  id: string
  className: string
  key: string | null
  tags: readonly string[]
  content: C
  /** What wrote it, and at which attempt. */
  step: string
  attempt: number
  createdAt: Date
}>

export interface DocumentOptions {
  /** The same key of the same type replaces, and keeps the place of the first. */
  readonly key?: string | undefined
  readonly tags?: readonly string[] | undefined
  /** Not for people: for the run itself. */
  readonly hidden?: boolean | undefined
}

export interface Documents {
  save<D extends Doc>(
    type: D,
    content: Content<D>,
    options?: DocumentOptions,
  ): Promise<StoredDocument<Content<D>>>
  /** The one of that key; without a key the last of that type. */
  find<D extends Doc>(type: D, key?: string): Promise<StoredDocument<Content<D>> | null>
  /** In the order in which they were first saved; hidden ones too. */
  all<D extends Doc>(
    type?: D,
    options?: { readonly tag?: string | undefined },
  ): Promise<StoredDocument<Content<D>>[]>
}

// The lines of an export. The first names the format, the last says that nothing is missing.

import type { RunRecord } from '../kernel/store.js'

/** Raised when a line gets another meaning; an import knows all that were. */
export const FORMAT = 1

export type Line =
  | Header
  | { readonly definition: DefinitionRecord }
  | { readonly run: RunRecord }
  | End

export interface Header {
  readonly perdure: 'export'
  readonly format: number
  /** ISO 8601, for people. */
  readonly at: string
  readonly isCopy: boolean
}

export interface End {
  readonly end: { readonly runs: number; readonly definitions: number }
}

/** A stored graph. Its triggers are not moved: it would be started twice. */
export interface DefinitionRecord {
  readonly name: string
  readonly workspace: string | null
  readonly isArchived: boolean
  /** From the first on, without holes. */
  readonly versions: readonly {
    readonly version: number
    readonly note: string | null
    readonly author: string | null
    readonly json: string
  }[]
}

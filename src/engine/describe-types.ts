// What a definition is made of, for people and for the tools that draw it.

import type { GraphJson } from '../authoring/graph/types.js'
import type { Definition } from '../authoring/types.js'

/** JSON Schemas where the library of the schema gives one, else null. */
export type Description = Readonly<{
  name: string
  version: string
  kind: Definition['kind']
  description: string | null
  input: object | null
  /** What can be sent to its runs. */
  signals: readonly Readonly<{ name: string; schema: object | null }>[]
  /** Of a machine; the first is where its runs begin. */
  places: readonly Readonly<{ name: string; isFinal: boolean }>[]
  transitions: readonly DescribedTransition[]
  /** Of a graph: its JSON, as it was given. */
  graph: GraphJson | null
}>

export type DescribedTransition = Readonly<{
  name: string
  from: string
  /** Several, where rules decide. */
  to: readonly string[]
  /** At once, when somebody sends it, or `afterMs` in the place. */
  runs: 'at once' | 'when sent' | 'late'
  afterMs: number | null
  isGuarded: boolean
  schema: object | null
  /** How often it is tried again by itself, and where it leads when it has failed for good. */
  retries: number
  errorPlace: string | null
}>

// What engine.limits gives.

/** One thing that is counted: a definition, a workspace, or a key of a definition. */
export type LimitInfo = Readonly<{
  kind: 'definition' | 'workspace' | 'key'
  /** null: of a workspace, whose limit holds for several. */
  workflow: string | null
  /** The workspace, or the key. */
  name: string | null
  /** Runs at once; null: only a rate holds here. */
  limit: number | null
  rate: Readonly<{ runs: number; perMs: number }> | null
  used: number
  waiting: number
}>

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

/** A run that is counted there. */
export type LimitedRun = Readonly<{ id: string; workflow: string; workspace: string; since: Date }>

/** Who has a slot and who waits for one; the first 20 of each. */
export type LimitRuns = Readonly<{
  /** The oldest first; `since` it was created. */
  holders: readonly LimitedRun[]
  /** The longest waiting first. */
  waiters: readonly LimitedRun[]
}>

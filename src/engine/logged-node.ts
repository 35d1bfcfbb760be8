// What has become of a node of a run.

import type { NodeLog } from '../authoring/graph/log.js'

/** As people read it: moments are dates. */
export type LoggedNode = Omit<NodeLog, 'startedAt' | 'endedAt'> & {
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  readonly durationMs: number | null
}

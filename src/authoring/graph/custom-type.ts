// A type of node that a user has registered.

import type { Schema } from '../types.js'
import type { NodeContext } from './types.js'

export interface CustomType {
  readonly name: string
  readonly description: string | null
  readonly config: Schema | null
  readonly timeoutMs: number | null
  run(config: unknown, context: NodeContext): unknown
}

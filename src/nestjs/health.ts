// Health, in the shape that @nestjs/terminus reads; it is not needed for it.

import { isReady } from '../http/ready.js'
import type { Engine } from '../index.js'

export type HealthResult<K extends string = string> = Readonly<
  Record<K, { readonly status: 'up' | 'down'; readonly message?: string }>
>

export class PerdureHealth {
  private readonly engine: Engine

  constructor(engine: Engine) {
    this.engine = engine
  }

  /** Up: the engine is open, and its database answers. Does not throw. */
  async isHealthy<K extends string = 'perdure'>(key: K = 'perdure' as K): Promise<HealthResult<K>> {
    const said = (await isReady(this.engine))
      ? { status: 'up' as const }
      : {
          status: 'down' as const,
          message: 'the engine is not open, or its database does not answer',
        }
    return { [key]: said } as HealthResult<K>
  }
}

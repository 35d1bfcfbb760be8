// The options of PerdureModule.

import type { FactoryProvider, ModuleMetadata } from '@nestjs/common'
import type { AnyClass } from '../authoring/types.js'
import type { Definition, EngineOptions } from '../index.js'
import type { PerdureMount } from './controller.js'

/** Those of createEngine; `workflows` only for what is no provider and in no forFeature. */
export type PerdureOptions = Omit<
  EngineOptions<readonly (Definition | AnyClass)[]>,
  'construct'
> & {
  /** Serves the HTTP API, and with `studio: true` the Studio. */
  readonly mount?: PerdureMount | undefined
  /** Modules that export what the guards of `mount` need. */
  readonly imports?: ModuleMetadata['imports'] | undefined
}

/** Those that are about the engine alone. */
export type OwnOptions = Omit<PerdureOptions, 'mount' | 'imports'>

export interface PerdureAsyncOptions extends Pick<PerdureOptions, 'mount' | 'imports'> {
  /** Of what `useFactory` is given. */
  readonly inject?: FactoryProvider['inject'] | undefined
  readonly useFactory: (...injected: never[]) => OwnOptions | Promise<OwnOptions>
}

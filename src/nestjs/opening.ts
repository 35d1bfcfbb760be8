// The life of an engine inside an application: it opens when all modules are ready, and closes before they go.

import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common'
import type { DiscoveryService, ModuleRef } from '@nestjs/core'
import { createEngine, type Engine, PerdureError } from '../index.js'
import { type Constructor, discover, type Found } from './discover.js'
import type { OwnOptions } from './options.js'

export class Opening implements OnApplicationBootstrap, OnModuleDestroy {
  /** What is injected. It is there before the engine is: constructors get it, and may keep it. */
  readonly engine: Engine
  private opened: Engine | null = null
  private readonly options: OwnOptions
  private readonly discovery: DiscoveryService
  private readonly moduleRef: ModuleRef

  constructor(options: OwnOptions, discovery: DiscoveryService, moduleRef: ModuleRef) {
    this.options = options
    this.discovery = discovery
    this.moduleRef = moduleRef
    this.engine = new Proxy({} as Engine, { get: (_, name) => this.property(name) })
  }

  async onApplicationBootstrap(): Promise<void> {
    const found = discover(this.discovery)
    const workflows = new Set([...(this.options.workflows ?? []), ...found.definitions])
    const construct = await this.constructing(found)
    const engine = await createEngine({ ...this.options, workflows: [...workflows], construct })
    for (const { mark, listen } of found.listeners) {
      engine.on(`run.${mark.event}`, (event) =>
        mark.of === null || mark.of === event.workflow ? listen(event) : undefined,
      )
    }
    this.opened = engine as Engine
  }

  async onModuleDestroy(): Promise<void> {
    await this.opened?.close()
  }

  /** One instance of each class is made at once: what cannot be injected is known before the first run. */
  private async constructing({ homes }: Found): Promise<(cls: Constructor) => Promise<object>> {
    const patterns = new Map<Constructor, object>()
    for (const [cls, home] of homes) patterns.set(cls, await home.create(cls))
    return async (cls) => {
      const made = await (homes.get(cls) ?? this.moduleRef).create<object>(cls)
      hideServices(made, patterns.get(cls) ?? {})
      return made
    }
  }

  private property(name: string | symbol): unknown {
    if (this.opened) return Reflect.get(this.opened, name)
    // NestJS asks every provider whether it is a promise and which hooks it has.
    if (typeof name === 'symbol' || OF_NEST.test(name)) return undefined
    throw new PerdureError(
      'ENGINE_CLOSED',
      `The engine is not open yet, and was asked for "${name}".`,
      {
        hint: 'it opens with app.init() or app.listen(); ask it in onApplicationBootstrap, not in constructors or onModuleInit',
      },
    )
  }
}

const OF_NEST = /^(then|constructor|(on|before)[A-Z]\w*)$/

/**
 * What two instances share was injected, and belongs to no run. A service that is plain data (`useValue`) would else be stored as
 * a field of the run as soon as it changes, and the run would go on with a copy of it.
 */
function hideServices(made: object, pattern: object): void {
  for (const [name, value] of Object.entries(made)) {
    const isShared =
      typeof value === 'object' && value !== null && Reflect.get(pattern, name) === value
    if (isShared) Object.defineProperty(made, name, { enumerable: false })
  }
}

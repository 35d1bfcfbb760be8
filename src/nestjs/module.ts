// PerdureModule: an engine among the providers of an application.

import type { DynamicModule, Provider, Type } from '@nestjs/common'
import { DiscoveryModule, DiscoveryService, HttpAdapterHost, ModuleRef } from '@nestjs/core'
import { isClass, madeOf } from '../authoring/definition.js'
import { PerdureError, shown } from '../model/errors.js'
import { controllerOf, route } from './controller.js'
import { PERDURE_ENGINE } from './decorators.js'
import { type Defined, Feature } from './discover.js'
import { PerdureHealth } from './health.js'
import { Opening } from './opening.js'
import type { PerdureAsyncOptions, PerdureOptions } from './options.js'

const OPTIONS = Symbol('the options of the engine')
const ROUTED = Symbol('the controller has its paths')

// biome-ignore lint/complexity/noStaticOnlyClass: a module of NestJS is a class
export class PerdureModule {
  static forRoot({ mount, imports, ...options }: PerdureOptions = {}): DynamicModule {
    return moduleOf({ provide: OPTIONS, useValue: options }, { mount, imports })
  }

  static forRootAsync({ inject, useFactory, ...around }: PerdureAsyncOptions): DynamicModule {
    return moduleOf({ provide: OPTIONS, inject: inject ?? [], useFactory }, around)
  }

  /**
   * More definitions: functions, tasks, graphs, machines, and classes under @Workflow, which become providers. What those need is
   * exported by `imports`.
   */
  static forFeature(
    definitions: readonly Defined[],
    { imports }: Pick<PerdureOptions, 'imports'> = {},
  ): DynamicModule {
    const wrong = definitions.find((one) => !madeOf(one))
    if (wrong !== undefined || definitions.length === 0) throw notADefinition(wrong)
    const classes = definitions.filter(isClass) as Type<object>[]
    const feature = { provide: Feature, useValue: new Feature(definitions) }
    return {
      module: PerdureFeature,
      imports: imports ?? [],
      providers: [...classes, feature],
      exports: classes,
    }
  }
}

/** The module of each forFeature. */
class PerdureFeature {}

function moduleOf(
  options: Provider,
  { mount, imports }: Pick<PerdureOptions, 'mount' | 'imports'>,
): DynamicModule {
  const controller = mount && controllerOf(mount)
  const routed: Provider[] = controller
    ? [
        {
          provide: ROUTED,
          inject: [HttpAdapterHost],
          useFactory: (host: HttpAdapterHost) => route(controller, host),
        },
      ]
    : []
  return {
    module: PerdureModule,
    global: true,
    imports: [DiscoveryModule, ...(imports ?? [])],
    controllers: controller ? [controller] : [],
    providers: [
      options,
      {
        provide: Opening,
        inject: [OPTIONS, DiscoveryService, ModuleRef],
        useFactory: (...given: ConstructorParameters<typeof Opening>) => new Opening(...given),
      },
      {
        provide: PERDURE_ENGINE,
        inject: [Opening],
        useFactory: ({ engine }: Opening) => engine,
      },
      {
        provide: PerdureHealth,
        inject: [Opening],
        useFactory: ({ engine }: Opening) => new PerdureHealth(engine),
      },
      ...routed,
    ],
    exports: [PERDURE_ENGINE, PerdureHealth],
  }
}

const notADefinition = (value: unknown): PerdureError =>
  new PerdureError('DEFINITION_INVALID', `PerdureModule.forFeature was given ${shown(value)}.`, {
    hint: 'give it a list of what workflow(), task(), graph() and machine() return, or of classes under @Workflow',
  })

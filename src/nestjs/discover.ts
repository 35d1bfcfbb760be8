// Finds definitions, tasks and listeners among the providers of an application.

import { type DiscoveryService, ModuleRef } from '@nestjs/core'
import { isClass, madeOf } from '../authoring/definition.js'
import type { AnyClass } from '../authoring/types.js'
import { type Definition, PerdureError, task } from '../index.js'
import { type Marked, marksOf } from './decorators.js'

export type Defined = Definition | AnyClass
export type Constructor = new () => object

/** Definitions that PerdureModule.forFeature was given. */
export class Feature {
  readonly definitions: readonly Defined[]

  constructor(definitions: readonly Defined[]) {
    this.definitions = definitions
  }
}

export interface Found {
  readonly definitions: readonly Defined[]
  readonly listeners: readonly Listener[]
  /** Of classes that are providers: the module that makes their instances. */
  readonly homes: ReadonlyMap<Constructor, ModuleRef>
}

export interface Listener {
  readonly mark: Extract<Marked, { kind: 'listener' }>
  readonly listen: (event: object) => unknown
}

type Provider = ReturnType<DiscoveryService['getProviders']>[number]

export function discover(discovery: DiscoveryService): Found {
  const definitions = new Set<Defined>()
  const listeners: Listener[] = []
  const homes = new Map<Constructor, ModuleRef>()
  // A provider of two modules is there twice, and one with a second name as well.
  const seen = new Set<unknown>()
  for (const provider of discovery.getProviders()) {
    const { metatype, instance } = provider
    if (isClass(metatype) && madeOf(metatype)) {
      const cls = metatype as Constructor
      definitions.add(cls)
      if (!homes.has(cls)) homes.set(cls, homeOf(provider))
      continue
    }
    if (typeof instance !== 'object' || instance === null || seen.has(instance)) continue
    seen.add(instance)
    if (instance instanceof Feature) for (const one of instance.definitions) definitions.add(one)
    const marked = marksOf(instance)
    if (marked.length === 0 || seen.has(instance.constructor)) continue
    seen.add(instance.constructor)
    if (!provider.isDependencyTreeStatic()) throw notStatic(instance.constructor.name)
    for (const mark of marked) {
      const call = methodOf(instance, mark.method)
      if (mark.kind === 'task') definitions.add(taskOf(mark, call))
      else listeners.push({ mark, listen: call })
    }
  }
  return { definitions: [...definitions], listeners, homes }
}

function homeOf({ host }: Provider): ModuleRef {
  return host?.getProviderByKey<ModuleRef>(ModuleRef).instance as ModuleRef
}

type Method = (...args: readonly unknown[]) => unknown

/** Looked up with every call: what a test has put in its place is found. */
function methodOf(instance: object, name: string | symbol): Method {
  return (...args) => Reflect.apply(Reflect.get(instance, name) as Method, instance, args)
}

function taskOf({ name, options }: Extract<Marked, { kind: 'task' }>, call: Method): Definition {
  return task(name, options, (input: unknown, step) => call(input, step)) as Definition
}

const notStatic = (name: string): PerdureError =>
  new PerdureError(
    'DEFINITION_INVALID',
    `${name} has tasks or listeners, and is made anew for each request.`,
    { hint: 'give it, and all that is injected into it, the usual scope: a run has no request' },
  )

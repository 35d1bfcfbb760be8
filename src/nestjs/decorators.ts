// What providers say about their methods, and how they get the engine. Decorators of experimentalDecorators, as those of NestJS.

import { Inject } from '@nestjs/common'
import { madeOf } from '../authoring/definition.js'
import type { TaskOptions } from '../authoring/task/task.js'
import type { AnyClass, Loose } from '../authoring/types.js'
import type { Definition, EngineEvents, Step } from '../index.js'
import { optionInvalid, PerdureError } from '../model/errors.js'

/** The engine among the providers: app.get(PERDURE_ENGINE). */
export const PERDURE_ENGINE: unique symbol = Symbol.for('perdure.nestjs.engine')

/** The engine, into a constructor or a property: @InjectEngine() private readonly engine: Engine. */
export function InjectEngine(): ReturnType<typeof Inject> {
  return Inject(PERDURE_ENGINE)
}

type Ends<K> = K extends `run.${infer Word}` ? Word : never
/** What can become of a run: completed, failed, cancelled, timed_out, waiting, resumed. */
export type RunEvent = Ends<keyof EngineEvents>

export type Mark =
  | { readonly kind: 'task'; readonly name: string; readonly options: object }
  | { readonly kind: 'listener'; readonly event: RunEvent; readonly of: string | null }
export type Marked = Mark & { readonly method: string | symbol }

type Decorates<M> = <F extends M>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<F>,
) => void

/** The method of a provider is a task of that name: (input, step). */
export function Task<R = Loose, I = Loose>(
  name: string,
  options: TaskOptions<R, I> = {},
): Decorates<(input: I, step: Step) => unknown> {
  return marking('@Task', { kind: 'task', name, options })
}

const EVENTS: readonly string[] = [
  'completed',
  'failed',
  'cancelled',
  'timed_out',
  'waiting',
  'resumed',
] satisfies readonly RunEvent[]

/** The method hears of runs, after commit, as engine.on would tell it; with a definition or its name, of those runs alone. */
export function OnRun<K extends RunEvent>(
  event: K,
  of?: Definition | AnyClass | string,
): Decorates<(event: EngineEvents[`run.${K}`]) => unknown> {
  if (!EVENTS.includes(event)) {
    throw optionInvalid('event', '@OnRun', event, `one of ${EVENTS.join(', ')}`)
  }
  const name = typeof of === 'string' ? of : madeOf(of)?.name
  if (of !== undefined && name === undefined) {
    throw optionInvalid('of', '@OnRun', of, 'a definition, or the name of one')
  }
  return marking('@OnRun', { kind: 'listener', event, of: name ?? null })
}

const marks = new WeakMap<object, Marked[]>()

function marking(decorator: string, mark: Mark): (...args: readonly unknown[]) => void {
  return (target, method, descriptor) => {
    const { value } = (descriptor ?? {}) as PropertyDescriptor
    const isMethod = typeof target === 'object' && typeof value === 'function'
    if (!isMethod) throw notAMethod(decorator)
    const known = marks.get(target as object) ?? []
    marks.set(target as object, [...known, { ...mark, method: method as string | symbol }])
  }
}

const notAMethod = (decorator: string): PerdureError =>
  new PerdureError('DEFINITION_INVALID', `${decorator} stands on something else than a method.`, {
    hint: 'write it above a method of a provider, and compile with experimentalDecorators, as NestJS needs it',
  })

/** Of the methods of an object, inherited ones too. */
export function marksOf(instance: object): readonly Marked[] {
  const found: Marked[] = []
  let at: object | null = Object.getPrototypeOf(instance)
  for (; at !== null; at = Object.getPrototypeOf(at)) found.push(...(marks.get(at) ?? []))
  return found
}

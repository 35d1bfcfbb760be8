// What decorators have said about methods, until the decorator of the class comes and reads it.
//
// A legacy decorator is given the prototype and the name. A standard one is given neither: its notes are kept under the
// metadata that all decorators of one class share where there is such a thing, else under the method itself.

import { invalid } from './declared.js'

export type Note =
  | { readonly kind: 'transition'; readonly options: unknown }
  | { readonly kind: 'guard'; readonly guard: unknown }

type Noted = Map<string, Note[]>
export type AnyFunction = (...args: never[]) => unknown
/** A class at run time. */
export type ClassValue = (new () => object) & { readonly prototype: object }

const notes = new WeakMap<object, Noted>()

interface Context {
  readonly kind: string
  readonly name: string | symbol
  readonly static?: boolean
  readonly private?: boolean
  readonly metadata?: object | undefined
}

/** `args`: (method, context), or (target, name, descriptor). */
export function takeNote(decorator: string, note: Note, args: readonly unknown[]): void {
  const { name, holder } = isContext(args[1])
    ? standardPlace(decorator, args[0], args[1])
    : legacyPlace(decorator, args)
  const noted = notes.get(holder) ?? new Map<string, Note[]>()
  notes.set(holder, noted)
  // Decorators are applied from the method upwards; people read them downwards.
  noted.set(name, [note, ...(noted.get(name) ?? [])])
}

function isContext(value: unknown): value is Context {
  return typeof value === 'object' && value !== null && 'kind' in value && 'name' in value
}

function standardPlace(decorator: string, method: unknown, context: Context) {
  const { kind, name, static: isStatic, private: isPrivate, metadata } = context
  if (kind !== 'method' || isStatic || isPrivate) {
    const is = `${isStatic ? 'static ' : ''}${isPrivate ? 'private ' : ''}${kind}`
    throw notAMethod(decorator, `the ${is} ${String(name)}`)
  }
  return { name: textOf(decorator, name), holder: metadata ?? (method as object) }
}

function legacyPlace(decorator: string, args: readonly unknown[]) {
  const [target, name, descriptor] = args
  const isMethod = typeof (descriptor as PropertyDescriptor | undefined)?.value === 'function'
  if (typeof name !== 'string' && typeof name !== 'symbol') {
    throw notAMethod(decorator, 'something else')
  }
  if (typeof target === 'function' || !isMethod) {
    const is = typeof target === 'function' ? 'static member' : 'field'
    throw notAMethod(decorator, `the ${is} ${String(name)}`)
  }
  return { name: textOf(decorator, name), holder: target as object }
}

function textOf(decorator: string, name: string | symbol): string {
  if (typeof name === 'string') return name
  throw notAMethod(decorator, `the method ${String(name)}`)
}

const notAMethod = (decorator: string, on: string) =>
  invalid(
    `${decorator} stands on ${on}.`,
    'write it above a public method that has a name: async approve(state, …) { … }',
  )

export interface NotedMethod {
  readonly name: string
  /** In the order in which they are written. */
  readonly notes: readonly Note[]
}

/** In the order in which the methods are declared, inherited ones first. */
export function notedMethods(cls: ClassValue, metadata: object | undefined): NotedMethod[] {
  const methods = new Map<string, NotedMethod>()
  // That of a class inherits from that of the class which it extends.
  const holders = chainOf(metadata ?? null)
  for (const prototype of chainOf(cls.prototype).toReversed()) {
    if (prototype === Object.prototype) continue
    for (const name of Object.getOwnPropertyNames(prototype)) {
      const method: unknown = Object.getOwnPropertyDescriptor(prototype, name)?.value
      if (typeof method !== 'function' || name === 'constructor') continue
      const held = [prototype, ...holders, method].map((key) => notes.get(key)?.get(name))
      const found = held.find((one) => one !== undefined)
      // A method that overrides another is the code of the same transitions, unless it says otherwise.
      if (found) methods.set(name, { name, notes: found })
    }
  }
  return [...methods.values()]
}

function chainOf(first: object | null): object[] {
  const chain: object[] = []
  for (let at = first; at !== null; at = Object.getPrototypeOf(at)) chain.push(at)
  return chain
}

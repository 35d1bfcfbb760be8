/** The same store, or part of one, with some methods replaced. */
export function instead<T extends object>(thing: T, methods: Partial<T>): T {
  return Object.assign(Object.create(thing) as T, methods)
}

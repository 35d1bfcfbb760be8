// Wraps what a workflow calls of the outside, so that a simulation can see the calls.

import { AsyncLocalStorage } from 'node:async_hooks'
import { optionInvalid } from '../model/errors.js'
import { isStepName } from '../model/ids.js'
import type { RunFacts } from '../model/run.js'
import type { Executed, Ledger } from './ledger.js'

interface Place {
  readonly ledger: Ledger
  readonly run: RunFacts
  /** null: the function of the run, outside of its steps. */
  readonly executed: Executed | null
}

const current = new AsyncLocalStorage<Place>()

/** Runs code of a workflow so that the effects it calls are noted there. */
export function inPlace<T>(place: Place, work: () => T): T {
  return current.run(place, work)
}

/**
 * The same function; inside of `simulate` its calls are watched. A call carries a key if the key of its step is in its
 * arguments, or what `key` makes of them; with a key that was heard before it gets the first answer.
 */
export function effect<A extends unknown[], R>(
  name: string,
  fn: (...args: A) => R,
  options: { readonly key?: ((...args: A) => string | undefined) | undefined } = {},
): (...args: A) => R {
  if (!isStepName(name)) throw optionInvalid('name', 'effect', name, 'a name, as steps have one')
  if (typeof fn !== 'function') throw optionInvalid('fn', 'effect', fn, 'a function')
  const { key = null } = options
  if (key !== null && typeof key !== 'function') {
    throw optionInvalid('key', 'effect', key, 'a function of the arguments')
  }
  return (...args) => {
    const place = current.getStore()
    if (!place) return fn(...args)
    const keyOf = key && (() => key(...args))
    return place.ledger.call(place, { name, args, fn: () => fn(...args), key: keyOf }) as R
  }
}

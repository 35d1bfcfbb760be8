// Expressions as TypeScript writes them: cel`${score.value} > 80`, and references that know their path.

import { optionInvalid } from '../../model/errors.js'
import type { Cel, Ref } from './types.js'

const PATH = Symbol('path')
const NAME = /^[A-Za-z_]\w*$/

/** A reference to what a node gives: its fields are references, too. */
export function refTo(path: string): unknown {
  return new Proxy(Object.create(null) as object, {
    get: (_, key) => {
      if (key === PATH) return path
      if (typeof key === 'symbol') return undefined
      if (/^\d+$/.test(key)) return refTo(`${path}[${key}]`)
      return refTo(NAME.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`)
    },
    has: (_, key) => key === PATH,
    ownKeys: () => [],
  })
}

export function pathOf(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || !(PATH in value)) return null
  return (value as { [PATH]: string })[PATH]
}

/** A node's id that is no name of an expression is reached through `nodes`. */
function asText(path: string): string {
  const [, id = '', rest = ''] = /^([A-Za-z_][\w-]*)(.*)$/s.exec(path) ?? []
  return NAME.test(id) ? path : `nodes[${JSON.stringify(id)}]${rest}`
}

/** The same with references as expressions: plain JSON. */
export function plain(value: unknown): unknown {
  const path = pathOf(value)
  if (path !== null) return { cel: asText(path) }
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]))
}

/** References are paths; other values are written as literals, so that no text becomes code. */
export function cel(
  text: TemplateStringsArray,
  ...values: readonly (Ref | string | number | boolean | null)[]
): Cel {
  const parts = values.map((value, i) => {
    const path = pathOf(value)
    if (path !== null) return asText(path)
    if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) {
      return JSON.stringify(value)
    }
    throw optionInvalid(
      `value ${i + 1}`,
      'cel`…`',
      value,
      'a reference, a text, a number, true, false or null',
    )
  })
  const written = text.raw.map((one, i) => one + (parts[i] ?? ''))
  return { cel: written.join('') }
}

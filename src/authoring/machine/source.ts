// The text of a machine's code, for the name of a build: another text is another deploy.

import { isSchema } from '../schema.js'

/** Functions by their text; everything else as JSON, as far as that goes. */
export function sourceOf(parts: unknown): string {
  return JSON.stringify(parts, (_key, value: unknown) => {
    if (isSchema(value)) return '(schema)'
    if (typeof value === 'function') return Function.prototype.toString.call(value)
    return typeof value === 'bigint' ? String(value) : value
  })
}

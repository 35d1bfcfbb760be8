// What the nodes of graphs may call, as createEngine is told.

import { checkOptions, optionInvalid } from '../model/errors.js'
import type { HttpOptions } from './engine-options.js'

const WHERE = 'createEngine'

export function readHttp(given: unknown): HttpOptions {
  if (given === undefined) return {}
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw optionInvalid('http', WHERE, given, 'an object: { allow, deny, secrets }')
  }
  checkOptions(given, `option "http" of ${WHERE}`, ['allow', 'deny', 'secrets'])
  const { allow, deny, secrets } = given as Readonly<Record<string, unknown>>
  for (const [name, list] of Object.entries({ allow, deny })) {
    const isList = Array.isArray(list) && list.every((one) => typeof one === 'string')
    if (list !== undefined && !isList)
      throw optionInvalid(`http.${name}`, WHERE, list, 'a list of hosts')
  }
  if (secrets !== undefined && typeof secrets !== 'function') {
    throw optionInvalid(
      'http.secrets',
      WHERE,
      typeof secrets,
      'a function: (name) => ({ value, hosts })',
    )
  }
  return given as HttpOptions
}

// nodeType(): a type of node of your own.

import { checkOptions, optionInvalid, PerdureError } from '../../model/errors.js'
import type { Duration } from '../../model/time.js'
import { readTimeout } from '../options.js'
import { isSchema } from '../schema.js'
import type { Dict, Opt, Schema } from '../types.js'
import type { CustomType } from './custom-type.js'
import type { NodeContext } from './types.js'

/** With a dot, so that it can never be one that comes with the engine. */
export const TYPE_NAME = /^[A-Za-z][\w-]{0,31}(\.[A-Za-z][\w-]{0,31}){1,3}$/
const OPTIONS = ['config', 'timeout', 'description']

/** `name` has a dot in it, as 'acme.score'. `run` is given the config with what its expressions gave, checked by the schema. */
export function nodeType<C = Dict, R = C>(
  name: `${string}.${string}`,
  options: Opt<{ config: Schema<R, C>; timeout: Duration; description: string }>,
  run: (config: C, context: NodeContext) => unknown,
): CustomType {
  const where = `nodeType("${name}")`
  if (typeof name !== 'string' || !TYPE_NAME.test(name)) {
    throw new PerdureError(
      'NAME_INVALID',
      `A type of node cannot be called ${JSON.stringify(name)}.`,
      {
        hint: "write two words with a dot between them, as 'acme.score'",
      },
    )
  }
  checkOptions(options, where, OPTIONS)
  const { config, timeout, description } = options
  if (config !== undefined && !isSchema(config)) {
    throw optionInvalid('config', where, config, 'a Standard Schema or typed<T>()')
  }
  if (typeof run !== 'function') {
    throw optionInvalid('run', where, run, 'a function: (config, context) => …')
  }
  return Object.freeze({
    name,
    description: description ?? null,
    config: (config as Schema | undefined) ?? null,
    timeoutMs: readTimeout(timeout, where),
    run: run as CustomType['run'],
  })
}

// What names a definition to be run as a child.

import { PerdureError, shown } from '../model/errors.js'
import { DEFINITION_NAME } from '../model/ids.js'
import { isClass, type Made, madeOf, refName, type Surroundings } from './definition.js'

/** A name that this engine does not have is allowed: another worker may, now or after the next deploy. */
export function namedTarget(around: Surroundings, what: unknown, where: string): Made | string {
  const made = madeOf(what)
  if (made) return made
  const name = refName(what) ?? what
  if (typeof name === 'string' && DEFINITION_NAME.test(name)) return around.find(name) ?? name
  throw new PerdureError('DEFINITION_UNKNOWN', `${where} cannot run ${shown(what)}.`, {
    hint: isClass(what)
      ? 'a class is not a step: give a function, a task, a workflow, or the name of one'
      : 'give a function, a task, a workflow, or the name of one',
  })
}

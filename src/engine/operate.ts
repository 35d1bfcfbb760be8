// What people do to a run that is there: cancel, retry, pause, resume.

import { optionInvalid } from '../model/errors.js'
import { addressOf, beforeWrite, type Core, messageIdOf } from './core.js'
import { reasonOf } from './handle.js'
import { optionsObject } from './paged.js'

export type Spaced = { readonly workspace?: unknown }

/** `own`: the workspace of the client; `spaceOf`: the one that options name, if the client may go there. */
export function operatingCalls(
  core: Core,
  own: string,
  spaceOf: (options: Spaced, call: string) => string,
) {
  return {
    cancel: async (id: unknown, reason?: unknown, options?: unknown) => {
      beforeWrite(core, 'cancel')
      const given = optionsObject(options, 'engine.cancel', ['id', 'workspace'])
      const to = addressOf(spaceOf(given, 'cancel'), id)
      await core.kernel.cancel(to, reasonOf(reason), messageIdOf(given.id))
    },
    retry: async (id: unknown, options?: unknown) => {
      beforeWrite(core, 'retry')
      const given = optionsObject(options, 'engine.retry', ['expectedAttempt', 'workspace'])
      const to = addressOf(spaceOf(given, 'retry'), id)
      await core.kernel.retry(to, readAttempt(given.expectedAttempt))
    },
    pause: async (id: unknown) => {
      beforeWrite(core, 'pause')
      await core.kernel.operations.pause(addressOf(own, id))
    },
    resume: async (id: unknown) => {
      beforeWrite(core, 'resume')
      await core.kernel.operations.resume(addressOf(own, id))
    },
  }
}

function readAttempt(expected: unknown): number | null {
  if (expected === undefined) return null
  if (Number.isInteger(expected) && Number(expected) > 0) return Number(expected)
  throw optionInvalid('expectedAttempt', 'engine.retry', expected, 'the attempt of RunInfo')
}

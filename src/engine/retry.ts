// retry: re-opens what has failed. A machine at an error place has not failed: it is told to try again what it could not do.

import { RETRY } from '../authoring/machine/waiting.js'
import type { Address } from '../kernel/api.js'
import { runNotRetryable } from '../model/errors.js'
import type { Core } from './core.js'

export async function retryRun(
  core: Core,
  to: Address,
  expectedAttempt: number | null,
): Promise<void> {
  const view = await core.kernel.read.get(to.workspace, to.id)
  const isAtErrorPlace =
    view?.status === 'waiting' && view.error !== null && view.reason === 'signal'
  if (!isAtErrorPlace) {
    // It goes on with the version that it has: nobody may know that any more.
    if (view) await core.stored.needFor(view.definition, view.version)
    return core.kernel.retry(to, expectedAttempt)
  }
  const call = { name: RETRY, payload: null, id: null, withinMs: 0 }
  const { fate } = await core.kernel.trigger(to, call)
  if (fate !== 'taken') throw runNotRetryable(to.id, view.status)
}

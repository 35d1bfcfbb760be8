// Whether an engine can work: its database answers, and in time.

import type { Engine } from '../index.js'

/** A database that does not answer within this is not there. */
const READY_WITHIN_MS = 5_000

export async function isReady(engine: Pick<Engine, 'limits'>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), READY_WITHIN_MS)
  })
  const asked = Promise.resolve()
    .then(() => engine.limits())
    .then(
      () => true,
      () => false,
    )
  try {
    return await Promise.race([asked, late])
  } finally {
    clearTimeout(timer)
  }
}

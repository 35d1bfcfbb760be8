// What the claimer needs of the worker that it claims for.

import type { Anchor } from './anchor.js'
import type { KernelOptions } from './api.js'
import type { ClaimerDeps } from './claim.js'
import type { Counters } from './counters.js'
import type { Executor } from './execute.js'
import type { Frames } from './frames.js'
import type { Lease } from './lease.js'

interface Host {
  readonly options: KernelOptions
  readonly counters: Counters
  readonly anchor: Anchor
  readonly lease: Lease
  readonly frames: Frames
  readonly executor: Executor
  readonly mayTake: boolean
}

export function claimerDeps(host: Host): ClaimerDeps {
  const { anchor, counters, frames, lease } = host
  const { store, ports, pollMs } = host.options
  return {
    store,
    ports,
    counters,
    pollMs,
    worker: () => lease.worker,
    now: () => anchor.now(),
    heard: (now, askedAt) => anchor.heard(now, askedAt),
    promisePlaces: (most) => frames.promiseHalf(most),
    unpromise: (count) => frames.unpromise(count),
    mayClaim: () => host.mayTake,
    suspectsRunning: () => frames.suspects,
    // Made after the claimer.
    take: (claimed) => host.executor.take(claimed),
  }
}

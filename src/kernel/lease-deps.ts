// What the lease needs of the worker that holds it.

import { leaseLost } from '../model/errors.js'
import type { Adoption } from './adoption.js'
import type { Anchor } from './anchor.js'
import type { KernelOptions } from './api.js'
import type { Claimer } from './claim.js'
import type { Counters } from './counters.js'
import type { Defects } from './defects.js'
import type { Events } from './events.js'
import type { Frames } from './frames.js'
import { newWorker } from './incarnation.js'
import type { LeaseDeps } from './lease.js'
import type { LongSteps } from './long-steps.js'
import type { Programs } from './programs.js'

/** Most of it is made after the lease. */
interface Host {
  readonly options: KernelOptions
  readonly programs: Programs
  readonly counters: Counters
  readonly defects: Defects
  readonly anchor: Anchor
  readonly frames: Frames
  readonly events: Events
  readonly claimer: Claimer
  readonly adoption: Adoption
  readonly longSteps: LongSteps
  readonly closing: boolean
  loseAll(): void
}

export function leaseDeps(host: Host): LeaseDeps {
  const { options, programs, counters, defects, anchor, frames, events } = host
  const { store, ports, pollMs, leaseMs } = options
  return {
    store,
    ports,
    counters,
    leaseMs,
    pollMs,
    newWorker: () => newWorker(options, programs),
    heard: (now) => anchor.heard(now),
    owned: (owned) => {
      const mayAdopt = !host.closing && !defects.has('no-adoption')
      host.adoption.reconcile(owned, mayAdopt)
    },
    lost: () => host.loseAll(),
    ranLast: () => host.longSteps.ranLast(),
    overdue: () => {
      // The AbortSignals are raised; results that still arrive count if the lease turns out to hold.
      for (const { questions, run } of frames.active.values()) questions.abort(leaseLost(run.id))
    },
    certain: () => {
      for (const frame of frames.active.values()) frame.pump()
      host.claimer.poke()
    },
    listens: () => events.heard,
    inherited: (entries, ids) => events.inherited(entries, ids),
    freed: () => host.claimer.poke(),
  }
}

// What the attempts of steps need of the worker that holds their runs.

import type { Outside } from '../model/program.js'
import type { Anchor } from './anchor.js'
import type { KernelOptions } from './api.js'
import type { AttemptDeps } from './attempt.js'
import type { Lease } from './lease.js'
import type { Meters } from './meters.js'
import type { Publisher } from './publisher.js'
import type { Tracing } from './tracing.js'

interface Host {
  readonly options: KernelOptions
  readonly anchor: Anchor
  readonly lease: Lease
  readonly publisher: Publisher
  readonly meters: Meters
  readonly tracing: Tracing | null
  readonly outside: Outside
}

export function attemptDeps(host: Host): AttemptDeps {
  const { lease, publisher, meters, tracing } = host
  const { store, ports, execute = null } = host.options
  return {
    clock: ports.clock,
    now: () => host.anchor.now(),
    fault: (point) => ports.fault(point),
    mayStart: () => lease.certain,
    open: (limitMs) => store.open(lease.worker, limitMs),
    execute: tracing?.steps(execute) ?? execute,
    // Given to the worker after it was made.
    outside: () => host.outside,
    publisher,
    meters,
    isSingle: store.isSingle ?? false,
    documents: async (uid) =>
      (await store.read.documents(uid)).filter(({ untilSeq }) => untilSeq === null),
  }
}

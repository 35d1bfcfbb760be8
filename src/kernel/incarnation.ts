// One incarnation of this process, as the store knows it.

import { uuidv7, type WorkerId } from '../model/ids.js'
import type { KernelOptions } from './api.js'
import type { Worker } from './store.js'

/** An engine that executes nothing claims nothing, and has no say in the limits of definitions. */
export function newWorker(options: KernelOptions): Worker {
  const { ports, build, leaseMs, programs, worker } = options
  const id = uuidv7(Math.max(0, ports.clock.monotonic()), ports.random.bytes(10)) as WorkerId
  const definitions = worker
    ? programs.map(({ name, version, limits }) => ({
        name,
        version,
        ...(limits && { limits: limits.rules }),
      }))
    : []
  return { id, build, leaseMs, definitions }
}

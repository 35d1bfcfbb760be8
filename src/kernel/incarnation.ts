// One incarnation of this process, as the store knows it.

import { uuidv7, type WorkerId } from '../model/ids.js'
import type { KernelOptions } from './api.js'
import type { Programs } from './programs.js'
import type { Worker } from './store.js'

const NOTHING: Worker['definitions'] = []

/** An engine that executes nothing claims nothing, and has no say in the limits of definitions. */
export function newWorker(options: KernelOptions, programs: Programs): Worker {
  const { ports, build, leaseMs, worker } = options
  const id = uuidv7(Math.max(0, ports.clock.monotonic()), ports.random.bytes(10)) as WorkerId
  // The same incarnation when it has learnt something: only what it can execute is more.
  const said = { get: () => (worker ? programs.said : NOTHING), enumerable: true }
  return Object.defineProperty({ id, build, leaseMs }, 'definitions', said) as Worker
}

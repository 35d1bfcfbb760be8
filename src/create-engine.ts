// Composes an engine: options, store, ports, kernel, styles, and the public calls around them.

import type { Surroundings } from './authoring/definition.js'
import { programOf } from './authoring/program.js'
import { throwRecordedAs } from './authoring/recorded.js'
import type { AnyClass, Definition } from './authoring/types.js'
import { makeHttpCaller } from './egress/http-call.js'
import { makeClient } from './engine/client.js'
import type { Core } from './engine/core.js'
import type { EngineOptions } from './engine/engine-options.js'
import { readEngineOptions, type Settings } from './engine/options.js'
import { type MemoryKernel, makeStateless } from './engine/stateless.js'
import { systemCalls } from './engine/system.js'
import { transact } from './engine/transaction.js'
import { storeTriggers } from './engine/triggers.js'
import type { Engine } from './engine/types.js'
import type { Kernel, KernelOptions } from './kernel/api.js'
import { createKernel } from './kernel/engine.js'
import type { Log, Ports } from './kernel/ports.js'
import { schedulingFor } from './kernel/scheduling.js'
import { openLivePorts, standardLog } from './live-ports.js'
import { CLOSE_GRACE_MS, FRAMES_MAX, POLL_MS, RETENTION_EVERY_MS } from './model/limits.js'
import type { Program } from './model/program.js'
import { type Opened, openMemory, openStore } from './open-store.js'
import { Retention } from './upkeep/retention.js'
import { Schedules } from './upkeep/schedules.js'

/** Opens the database, makes its tables if they are not there, and takes up work. */
export async function createEngine<
  const W extends readonly (Definition | AnyClass)[] = readonly [],
>(options: EngineOptions<W> = {}): Promise<Engine<W>> {
  const engine = await composeEngine(readEngineOptions(options, process.env))
  return engine as Engine<W>
}

/** What tests and tools may put in the place of the usual. Not part of the public surface. */
export interface Instead {
  readonly opened?: Opened
  readonly kernel?: Partial<Omit<KernelOptions, 'store' | 'programs'>>
  /** For the engine's own kernel and for those of stateless runs. */
  readonly createKernel?: (options: Omit<KernelOptions, 'ports'>) => Promise<Kernel>
  /** For stateless runs. */
  readonly openMemory?: () => Promise<Opened>
  readonly retentionEveryMs?: number
}

export async function composeEngine(settings: Settings, instead: Instead = {}): Promise<Engine> {
  const log = settings.log ?? standardLog()
  const programs = programsOf(settings, log)
  const opened = instead.opened ?? (await openStore(settings, log))
  if (settings.worker)
    await orClose(opened, () => storeTriggers(schedulingFor(opened.store), settings))
  const started = await startKernel(opened, usual(settings, programs), log, instead)
  const { kernel } = started
  const everyMs = instead.retentionEveryMs ?? RETENTION_EVERY_MS
  const retention = startRetention(settings, opened, started, { log, everyMs })
  const schedules = startSchedules(settings, opened, started, {
    log,
    everyMs: instead.kernel?.pollMs ?? POLL_MS,
  })
  let closed = false
  const inMemory = programsOf(settings, log, true)
  const stateless = makeStateless(() => openMemoryKernel(settings, inMemory, log, instead))
  const core: Core = {
    kernel,
    stateless,
    log,
    valueBytesMax: settings.valueBytesMax,
    definitions: settings.definitions,
    errors: settings.errors,
    events: settings.events,
    sentTo: new Map(),
    isClosed: () => closed,
  }
  const close = async (): Promise<void> => {
    closed = true
    // The kernel knows at once that it leaves: what its steps ask of a closed engine is no failure of theirs. It closes the
    // hints and the store too; what a duty then asks of that is refused, and left to others.
    const duties = [retention?.close(), schedules?.close()]
    await Promise.all([kernel.close(), stateless.close(), ...duties])
  }
  const client = makeClient(core, null)
  const transaction = (work: unknown) => transact(core, work)
  const own = { transaction, ...systemCalls(core), close, [Symbol.asyncDispose]: close }
  return Object.assign(client, own) as unknown as Engine
}

/** What has been opened is closed again. */
async function orClose<T>({ hints, store }: Opened, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await hints.close()
    await store.close()
    throw error
  }
}

type Usual = Omit<KernelOptions, 'store' | 'ports'>

function programsOf(settings: Settings, log: Log, isStateless = false): readonly Program[] {
  const { definitions, nodeTypes, valueBytesMax, tx, transitionTimeoutMs } = settings
  const throwRecorded = throwRecordedAs(settings.errors)
  const find = (name: string) => definitions.get(name)
  const { events } = settings
  const http = makeHttpCaller(settings.http)
  const engine = { log, valueBytesMax, throwRecorded, tx, find, events, nodeTypes, http }
  const around: Surroundings = { ...engine, transitionTimeoutMs, isStateless }
  return [...definitions.values()].map((made) => programOf(made, around))
}

function usual(settings: Settings, programs: readonly Program[]): Usual {
  const { worker, concurrency, leaseMs, build } = settings
  return {
    programs,
    worker,
    concurrency,
    leaseMs,
    build,
    pollMs: POLL_MS,
    framesMax: FRAMES_MAX,
    closeGraceMs: CLOSE_GRACE_MS,
  }
}

interface Started {
  readonly kernel: Kernel
  /** null: whoever makes the kernel instead has ports of its own. */
  readonly ports: Ports | null
}

/** Who executes runs also clears them away. */
function startRetention(
  { worker, retentionMs: keepMs }: Settings,
  { store }: Opened,
  { ports }: Started,
  { log, everyMs }: { readonly log: Log; readonly everyMs: number },
): Retention | null {
  if (!worker || keepMs === null || ports === null) return null
  return new Retention({ store, clock: ports.clock, log, keepMs, everyMs })
}

/** Who executes runs also starts those whose time has come. */
function startSchedules(
  { worker }: Settings,
  { store }: Opened,
  { kernel, ports }: Started,
  { log, everyMs }: { readonly log: Log; readonly everyMs: number },
): Schedules | null {
  if (!worker || ports === null) return null
  const { clock, random } = ports
  return new Schedules({
    store,
    clock,
    random,
    log,
    everyMs,
    fault: (point) => ports.fault(point),
    cancel: (to, reason, id) => kernel.cancel(to, reason, id),
    madeDue: () => kernel.operations.madeDue(),
  })
}

async function startKernel(
  opened: Opened,
  options: Usual,
  log: Log,
  instead: Instead,
): Promise<Started> {
  const { store, hints } = opened
  return orClose(opened, async () => {
    if (instead.createKernel) {
      return { kernel: await instead.createKernel({ ...options, store }), ports: null }
    }
    const ports = instead.kernel?.ports ?? (await openLivePorts(hints, log))
    return { kernel: await createKernel({ ...options, ...instead.kernel, ports, store }), ports }
  })
}

async function openMemoryKernel(
  settings: Settings,
  programs: readonly Program[],
  log: Log,
  { createKernel: create, openMemory: open = openMemory }: Instead,
): Promise<MemoryKernel> {
  const opened = await open()
  const options = { ...usual(settings, programs), worker: true, closeGraceMs: 0 }
  const { kernel } = await startKernel(opened, options, log, create ? { createKernel: create } : {})
  return {
    kernel,
    has: (definition) => settings.definitions.has(definition),
    close: () => kernel.close(),
  }
}

// Composes an engine: options, store, ports, kernel, styles, and the public calls around them.

import type { Surroundings } from './authoring/definition.js'
import { programOf } from './authoring/program.js'
import { throwRecordedAs } from './authoring/recorded.js'
import type { Definition } from './authoring/types.js'
import { makeClient } from './engine/client.js'
import type { Core } from './engine/core.js'
import { readEngineOptions, type Settings } from './engine/options.js'
import { type MemoryKernel, makeStateless } from './engine/stateless.js'
import type { Engine, EngineOptions } from './engine/types.js'
import type { Kernel, KernelOptions } from './kernel/api.js'
import { createKernel } from './kernel/engine.js'
import type { Log } from './kernel/ports.js'
import { openLivePorts, standardLog } from './live-ports.js'
import { CLOSE_GRACE_MS, FRAMES_MAX, POLL_MS } from './model/limits.js'
import type { Program } from './model/program.js'
import { type Opened, openMemory, openStore } from './open-store.js'

/** Opens the database, makes its tables if they are not there, and takes up work. */
export async function createEngine<const W extends readonly Definition[] = readonly []>(
  options: EngineOptions<W> = {},
): Promise<Engine<W>> {
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
}

export async function composeEngine(settings: Settings, instead: Instead = {}): Promise<Engine> {
  const log = settings.log ?? standardLog()
  const programs = programsOf(settings, log)
  const opened = instead.opened ?? (await openStore(settings, log))
  const kernel = await startKernel(opened, usual(settings, programs), log, instead)
  let closed = false
  const stateless = makeStateless(() => openMemoryKernel(settings, programs, log, instead))
  const core: Core = {
    kernel,
    stateless,
    log,
    valueBytesMax: settings.valueBytesMax,
    definitions: settings.definitions,
    errors: settings.errors,
    isClosed: () => closed,
  }
  const close = async (): Promise<void> => {
    closed = true
    // The kernel closes the hints and the store too.
    await Promise.all([kernel.close(), stateless.close()])
  }
  const client = makeClient(core, null)
  return Object.assign(client, { close, [Symbol.asyncDispose]: close }) as unknown as Engine
}

type Usual = Omit<KernelOptions, 'store' | 'ports'>

function programsOf(settings: Settings, log: Log): readonly Program[] {
  const { definitions, valueBytesMax, tx } = settings
  const throwRecorded = throwRecordedAs(settings.errors)
  const find = (name: string) => definitions.get(name)
  const around: Surroundings = { log, valueBytesMax, throwRecorded, tx, find }
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

async function startKernel(
  opened: Opened,
  options: Usual,
  log: Log,
  instead: Instead,
): Promise<Kernel> {
  const { store, hints } = opened
  try {
    if (instead.createKernel) return await instead.createKernel({ ...options, store })
    const ports = instead.kernel?.ports ?? (await openLivePorts(hints, log))
    return await createKernel({ ...options, ...instead.kernel, ports, store })
  } catch (error) {
    await opened.hints.close()
    await opened.store.close()
    throw error
  }
}

async function openMemoryKernel(
  settings: Settings,
  programs: readonly Program[],
  log: Log,
  { createKernel: create, openMemory: open = openMemory }: Instead,
): Promise<MemoryKernel> {
  const opened = await open()
  const options = { ...usual(settings, programs), worker: true, closeGraceMs: 0 }
  const kernel = await startKernel(opened, options, log, create ? { createKernel: create } : {})
  return {
    kernel,
    has: (definition) => settings.definitions.has(definition),
    close: () => kernel.close(),
  }
}

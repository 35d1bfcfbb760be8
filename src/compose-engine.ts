// Composes an engine: options, store, ports, kernel, styles, and the public calls around them.

import { deliveryPrograms } from './deliveries.js'
import { makeClient } from './engine/client.js'
import type { Core } from './engine/core.js'
import { Following } from './engine/following.js'
import { describeNodeTypes } from './engine/node-types.js'
import type { Settings } from './engine/options.js'
import { type MemoryKernel, makeStateless } from './engine/stateless.js'
import type { StoredGraphs } from './engine/stored-graphs.js'
import { systemCalls } from './engine/system.js'
import type { EngineInfo } from './engine/system-types.js'
import { transact } from './engine/transaction.js'
import { storeTriggers, storeWebhooks } from './engine/triggers.js'
import type { Engine } from './engine/types.js'
import { webhookCalls } from './engine/webhooks.js'
import type { Kernel, KernelOptions } from './kernel/api.js'
import { createKernel } from './kernel/engine.js'
import type { Log, Ports, Telemetry } from './kernel/ports.js'
import { schedulingFor, webhooksFor } from './kernel/scheduling.js'
import { type Executed, type Library, makeLibrary } from './library.js'
import { standardLog } from './live-log.js'
import { openLivePorts } from './live-ports.js'
import { ByRun } from './model/by-run.js'
import { CLOSE_GRACE_MS, FRAMES_MAX, POLL_MS, RETENTION_EVERY_MS } from './model/limits.js'
import { type Opened, openMemory, openStore } from './open-store.js'
import { Definitions } from './upkeep/definitions.js'
import { Retention } from './upkeep/retention.js'
import { Schedules } from './upkeep/schedules.js'
import { VERSION } from './version.js'

/** People watch what is followed: it is asked for so much more often than the rest. */
const FOLLOWED_SHARE = 5

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
  const library = makeLibrary(settings, log)
  const opened = instead.opened ?? (await openStore(settings, log))
  const stored = await orClose(opened, async () => {
    const graphs = await library.open(opened.store)
    if (settings.worker) {
      await storeTriggers(schedulingFor(opened.store), settings)
      await storeWebhooks(webhooksFor(opened.store), settings)
    }
    return graphs
  })
  const pollMs = instead.kernel?.pollMs ?? POLL_MS
  const following = new Following({
    hints: opened.hints,
    standings: (uids) => opened.store.standings(uids),
    pollMs: pollMs / FOLLOWED_SHARE,
  })
  const { programs, learnt } = library.programs()
  const all = [...programs, ...deliveryPrograms(settings, opened.store, log)]
  const started = await startKernel(
    opened,
    { ...usual(settings, { programs: all, learnt }), changed: (uid) => following.changed(uid) },
    { log, telemetry: settings.telemetry },
    instead,
  )
  const { kernel } = started
  stored.learns = () => kernel.learn(library.programs().learnt)
  const everyMs = instead.retentionEveryMs ?? RETENTION_EVERY_MS
  const retention = startRetention(settings, opened, started, { log, everyMs })
  const schedules = startSchedules(settings, opened, started, {
    log,
    everyMs: pollMs,
  })
  const definitions = startDefinitions(stored, opened, started, {
    log,
    everyMs: pollMs,
  })
  let closed = false
  const stateless = makeStateless(() => openMemoryKernel(settings, library, log, instead))
  const core: Core = {
    kernel,
    stateless,
    log,
    valueBytesMax: settings.valueBytesMax,
    definitions: settings.definitions,
    errors: settings.errors,
    events: settings.events,
    stored,
    nodeTypes: new Set(settings.nodeTypes.keys()),
    paletteOf: () => describeNodeTypes(settings.nodeTypes.values()),
    about: aboutOf(settings),
    publishSaved: () => opened.hints.publish({ kind: 'saved' }),
    secrets: settings.http.secrets,
    sentTo: new ByRun(),
    following,
    tools: opened.store,
    isClosed: () => closed,
  }
  const close = async (): Promise<void> => {
    closed = true
    following.close()
    // The kernel knows at once that it leaves: what its steps ask of a closed engine is no failure of theirs. It closes the
    // hints and the store too; what a duty then asks of that is refused, and left to others.
    const duties = [retention?.close(), schedules?.close(), definitions?.close()]
    await Promise.all([kernel.close(), stateless.close(), ...duties])
  }
  const client = makeClient(core, null)
  const transaction = (work: unknown) => transact(core, work)
  const own = { transaction, webhooks: webhookCalls(core), ...systemCalls(core), close }
  return Object.assign(client, own, { [Symbol.asyncDispose]: close }) as unknown as Engine
}

function aboutOf({ database, worker, retentionMs }: Settings): EngineInfo {
  const { kind } = database
  const isEmbedded = kind === 'file' || kind === 'memory'
  const name = isEmbedded ? 'embedded' : 'postgresql'
  const shown = kind === 'memory' || kind === 'redis' ? kind : name
  return { version: VERSION, database: shown, isEmbedded, isWorker: worker, retentionMs }
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

function usual(settings: Settings, { programs, learnt }: Executed): Usual {
  const { worker, concurrency, leaseMs, build } = settings
  return {
    programs,
    learnt,
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

/** Also a process that executes nothing: it starts what is stored. */
function startDefinitions(
  stored: StoredGraphs,
  { hints }: Opened,
  { ports }: Started,
  { log, everyMs }: { readonly log: Log; readonly everyMs: number },
): Definitions | null {
  if (ports === null) return null
  const { clock } = ports
  const definitions = new Definitions({ clock, log, everyMs, refresh: () => stored.refresh() })
  hints.subscribe(({ kind }) => {
    if (kind === 'saved') definitions.poke()
    return false
  })
  return definitions
}

async function startKernel(
  opened: Opened,
  options: Usual,
  { log, telemetry }: { readonly log: Log; readonly telemetry: Telemetry | null },
  instead: Instead,
): Promise<Started> {
  const { store, hints } = opened
  return orClose(opened, async () => {
    if (instead.createKernel) {
      return { kernel: await instead.createKernel({ ...options, store }), ports: null }
    }
    const ports = instead.kernel?.ports ?? (await openLivePorts(hints, log, process.env, telemetry))
    return { kernel: await createKernel({ ...options, ...instead.kernel, ports, store }), ports }
  })
}

async function openMemoryKernel(
  settings: Settings,
  library: Library,
  log: Log,
  { createKernel: create, openMemory: open = openMemory }: Instead,
): Promise<MemoryKernel> {
  const opened = await open()
  const executed = library.programs(true)
  const options = { ...usual(settings, executed), worker: true, closeGraceMs: 0 }
  const { kernel } = await startKernel(
    opened,
    options,
    { log, telemetry: settings.telemetry },
    create ? { createKernel: create } : {},
  )
  return {
    kernel,
    has: (definition) => library.find(definition) !== undefined,
    close: () => kernel.close(),
  }
}

// A test engine: the real one, composed on a database in memory, with a clock that is moved by hand and lives that
// can be ended.

import type { AnyClass } from '../authoring/types.js'
import { composeEngine } from '../compose-engine.js'
import { readEngineOptions, type Settings } from '../engine/options.js'
import type { Definition, Duration, Engine } from '../index.js'
import type { Log, Random } from '../kernel/ports.js'
import { NO_HINTS } from '../live-hints.js'
import { standardLog } from '../live-log.js'
import { durationInvalid, engineClosed } from '../model/errors.js'
import { generatorOf } from '../model/random.js'
import { durationMs } from '../model/time.js'
import { openMemory } from '../open-store.js'
import { Commits } from './commits.js'
import { openTestDatabase, type TestDatabase } from './database.js'
import { type Life, never } from './life.js'
import { Lives, type LivesDeps } from './lives.js'
import { INSTANT_MAX_MS, readTestOptions } from './options.js'
import { advance, type Settling, settle } from './settle.js'
import { Steps } from './steps.js'
import { TestClock } from './test-clock.js'
import type { Trouble } from './trouble.js'
import type { TestEngine, TestEngineOptions } from './types.js'

/** What crashEverywhere needs of an engine. */
const commitsOf = new WeakMap<object, Commits>()

export function commitsOfEngine(engine: object | undefined): Commits | null {
  return (engine && commitsOf.get(engine)) ?? null
}

/** Opens the real engine in memory, on a schema of its own. */
export async function createTestEngine<
  const W extends readonly (Definition | AnyClass)[] = readonly [],
>(options: TestEngineOptions<W> = {}): Promise<TestEngine<W>> {
  const engine = await openTestEngine(options, { openDatabase: openTestDatabase, trouble: null })
  return engine as TestEngine<W>
}

/** What the engine of a simulation has in the place of the usual. */
interface Instead {
  openDatabase(nowMs: number): Promise<TestDatabase>
  readonly trouble: Trouble | null
}

export async function openTestEngine(options: unknown, instead: Instead): Promise<TestEngine> {
  const { nowMs, seed, patienceMs, engineOptions } = readTestOptions(options)
  const settings = readEngineOptions({ ...engineOptions, database: 'memory:' }, {})
  const database = await instead.openDatabase(nowMs)
  const { trouble } = instead
  try {
    const kit = new Kit(settings, { database, trouble, nowMs, seed, patienceMs })
    const engine = kit.verbs(await kit.open())
    commitsOf.set(engine, kit.commits)
    return engine
  } catch (error) {
    await database.close()
    throw error
  }
}

interface Given {
  readonly database: TestDatabase
  readonly trouble: Trouble | null
  readonly nowMs: number
  readonly seed: number
  readonly patienceMs: number
}

class Kit {
  readonly commits: Commits
  private readonly settings: Settings
  private readonly database: TestDatabase
  private readonly trouble: Trouble | null
  private readonly log: Log
  private readonly clock: TestClock
  private readonly steps: Steps
  private readonly random: Random
  private readonly patienceMs: number
  private lives: Lives | null = null
  private isClosed = false
  private last: Promise<unknown> = Promise.resolve()

  constructor(settings: Settings, given: Given) {
    const { definitions, valueBytesMax } = settings
    const { trouble } = given
    this.settings = settings
    this.database = given.database
    this.trouble = trouble
    this.log = settings.log ?? standardLog({ level: 'warn' })
    this.clock = new TestClock(given.nowMs)
    this.random = randomOf(given.seed)
    this.patienceMs = given.patienceMs
    this.steps = new Steps({ definitions, log: this.log, valueBytesMax, trouble })
    this.commits = new Commits({
      saw: (delta) => this.steps.saw(delta),
      end: (life) => this.lives?.end(life),
    })
    if (trouble) this.commits.watch(trouble.atCommit)
  }

  async open(): Promise<Engine> {
    // For what is read from outside: each life opens one of its own.
    const store = await this.database.openStore({ alive: true })
    return composeEngine(this.settings, {
      opened: { store, hints: NO_HINTS },
      openMemory: () => this.opened().beginningOf(() => openMemory(() => this.clock.nowMs)),
      createKernel: async (given) => {
        const programs = given.programs.map((program) => this.steps.stubbed(program))
        const learnt = given.learnt?.map((program) => this.steps.stubbed(program)) ?? []
        const options = { ...given, programs, learnt }
        if (this.lives !== null && options.store !== store) return this.lives.aside(options)
        this.lives = new Lives(this.livesDeps(), options)
        await this.lives.begun()
        return this.lives
      },
    })
  }

  private livesDeps(): LivesDeps {
    const { clock, random, log, commits, database, trouble } = this
    return {
      clock,
      random,
      log,
      telemetry: this.settings.telemetry,
      watcher: commits,
      execute: (life, isAside) => async (execution) => {
        life.running.add(execution)
        const crash = isAside ? null : (): Promise<never> => this.crashed(life)
        try {
          return await this.steps.execute(execution, crash)
        } finally {
          life.running.delete(execution)
          life.slow.delete(execution)
          life.moves += 1
        }
      },
      stubbed: (program) => this.steps.stubbed(program),
      openStore: (life) => database.openStore(life),
      isAskedTwice: (what) => trouble?.isAskedTwice(what) ?? false,
      closed: () => database.close(),
    }
  }

  private crashed(life: Life): Promise<never> {
    this.lives?.end(life)
    return never()
  }

  // ── what a test calls ─────────────────────────────────────────────────────────────────────────────────────

  verbs(engine: Engine): TestEngine {
    const { steps } = this
    // It is about to be replaced.
    const closeEngine = engine.close.bind(engine)
    const close = async (): Promise<void> => {
      this.isClosed = true
      await closeEngine()
      steps.checkReached()
    }
    const more: Omit<TestEngine, keyof Engine> = {
      now: () => new Date(this.clock.nowMs),
      settle: () => this.inTurn((settling) => settle(settling)),
      advance: (by) => this.inTurn((settling) => advance(settling, this.spanOf(by))),
      crash: async () => this.opened().crash(),
      crashAt: (step, when) => {
        this.opened()
        steps.crashAt(step, when)
      },
      stub: (...args: [unknown, ...unknown[]]) => {
        this.opened()
        return steps.stub(...args) as never
      },
      executions: (runId, step) => steps.executions(runId, step),
    }
    return Object.assign(engine, more, { close, [Symbol.asyncDispose]: close })
  }

  private opened(): Lives {
    if (this.isClosed || this.lives === null) throw engineClosed()
    return this.lives
  }

  /** One after the other, also if the test did not await the first. */
  private inTurn<T>(work: (settling: Settling) => Promise<T>): Promise<T> {
    const mine = this.last.then(() => work(this.settling()))
    this.last = mine.catch(() => {})
    return mine
  }

  private settling(): Settling {
    const { clock, patienceMs, steps, database } = this
    return {
      lives: this.opened(),
      clock,
      patienceMs,
      setNow: (ms) => database.setNow(ms),
      lastStepOf: (run) => steps.lastOf(run),
    }
  }

  private spanOf(by: Duration): number {
    const ms = durationMs(by)
    if (this.clock.nowMs + ms > INSTANT_MAX_MS) throw durationInvalid(by)
    return ms
  }
}

/** The same numbers for the same seed. */
function randomOf(seed: number): Random {
  const generator = generatorOf(`test ${seed}`)
  const byte = (): number => Math.floor(generator.fraction() * 256)
  return {
    bytes: (count) => Uint8Array.from({ length: count }, byte),
    fraction: () => generator.fraction(),
  }
}

// Runs a workflow of the user many times, each time with other things that go wrong, and reports the first effect that
// does not stand it.

import type { AnyClass } from '../authoring/types.js'
import type { Definition } from '../index.js'
import { PerdureError } from '../model/errors.js'
import { openTestEngine } from './create-test-engine.js'
import { findingOf, reportOf } from './findings.js'
import { openMemoryDatabase } from './memory-database.js'
import { type Difference, differenceOf, timed } from './outcome.js'
import { FAULTS, type Fault, type Point, planOf } from './seed-plan.js'
import { readSimulation, type Simulation } from './simulate-options.js'
import type { Finding, SimulateOptions, SimulationReport } from './simulate-types.js'
import { SimulatedLife } from './simulated-life.js'
import type { TestEngine } from './types.js'
import { type Ended, untilItEnds } from './until-it-ends.js'

/** Runs the workflow under crashes, duplicates, delays and pauses; reports the first effect that is not idempotent. */
export async function simulate<
  D extends Definition | AnyClass,
  const W extends readonly (Definition | AnyClass)[] = readonly [],
>(workflow: D, options: SimulateOptions<D, W> = {}): Promise<SimulationReport> {
  const simulation = readSimulation(workflow, options)
  return new Simulator(simulation).report()
}

class Simulator {
  private readonly simulation: Simulation
  private points: readonly Point[] = []
  private seeds = 0
  private crashPoints = 0
  private crashes = 0
  private readonly faults: Record<Fault, number> = {
    pauses: 0,
    duplicates: 0,
    delays: 0,
    'lost-answers': 0,
  }
  private limitMs = 0
  private expected: unknown

  constructor(simulation: Simulation) {
    this.simulation = simulation
  }

  async report(): Promise<SimulationReport> {
    const finding = (await this.undisturbed()) ?? (await this.disturbed())
    const { seeds, crashPoints, crashes, faults, simulation, expected: outcome } = this
    const { made, scenario } = simulation
    const how = scenario ? null : (outcome as Ended)
    return reportOf(made.name, how, { seeds, crashPoints, crashes, faults, outcome, finding })
  }

  /** Twice: what comes out differently by itself says nothing about crashes. */
  private async undisturbed(): Promise<Finding | null> {
    const { life, finding } = await this.live(0, async (life, engine) => {
      const { output, limitMs } = await timed(() => this.play(life, engine))
      if (output instanceof PerdureError) throw output
      this.expected = output
      this.limitMs = limitMs
      return null
    })
    this.points = life.points
    if (finding) return finding
    return (await this.live(0, (life, engine) => this.compared(life, engine))).finding
  }

  private async disturbed(): Promise<Finding | null> {
    for (const seed of this.seedsToRun()) {
      const { life, finding } = await this.live(seed, (life, engine) => this.compared(life, engine))
      this.seeds += 1
      this.crashes += life.ends - life.met.pauses
      for (const fault of FAULTS) this.faults[fault] += life.met[fault]
      if (this.isPoint(seed) && life.ends > 0) this.crashPoints += 1
      if (finding) return finding
    }
    return null
  }

  private *seedsToRun(): Iterable<number> {
    const { seeds } = this.simulation
    if (typeof seeds !== 'number') return yield* seeds.filter((seed) => seed > 0)
    const count = seeds + (this.isPoint(1) ? this.points.length : 0)
    for (let seed = 1; seed <= count; seed += 1) yield seed
  }

  private isPoint(seed: number): boolean {
    return this.simulation.crash === 'every-step' && seed > 0 && seed <= this.points.length
  }

  // ── one life ──────────────────────────────────────────────────────────────────────────────────────────────

  private async live(
    seed: number,
    work: (life: SimulatedLife, engine: TestEngine) => Promise<Difference | null>,
  ): Promise<{ readonly life: SimulatedLife; readonly finding: Finding | null }> {
    const { simulation, points } = this
    const life = new SimulatedLife(planOf(seed, { ...simulation, points }), simulation.repeatable)
    const openDatabase = openMemoryDatabase
    const engine = await openTestEngine(simulation.engineOptions, { openDatabase, trouble: life })
    try {
      await simulation.setup?.(engine)
      const difference = await work(life, engine)
      await life.end()
      const context = { seed, engine, definition: simulation.made.name }
      const finding = await findingOf(life, difference, context)
      return { life, finding }
    } finally {
      await engine.close().catch(() => {})
    }
  }

  private play(life: SimulatedLife, engine: TestEngine): Promise<unknown> {
    const { scenario, made, input } = this.simulation
    life.begin()
    return scenario ? scenario(engine) : untilItEnds(engine, made.name, input)
  }

  private async compared(life: SimulatedLife, engine: TestEngine): Promise<Difference | null> {
    const { expected, limitMs } = this
    const limit = { limitMs, over: life.isFound }
    return differenceOf(() => this.play(life, engine), expected, limit)
  }
}

// The options of simulate.

import { type Made, madeOf } from '../authoring/definition.js'
import { checkOptions, didYouMean, optionInvalid, PerdureError } from '../model/errors.js'
import { isStepName } from '../model/ids.js'
import { notADefinition } from './errors.js'
import { FAULTS, type Fault, type World } from './seed-plan.js'
import type { TestEngine } from './types.js'

const WHERE = 'simulate'
const OPTIONS = [
  'input',
  'workflows',
  'seeds',
  'crash',
  'faults',
  'repeatable',
  'setup',
  'scenario',
  'engine',
]
const SEEDS = 100
const SEEDS_MAX = 1_000_000
const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

type Scenario = (engine: TestEngine) => Promise<unknown>

export interface Simulation extends Omit<World, 'points'> {
  readonly made: Made
  readonly input: unknown
  /** How many of chance; or exactly these. */
  readonly seeds: number | readonly number[]
  readonly repeatable: readonly string[] | true
  readonly setup: ((engine: TestEngine) => unknown) | null
  /** null: start it, and let time pass. */
  readonly scenario: Scenario | null
  /** Those of createTestEngine. */
  readonly engineOptions: object
}

export function readSimulation(workflow: unknown, options: unknown): Simulation {
  const made = madeOf(workflow)
  if (!made) throw notADefinition(workflow)
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw optionInvalid('options', WHERE, options, 'an object')
  }
  checkOptions(options, WHERE, OPTIONS)
  const given = options as Record<string, unknown>
  const scenario = readFunction(given, 'scenario')
  if (scenario && given.input !== undefined) {
    const expected = 'left out with a scenario, which starts the run itself'
    throw optionInvalid('input', WHERE, given.input, expected)
  }
  return {
    made,
    input: given.input,
    seeds: readSeeds(given.seeds),
    crash: readCrash(given.crash),
    faults: readFaults(given.faults),
    repeatable: readRepeatable(given.repeatable),
    setup: readFunction(given, 'setup'),
    scenario: scenario as Scenario | null,
    engineOptions: readEngine(given.engine, [workflow, ...readWorkflows(given.workflows)]),
  }
}

function readSeeds(seeds: unknown): number | readonly number[] {
  if (seeds === undefined) return SEEDS
  const isSeed = (value: unknown, least: number): boolean =>
    Number.isInteger(value) && Number(value) >= least && Number(value) <= SEEDS_MAX
  if (isSeed(seeds, 0)) return seeds as number
  const isList = Array.isArray(seeds) && seeds.length > 0 && seeds.every((one) => isSeed(one, 0))
  if (isList) return seeds
  throw optionInvalid('seeds', WHERE, seeds, `a number from 0 to ${SEEDS_MAX}, or a list of them`)
}

function readCrash(crash: unknown): World['crash'] {
  if (crash === undefined) return 'every-step'
  if (crash === 'every-step' || crash === 'random' || crash === false) return crash
  throw optionInvalid('crash', WHERE, crash, "'every-step', 'random' or false")
}

function readFaults(faults: unknown): readonly Fault[] {
  if (faults === undefined) return FAULTS
  const known = FAULTS.map((fault) => `'${fault}'`).join(', ')
  if (!Array.isArray(faults)) throw optionInvalid('faults', WHERE, faults, `a list of ${known}`)
  const unknown: unknown = faults.find((fault) => !FAULTS.includes(fault))
  if (unknown === undefined) return faults
  const near = typeof unknown === 'string' ? didYouMean(unknown, FAULTS) : null
  const { message, hint } = optionInvalid('faults', WHERE, unknown, `a list of ${known}`)
  const better = near ? `did you mean '${near}'?` : hint
  throw new PerdureError('OPTION_INVALID', message, { hint: better })
}

function readRepeatable(repeatable: unknown): readonly string[] | true {
  if (repeatable === undefined) return []
  if (repeatable === true) return true
  if (Array.isArray(repeatable) && repeatable.every(isStepName)) return repeatable
  throw optionInvalid('repeatable', WHERE, repeatable, 'a list of names of steps, or true')
}

function readFunction(given: Record<string, unknown>, option: string) {
  const value = given[option]
  if (value === undefined) return null
  if (typeof value === 'function') return value as (engine: TestEngine) => unknown
  throw optionInvalid(option, WHERE, value, 'a function of the test engine')
}

function readWorkflows(workflows: unknown): readonly unknown[] {
  if (workflows === undefined) return []
  if (Array.isArray(workflows)) return workflows
  throw optionInvalid('workflows', WHERE, workflows, 'a list of definitions')
}

function readEngine(engine: unknown, workflows: readonly unknown[]): object {
  if (engine !== undefined && (typeof engine !== 'object' || engine === null)) {
    throw optionInvalid('engine', WHERE, engine, 'an object with options of createTestEngine')
  }
  // The workflow itself may be named once more.
  return { log: SILENT, ...engine, workflows: [...new Set(workflows)] }
}

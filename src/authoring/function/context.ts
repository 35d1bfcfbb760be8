// What the verbs of one turn share, and how they read names and moments.

import { nameInvalid, optionInvalid } from '../../model/errors.js'
import { isStepName } from '../../model/ids.js'
import type { Turn } from '../../model/program.js'
import type { Surroundings } from '../definition.js'
import type { Executing } from '../nesting.js'
import { runLog, runRef } from '../step.js'
import type { Log, RunRef, Schema } from '../types.js'

export interface Context extends Executing {
  readonly turn: Turn
  readonly run: RunRef
  readonly log: Log
  readonly around: Surroundings
  readonly waits: OpenWaits
  /** Of the state that it shows. */
  readonly stateSchema: Schema | null
  /** Of what its steps publish. */
  readonly streamSchema: Schema | null
}

/** What a context needs of the definition. */
export interface ContextOfRun {
  readonly version: string
  readonly state: Schema | null
  readonly stream: Schema | null
}

/** Inside a scope: another turn, the same run. */
export function innerContext(outer: Context, turn: Turn): Context {
  return new InnerContext(outer, turn)
}

/** Which names are waited for, and by which wait. What a scope waits for is forgotten with it. */
export type OpenWaits = Map<string, string>

export function contextOf(turn: Turn, made: ContextOfRun, around: Surroundings): Context {
  return new ContextOf(turn, made, around)
}

/** Most runs look at neither `run` nor `log` and wait for nothing: these are made when they are asked for. */
class ContextOf implements Context {
  readonly turn: Turn
  readonly around: Surroundings
  readonly #made: ContextOfRun
  #run: RunRef | null = null
  #log: Log | null = null
  #waits: OpenWaits | null = null
  executing = 0

  constructor(turn: Turn, made: ContextOfRun, around: Surroundings) {
    this.turn = turn
    this.around = around
    this.#made = made
  }

  get stateSchema(): Schema | null {
    return this.#made.state
  }

  get streamSchema(): Schema | null {
    return this.#made.stream
  }

  get run(): RunRef {
    this.#run ??= runRef(this.turn.run, this.#made.version)
    return this.#run
  }

  get log(): Log {
    const { turn, around } = this
    const { id: runId, definition: workflow } = turn.run
    this.#log ??= runLog(around.log, { runId, workflow }, () => turn.replaying)
    return this.#log
  }

  get waits(): OpenWaits {
    this.#waits ??= new Map()
    return this.#waits
  }
}

class InnerContext implements Context {
  readonly turn: Turn
  readonly #outer: Context
  #waits: OpenWaits | null = null

  constructor(outer: Context, turn: Turn) {
    this.#outer = outer
    this.turn = turn
  }

  get run(): RunRef {
    return this.#outer.run
  }

  get log(): Log {
    return this.#outer.log
  }

  get around(): Surroundings {
    return this.#outer.around
  }

  get stateSchema(): Schema | null {
    return this.#outer.stateSchema
  }

  get streamSchema(): Schema | null {
    return this.#outer.streamSchema
  }

  /** What is open outside is open here; what is opened here is not open outside. */
  get waits(): OpenWaits {
    this.#waits ??= new Map(this.#outer.waits)
    return this.#waits
  }

  get executing(): number {
    return this.#outer.executing
  }

  set executing(count: number) {
    this.#outer.executing = count
  }
}

export function stepName(name: unknown): string {
  if (!isStepName(name)) throw nameInvalid('step', name)
  return name
}

export function instantMs(when: unknown, where: string): number {
  const ms =
    when instanceof Date
      ? when.getTime()
      : typeof when === 'object' && when !== null && 'epochMilliseconds' in when
        ? Number(when.epochMilliseconds)
        : Number.NaN
  // Beyond this there is no Date.
  if (Math.abs(ms) <= 8.64e15) return Math.trunc(ms)
  const value = when instanceof Date ? 'an invalid Date' : when
  throw optionInvalid('when', where, value, 'a valid Date, or a value with epochMilliseconds')
}

// The public types of the test kit.

import type { AnyClass, TypesOf } from '../authoring/types.js'
import type { Definition, Duration, Engine, EngineOptions, Step } from '../index.js'

type Part<D, K extends 'parsed' | 'output'> = TypesOf<D>[K]

/** The real engine on a database in memory, with a clock that moves only when told. */
export interface TestEngine<W = unknown> extends Engine<W> {
  now(): Date
  /** Until nothing can go on without time or a message. */
  settle(): Promise<void>
  /** Moves the clock through every due time in order, settling at each. */
  advance(by: Duration): Promise<void>
  /** As kill -9: nothing is released; a new worker takes over. */
  crash(): Promise<void>
  /** Crash once: when that step is next about to run, or has run and is not recorded yet (the default). */
  crashAt(step: string, when?: 'before' | 'after'): void
  /** In the place of a whole definition. Its result is recorded as the real one would be. */
  stub<D extends Definition | AnyClass>(
    target: D,
    fn: (input: Part<D, 'parsed'>, step: Step) => Part<D, 'output'> | Promise<Part<D, 'output'>>,
  ): { readonly calls: readonly Part<D, 'parsed'>[] }
  /** In the place of an inline or transactional step, by its name. */
  stub(
    target: Definition | AnyClass,
    step: string,
    fn: (step: Step) => unknown,
  ): { readonly calls: readonly Step[] }
  /** How often the code of a step ran, stubs included; of a step that is a task, how often the task ran. */
  executions(runId: string, step: string): number
}

export type TestEngineOptions<W> = Omit<EngineOptions<W>, 'database' | 'listen' | 'schema'> & {
  /** Where the clock stands at first. Default: the time at which this process loaded the test kit. */
  now?: Date | undefined
  /** Of ids and of the jitter of retries. Default 1. */
  seed?: number | undefined
  /** Real time that settle() grants to code which does something of its own. Default '2s'. */
  patience?: Duration | undefined
}

// 'perdure' as the programs of the documentation get it in these tests: the sources, on an embedded database in
// memory, with one more workflow by which a test can speak SQL to it.

import type { Engine } from '../../src/index.js'
import { createEngine as create, workflow } from '../../src/index.js'

export * from '../../src/index.js'

export const sql = workflow('docs-sql', (wf, text: string) =>
  wf.transaction('sql', (tx) => tx.query(text)),
)

const made: Engine[] = []

/** Makes this statement part of every database that a program opens. */
let preparation: string | null = null
export function prepare(text: string | null): void {
  preparation = text
}

export async function createEngine(options: { workflows?: readonly unknown[] } = {}) {
  const workflows = [...(options.workflows ?? []), sql] as never
  const engine: Engine = await create({ database: 'memory:', ...options, workflows })
  made.push(engine)
  if (preparation !== null) await engine.run(sql, preparation)
  return engine
}

export function lastEngine(): Engine {
  const engine = made.at(-1)
  if (!engine) throw new Error('the program has made no engine')
  return engine
}

export async function closeAll(): Promise<void> {
  await Promise.all(made.splice(0).map((engine) => engine.close()))
}

/** Moves the clock of the engine's database: days pass in a moment. */
export async function pass(engine: Engine, ms: number): Promise<void> {
  await engine.run(sql, `select set_config('perdure.clock_offset_ms', '${ms}', false)`)
}

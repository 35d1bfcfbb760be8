import { onTestFinished } from 'vitest'
import type { AnyClass } from '../../src/authoring/types.js'
import type { Definition } from '../../src/index.js'
import {
  createTestEngine,
  type TestEngine,
  type TestEngineOptions,
} from '../../src/testing/index.js'

export const quiet = { debug() {}, info() {}, warn() {}, error() {} }

/** A test engine that is closed when the test ends. */
export async function open<const W extends readonly (Definition | AnyClass)[]>(
  workflows: W,
  more: TestEngineOptions<W> = {},
): Promise<TestEngine<W>> {
  const engine = await createTestEngine<W>({ workflows, log: quiet, ...more })
  onTestFinished(() => engine.close())
  return engine
}

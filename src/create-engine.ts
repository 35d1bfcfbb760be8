// createEngine. What an engine is made of is loaded when one is asked for: code that only defines workflows never needs it.

import type { AnyClass, Definition } from './authoring/types.js'
import type { EngineOptions } from './engine/engine-options.js'
import type { Engine } from './engine/types.js'

/** Opens the database, makes its tables if they are not there, and takes up work. */
export async function createEngine<
  const W extends readonly (Definition | AnyClass)[] = readonly [],
>(options: EngineOptions<W> = {}): Promise<Engine<W>> {
  const [{ composeEngine }, { readEngineOptions }] = await Promise.all([
    import('./compose-engine.js'),
    import('./engine/options.js'),
  ])
  return (await composeEngine(readEngineOptions(options, process.env))) as Engine<W>
}

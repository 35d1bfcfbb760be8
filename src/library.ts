// All that an engine can execute: the definitions of its code, and the graphs that are stored.

import type { Made, Surroundings } from './authoring/definition.js'
import { programOf } from './authoring/program.js'
import { throwRecordedAs } from './authoring/recorded.js'
import { makeHttpCaller } from './egress/http-call.js'
import type { Settings } from './engine/options.js'
import { StoredGraphs } from './engine/stored-graphs.js'
import type { Log } from './kernel/ports.js'
import { definitionsFor } from './kernel/scheduling.js'
import type { DefinitionStore } from './kernel/store.js'
import type { Program } from './model/program.js'

export interface Executed {
  readonly programs: readonly Program[]
  readonly learnt: readonly Program[]
}

export interface Library {
  /** Reads what is stored. Throws NAME_TAKEN. */
  open(store: DefinitionStore): Promise<StoredGraphs>
  programs(isStateless?: boolean): Executed
  find(name: string): Made | undefined
}

export function makeLibrary(settings: Settings, log: Log): Library {
  const { definitions, nodeTypes, valueBytesMax, tx, transitionTimeoutMs, events } = settings
  let stored: StoredGraphs | null = null
  const find = (name: string) => definitions.get(name) ?? stored?.current(name)
  const throwRecorded = throwRecordedAs(settings.errors)
  const http = makeHttpCaller(settings.http)
  const { construct } = settings
  const engine = { log, valueBytesMax, throwRecorded, tx, construct, find, events, nodeTypes, http }
  const around = (isStateless: boolean): Surroundings => {
    return { ...engine, transitionTimeoutMs, isStateless }
  }
  const own = (isStateless: boolean) =>
    [...definitions.values()].map((made) => programOf(made, around(isStateless)))
  // Before anything is opened: what cannot be executed is refused without a trace.
  const usual = own(false)
  return {
    async open(store) {
      const types = new Set(nodeTypes.keys())
      const names = new Set(definitions.keys())
      stored = new StoredGraphs({ store: definitionsFor(store), log, types, names })
      await stored.refresh()
      stored.refuseNames()
      return stored
    },
    programs: (isStateless = false) => ({
      programs: isStateless ? own(true) : usual,
      learnt: stored?.programs((made) => programOf(made, around(isStateless))) ?? [],
    }),
    find,
  }
}

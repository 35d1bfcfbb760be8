// What is known of all of it: definitions, workers, counts.

import type { Distribution, Measured } from '../kernel/api.js'
import { optionInvalid } from '../model/errors.js'
import { beforeRead, type Core, found, readFlag, runIdOf, workspaceOf } from './core.js'
import { describe } from './describe.js'
import { exportLines } from './export.js'
import { limitRuns, limits } from './limits.js'
import { optionsObject } from './paged.js'
import type { DistributionInfo, EngineMetrics } from './system-types.js'
import type { Engine } from './types.js'

const LIMIT = ['kind', 'workflow', 'name', 'limit', 'rate', 'used', 'waiting']

export function systemCalls(
  core: Core,
): Pick<
  Engine,
  | 'definitions'
  | 'workers'
  | 'stats'
  | 'metrics'
  | 'limits'
  | 'limitRuns'
  | 'nodeTypes'
  | 'about'
  | 'export'
> {
  const { kernel } = core
  return {
    definitions: () => {
      beforeRead(core)
      return [...core.definitions.keys()].sort().map((name) => describe(core, null, name))
    },
    workers: async () => {
      beforeRead(core)
      return (await kernel.read.workers()).map(
        ({ definitions, startedAt, leaseUntil, ...worker }) => ({
          ...worker,
          startedAt: new Date(startedAt),
          leaseUntil: new Date(leaseUntil),
          workflows: definitions.map(codeOf),
        }),
      )
    },
    stats: async (options?: unknown) => {
      beforeRead(core)
      const { workspace } = optionsObject(options, 'engine.stats', ['workspace'])
      const counts = await kernel.read.counts(
        workspace === undefined ? null : workspaceOf(workspace),
      )
      return counts.map(({ definition: workflow, status, runs }) => ({ workflow, status, runs }))
    },
    metrics: async () => {
      beforeRead(core)
      return metricsOf(await kernel.measured(), await kernel.read.dueLagMs())
    },
    limits: async () => {
      beforeRead(core)
      return limits(kernel.read)
    },
    limitRuns: async (of) => {
      beforeRead(core)
      const where = 'engine.limitRuns'
      const { kind, workflow = null, name = null } = optionsObject(of, where, LIMIT)
      const isKind = kind === 'definition' || kind === 'workspace' || kind === 'key'
      const isNamed = kind === 'definition' ? workflow !== null : name !== null
      if (!isKind || !isNamed) throw optionInvalid('of', where, of, 'one of engine.limits()')
      return limitRuns(kernel.read, {
        kind,
        workflow: workflow === null ? null : String(workflow),
        name: name === null ? null : String(name),
      })
    },
    nodeTypes: () => core.paletteOf(),
    about: () => core.about,
    export: (options) => linesOf(core, options),
  }
}

const EXPORT = ['workspace', 'workflow', 'ids', 'copy', 'unfinished']

async function* linesOf(core: Core, options: unknown): AsyncGenerator<string> {
  beforeRead(core)
  const where = 'engine.export'
  const { workspace, workflow, ids, copy, unfinished } = optionsObject(options, where, EXPORT)
  if (ids !== undefined && !Array.isArray(ids)) throw optionInvalid('ids', where, ids, 'a list')
  const lines = exportLines(core.tools, {
    workspace: workspace === undefined ? null : workspaceOf(workspace),
    definition: workflow === undefined ? null : found(core, where, workflow).name,
    ids: ids === undefined ? null : ids.map(runIdOf),
    isCopy: readFlag(copy, 'copy', where),
    isOpenOnly: readFlag(unfinished, 'unfinished', where),
  })
  for await (const line of lines) yield JSON.stringify(line)
}

function metricsOf({ counters, meters }: Measured, dueLagMs: number): EngineMetrics {
  const steps = [...meters.stepMs].flatMap(([workflow, { completed, failed, again }]) => [
    { workflow, outcome: 'completed' as const, ms: copyOf(completed) },
    { workflow, outcome: 'failed' as const, ms: copyOf(failed) },
    { workflow, outcome: 'again' as const, ms: copyOf(again) },
  ])
  return {
    dueLagMs,
    counters: { ...counters },
    commitDeltas: copyOf(meters.batchDeltas),
    commitMs: copyOf(meters.commitMs),
    steps: steps.filter(({ ms }) => ms.counts.some((count) => count > 0)),
  }
}

function copyOf({ bounds, counts, sum }: Distribution): DistributionInfo {
  return { bounds, counts: [...counts], sum }
}

/** Names have no @, versions may. */
function codeOf(text: string): { readonly name: string; readonly version: string } {
  const at = text.indexOf('@')
  return { name: text.slice(0, at), version: text.slice(at + 1) }
}

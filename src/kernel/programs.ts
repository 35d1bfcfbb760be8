// The definitions that this process can execute, and what it knows of runs by that. Those of its code are there from the beginning;
// others it learns of while it runs, several versions of one name among them.

import { type Counted, countedAt } from '../model/admission.js'
import type { Uid } from '../model/ids.js'
import type { ChildOrder, Program } from '../model/program.js'
import type { RunFacts } from '../model/run.js'
import { childRun } from './child-run.js'
import type { NewRun, Worker } from './store.js'

export class Programs {
  private readonly own: readonly Program[]
  /** Of one name the first is the current version. */
  private byName = new Map<string, readonly Program[]>()
  /** As the store is told. Another list when something has changed. */
  said: Worker['definitions'] = []

  constructor(programs: readonly Program[], learnt: readonly Program[] = []) {
    this.own = programs
    this.learn(learnt)
  }

  /** In the place of what was learnt before. Those of the code stay. */
  learn(programs: readonly Program[]): void {
    const byName = new Map<string, Program[]>()
    for (const program of [...this.own, ...programs]) {
      const versions = byName.get(program.name) ?? []
      byName.set(program.name, [...versions, program])
    }
    this.byName = byName
    this.said = [...byName.values()].flat().map(({ name, version, limits, isStored }) => ({
      name,
      version,
      ...(limits && { limits: limits.rules }),
      ...(isStored && { isStored }),
    }))
  }

  /** `version` null: the current one. */
  get(definition: string, version: string | null): Program | null {
    const versions = this.byName.get(definition) ?? []
    const found = version === null ? versions[0] : versions.find((one) => one.version === version)
    return found ?? null
  }

  versionOf(definition: string): string | null {
    return this.get(definition, null)?.version ?? null
  }

  get areLimited(): boolean {
    return this.said.some(({ limits }) => limits)
  }

  /** Runs of it need a slot, as far as this process knows: of others it assumes so. */
  hasLimits(definition: string): boolean {
    const program = this.get(definition, null)
    return program === null || Boolean(program.limits)
  }

  /** Where a run is counted; null: its definition has no limits. */
  countedAt(run: Pick<NewRun, 'definition' | 'version' | 'workspace' | 'input'>): Counted | null {
    const { definition, version, workspace, input } = run
    const limits = this.get(definition, version)?.limits
    return limits ? countedAt(limits, workspace, input) : null
  }

  childRun(parent: RunFacts, uid: Uid, order: ChildOrder): NewRun {
    const run = childRun(parent, uid, order, this.versionOf(order.definition))
    const limits = this.countedAt(run)
    return limits ? { ...run, limits } : run
  }
}

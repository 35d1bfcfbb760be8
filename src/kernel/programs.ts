// The definitions that this process has the code of, and what it knows of runs by that.

import { type Counted, countedAt } from '../model/admission.js'
import type { Uid } from '../model/ids.js'
import type { ChildOrder, Program } from '../model/program.js'
import type { RunFacts, Stored } from '../model/run.js'
import { DELIVERY } from '../model/webhook.js'
import { childRun } from './child-run.js'
import type { NewRun } from './store.js'

export class Programs {
  readonly byName: ReadonlyMap<string, Program>

  constructor(programs: readonly Program[]) {
    this.byName = new Map(programs.map((program) => [program.name, program]))
  }

  versionOf(definition: string): string | null {
    return this.byName.get(definition)?.version ?? null
  }

  get areLimited(): boolean {
    return [...this.byName.values()].some(({ limits }) => limits)
  }

  /** Deliveries of ends are executed here: they are due with the end. */
  get areEndsTold(): boolean {
    return this.byName.has(DELIVERY)
  }

  /** Runs of it need a slot, as far as this process knows: of others it assumes so. */
  hasLimits(definition: string): boolean {
    const program = this.byName.get(definition)
    return program === undefined || Boolean(program.limits)
  }

  /** Where a run is counted; null: its definition has no limits. */
  countedAt(definition: string, workspace: string, input: Stored): Counted | null {
    const limits = this.byName.get(definition)?.limits
    return limits ? countedAt(limits, workspace, input) : null
  }

  childRun(parent: RunFacts, uid: Uid, order: ChildOrder): NewRun {
    const { definition, input } = order
    const run = childRun(parent, uid, order, this.versionOf(definition))
    const limits = this.countedAt(definition, parent.workspace, input)
    return limits ? { ...run, limits } : run
  }
}

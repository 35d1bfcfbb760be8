// The definitions that this process can execute, and what it knows of runs by that. Those of its code are there from the beginning;
// others it learns of while it runs, several versions of one name among them.

import { type Counted, countedAt, type Limits } from '../model/admission.js'
import type { Uid } from '../model/ids.js'
import type { ChildOrder, Program } from '../model/program.js'
import type { RunFacts } from '../model/run.js'
import { DELIVERY } from '../model/webhook.js'
import type { KernelOptions } from './api.js'
import { childRun } from './child-run.js'
import { ForeignLimits } from './foreign-limits.js'
import { named } from './reading.js'
import type { NewRun, Worker } from './store.js'

export class Programs {
  private readonly own: readonly Program[]
  /** Of one name the first is the current version. */
  private byName = new Map<string, readonly Program[]>()
  /** As the store is told. Another list when something has changed. */
  said: Worker['definitions'] = []

  private readonly foreign: ForeignLimits

  constructor({ programs, learnt = [], store, ports }: KernelOptions) {
    this.own = programs
    this.foreign = new ForeignLimits(ports.clock, () => named(store.read.limitRules()))
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

  /** Deliveries of ends are executed here: they are due with the end. */
  get areEndsTold(): boolean {
    return this.byName.has(DELIVERY)
  }

  /** Runs of it need a slot, as far as this process knows: of others it assumes so. */
  hasLimits(definition: string): boolean {
    const program = this.get(definition, null)
    return program === null || Boolean(program.limits)
  }

  /** Where a run is counted; null: its definition has no limits. Throws what the code that says its key throws. */
  countedAt(run: Facts): Counted | null {
    const limits = this.limitsOf(run)
    return limits && countedAt(limits, run.workspace, run.input)
  }

  private limitsOf({ definition, version }: Facts): Limits | null {
    const program = this.get(definition, version)
    return (program ? program.limits : this.foreign.get(definition)) ?? null
  }

  /** Before a run of it is started: this process need not have it. */
  async ask(definition: string): Promise<void> {
    if (!this.byName.has(definition)) await this.foreign.refresh()
  }

  /** Nobody can wait here: what was heard last counts, and is asked for again. */
  childRun(parent: RunFacts, uid: Uid, order: ChildOrder): NewRun {
    void this.ask(order.definition).catch(() => {})
    const run = childRun(parent, uid, order, this.versionOf(order.definition))
    const limits = this.limitsOf(run)
    return limits ? { ...run, limits: countedLoosely(limits, run) } : run
  }
}

type Facts = Pick<NewRun, 'definition' | 'version' | 'workspace' | 'input'>

/** A child checks its input itself, when it runs: one of which code cannot say the key is counted without it. */
function countedLoosely(limits: Limits, { workspace, input }: Facts): Counted {
  try {
    return countedAt(limits, workspace, input)
  } catch {
    return countedAt({ ...limits, keyOf: null }, workspace, input)
  }
}

// Stored definitions of the store in memory.

import type {
  DefinitionPage,
  DefinitionStore,
  DefinitionText,
  DefinitionVersion,
  NewDefinition,
  Saved,
  StoredDefinition,
} from '../kernel/store.js'
import { type Counted, countedAt, limitsBy } from '../model/admission.js'
import type { Stored } from '../model/run.js'
import { MemorySlots } from './memory-limits.js'
import { MemorySchedules } from './memory-schedules.js'

export class MemoryDefinitions extends MemorySchedules implements DefinitionStore {
  readonly slots = new MemorySlots()
  private readonly stored = new Map<string, StoredDefinition>()
  private readonly texts = new Map<string, DefinitionText[]>()
  private revision = 0

  async saveDefinition(definition: NewDefinition): Promise<Saved> {
    const { name, workspace, json, note, author, expected, limits } = definition
    const { schedules, events } = definition
    const known = this.stored.get(name)
    const texts = this.texts.get(name) ?? []
    const isSame = texts.at(-1)?.json === json
    const now = this.now()
    if (known && known.workspace !== workspace) return { kind: 'taken' }
    if (this.isCode(name)) return { kind: 'code' }
    const isOurs = isSame && known?.version === (expected ?? 0) + 1
    if (expected !== null && expected !== (known?.version ?? 0) && !isOurs) {
      return { kind: 'changed', version: known?.version ?? null }
    }
    const version = isSame ? texts.length : texts.length + 1
    if (!isSame || known?.isArchived) {
      const createdAt = known?.createdAt ?? now
      const isArchived = false
      this.revision += 1
      this.stored.set(name, { name, workspace, version, isArchived, createdAt, updatedAt: now })
    }
    const text = { name, version, note, author, json, createdAt: now }
    if (!isSame) this.texts.set(name, [...texts, text])
    this.slots.say(name, limits)
    const ids = schedules.map(({ id }) => id)
    await this.dropTriggers(name, ids)
    for (const schedule of schedules) await this.putSchedule(schedule)
    await this.subscribe([{ definition: name, to: events }])
    return { kind: isSame ? 'same' : 'saved', version }
  }

  async archiveDefinition(name: string, workspace: string | null): Promise<boolean> {
    const known = this.stored.get(name)
    if (known?.workspace !== workspace) return false
    if (known.isArchived) return true
    this.revision += 1
    this.stored.set(name, { ...known, isArchived: true, updatedAt: this.now() })
    await this.dropTriggers(name, [])
    await this.subscribe([{ definition: name, to: [] }])
    for (const one of await this.schedules({ workspace: null, after: null, limit: Infinity })) {
      if (one.definition === name && !one.isPaused) await this.pauseSchedule(one, true, null)
    }
    return true
  }

  async definition(name: string): Promise<StoredDefinition | null> {
    return this.stored.get(name) ?? null
  }

  async definitions({ workspace, after, limit }: DefinitionPage) {
    return [...this.stored.values()]
      .filter((one) => workspace === null || isFor(one, workspace))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .filter(({ name }) => after === null || name > after)
      .slice(0, limit)
  }

  async definitionTexts(versions: readonly DefinitionVersion[]) {
    return versions.flatMap(({ name, version }) => this.texts.get(name)?.[version - 1] ?? [])
  }

  async definitionVersions(name: string, before: number | null, limit: number) {
    return (this.texts.get(name) ?? [])
      .filter(({ version }) => before === null || version < before)
      .map(({ version, note, author, createdAt }) => ({ version, note, author, createdAt }))
      .reverse()
      .slice(0, limit)
  }

  async usedDefinitions() {
    const open = [...this.openRuns()]
    const used = open.flatMap(({ run, version }) =>
      version?.startsWith('#') ? [`${run.definition}${version}`] : [],
    )
    return {
      revision: this.revision,
      used: [...new Set(used)].sort().map((one) => {
        const [name = '', version] = one.split('#')
        return { name, version: Number(version) }
      }),
    }
  }

  protected override storedVersion(name: string, workspace: string): string | null {
    const known = this.stored.get(name)
    return known && !known.isArchived && isFor(known, workspace) ? `#${known.version}` : null
  }

  protected override limitsOf(name: string, workspace: string, input: Stored): Counted | null {
    const rules = this.slots.rulesOf(name)
    return rules && countedAt(limitsBy(rules), workspace, input)
  }

  protected override isForeign(name: string, workspace: string): boolean {
    const known = this.stored.get(name)
    return known !== undefined && !isFor(known, workspace)
  }

  private isCode(name: string): boolean {
    const now = this.now()
    return [...this.workers.values()].some(
      ({ worker, leaseUntil }) =>
        leaseUntil > now &&
        worker.definitions.some((one) => one.name === name && !one.version.startsWith('#')),
    )
  }

  private async dropTriggers(name: string, but: readonly string[]): Promise<void> {
    for (const { workspace, id } of await this.schedulesOf([name])) {
      if (!but.includes(id)) await this.dropSchedule(workspace, id)
    }
  }
}

const isFor = ({ workspace }: StoredDefinition, asked: string): boolean =>
  workspace === null || workspace === asked

// The stored graphs that this process knows: the current version of each, and the older ones that unfinished runs are of.
//
// Owns:      what was read of them, and up to which revision.
// Talks to:  the store, which says what has changed; whoever executes them, and learns of them here.
//
// Invariants
//   S1. What is asked of it about one that others may have changed is asked of the database: a start is of the version that is current then.
//   S2. A version that unfinished runs are of is known in every process, at the latest a second after it has become so.

import type { Made } from '../authoring/definition.js'
import { graphMade } from '../authoring/graph/graph.js'
import type { GraphMade } from '../authoring/graph/graph-made.js'
import { readGraph } from '../authoring/graph/read.js'
import type { Log } from '../authoring/types.js'
import type {
  DefinitionStore,
  DefinitionText,
  DefinitionVersion,
  StoredDefinition,
} from '../kernel/store.js'
import type { Program } from '../model/program.js'
import { confined } from './confined-program.js'
import { nameTaken } from './errors.js'

/** No code has such a version (0008, D3). */
const MARK = '#'
const HEADS_PAGE = 1_000
const TEXTS_PAGE = 50
/** A start is stored soon after, and then the version is in use. */
const NEEDED_MAX = 100

export interface StoredGraphsDeps {
  readonly store: DefinitionStore
  readonly log: Log
  /** Names of the types of nodes that users have registered. */
  readonly types: ReadonlySet<string>
  /** Of the code of this process. */
  readonly names: ReadonlySet<string>
}

interface Read {
  readonly made: GraphMade
  /** Whether all types of its nodes are here: else others execute it. */
  readonly isExecutable: boolean
}

export class StoredGraphs {
  private readonly deps: StoredGraphsDeps
  private heads: ReadonlyMap<string, StoredDefinition> = new Map()
  /** null: it cannot be read by this version of the engine. */
  private known = new Map<string, Read | null>()
  /** Versions that this process needs, whatever the others do. */
  private readonly needed = new Map<string, DefinitionVersion>()
  private revision = -1
  private last: Promise<void> = Promise.resolve()
  /** Who executes them. */
  learns: (() => Promise<void>) | null = null

  constructor(deps: StoredGraphsDeps) {
    this.deps = deps
  }

  /** Looks at what has changed; when it resolves, all that was stored before the call is known. */
  refresh(): Promise<void> {
    const mine = this.last.then(() => this.look())
    this.last = mine.catch(() => {})
    return mine
  }

  /** Throws if code has the name of one: a start of that name would be of either. */
  refuseNames(): void {
    for (const { name, isArchived } of this.heads.values()) {
      if (!isArchived && this.deps.names.has(name)) throw nameTaken(name, 'stored')
    }
  }

  /** As this process knows it. */
  head(name: string): StoredDefinition | null {
    return this.heads.get(name) ?? null
  }

  /** S1. Where nothing is stored nothing is asked. */
  async lookUp(name: string): Promise<StoredDefinition | null> {
    return this.revision === 0 ? null : await this.deps.store.definition(name)
  }

  /** The current version, as this process knows it. */
  current(name: string): GraphMade | undefined {
    const head = this.heads.get(name)
    return head && !head.isArchived ? this.known.get(keyOf(head))?.made : undefined
  }

  /** A version that somebody here is about to need. null: there is none. */
  async need(one: DefinitionVersion): Promise<GraphMade | null> {
    const { name, version } = one
    if (!this.known.has(keyOf(one))) {
      this.needed.set(keyOf(one), { name, version })
      const [oldest] = this.needed.keys()
      if (oldest && this.needed.size > NEEDED_MAX) this.needed.delete(oldest)
      await this.refresh()
    }
    const read = this.known.get(keyOf(one))
    if (read === undefined) this.needed.delete(keyOf(one))
    return read?.made ?? null
  }

  /** Of the version that a run is of. */
  async needFor(definition: string, version: string | null): Promise<Made | null> {
    if (!version?.startsWith(MARK)) return null
    return this.need({ name: definition, version: Number(version.slice(MARK.length)) })
  }

  /** All that can be executed here; of one name the current version first. */
  programs(programOf: (made: GraphMade) => Program): readonly Program[] {
    const all = [...this.known.values()].filter((read) => read !== null)
    const isCurrent = ({ made }: Read) => this.current(made.name) === made
    const inOrder = [...all.filter(isCurrent), ...all.filter((read) => !isCurrent(read))]
    return inOrder.flatMap(({ made, isExecutable }) => {
      const owner = this.heads.get(made.name)?.workspace ?? null
      return isExecutable ? [confined(programOf(made), owner)] : []
    })
  }

  private async look(): Promise<void> {
    const { revision, used } = await this.deps.store.usedDefinitions()
    const asked = [...used, ...this.needed.values()]
    const isSame = revision === this.revision && asked.every((one) => this.known.has(keyOf(one)))
    if (isSame) return
    const heads = revision === this.revision ? [...this.heads.values()] : await this.allHeads()
    const current = heads.filter(({ isArchived }) => !isArchived)
    this.known = await this.read([...current, ...asked])
    // Somebody has deleted it behind our back: it is not looked for every second.
    for (const one of used) if (!this.known.has(keyOf(one))) this.known.set(keyOf(one), null)
    this.heads = new Map(heads.map((head) => [head.name, head]))
    this.revision = revision
    await this.learns?.()
  }

  private async allHeads(): Promise<StoredDefinition[]> {
    const heads: StoredDefinition[] = []
    for (let isMore = true; isMore; ) {
      const after = heads.at(-1)?.name ?? null
      const page = { workspace: null, after, limit: HEADS_PAGE }
      const part = await this.deps.store.definitions(page)
      heads.push(...part)
      isMore = part.length === HEADS_PAGE
    }
    return heads
  }

  /** What is known already is not read again: a version never changes. */
  private async read(wanted: readonly DefinitionVersion[]): Promise<Map<string, Read | null>> {
    const read = new Map<string, Read | null>()
    const missing = new Map<string, DefinitionVersion>()
    for (const one of wanted) {
      const known = this.known.get(keyOf(one))
      if (known === undefined) missing.set(keyOf(one), one)
      else read.set(keyOf(one), known)
    }
    const all = [...missing.values()]
    for (let from = 0; from < all.length; from += TEXTS_PAGE) {
      const texts = await this.deps.store.definitionTexts(all.slice(from, from + TEXTS_PAGE))
      for (const text of texts) read.set(keyOf(text), this.readOne(text))
    }
    return read
  }

  private readOne({ name, version, json: text }: DefinitionText): Read | null {
    const { log, types } = this.deps
    try {
      const json: unknown = JSON.parse(text)
      const made = { ...graphMade(json), version: `${MARK}${version}` }
      return { made, isExecutable: this.isExecutable(json, types) }
    } catch (error) {
      log.warn(`graph "${name}" version ${version} cannot be read by this engine`, { error })
      return null
    }
  }

  private isExecutable(json: unknown, types: ReadonlySet<string>): boolean {
    try {
      readGraph(json, types)
      return true
    } catch {
      return false
    }
  }
}

const keyOf = ({ name, version }: DefinitionVersion): string => `${name}${MARK}${version}`

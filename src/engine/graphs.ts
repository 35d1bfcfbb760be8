// engine.graphs: what people do to graphs that are stored.

import { checkGraph } from '../authoring/graph/check.js'
import { checkExpression } from '../authoring/graph/check-expression.js'
import type { GraphMade } from '../authoring/graph/graph-made.js'
import { graphInvalid } from '../authoring/graph/problems.js'
import type { GraphJson } from '../authoring/graph/types.js'
import type { NewDefinition, StoredDefinition } from '../kernel/store.js'
import { nameInvalid, optionInvalid, valueTooLarge } from '../model/errors.js'
import { DEFINITION_NAME } from '../model/ids.js'
import { GRAPH_BYTES_MAX } from '../model/limits.js'
import { nextSlot, slotAt } from '../model/schedule.js'
import { beforeRead, beforeWrite, type Core, DEFAULT_WORKSPACE } from './core.js'
import { definitionUnknown, nameTaken, versionChanged } from './errors.js'
import type { Graphs, GraphVersion, StoredGraph } from './graph-types.js'
import { optionsObject, paged, pageOf, readPage } from './paged.js'
import { cronsOf, eventsOf } from './triggers.js'
import type { Paged } from './types.js'
import { webhooksOf } from './webhooks.js'

const NOTE_MAX = 1_000
const PAGE = ['limit', 'after']

/** `confined`: the workspace of the client, whose graphs are that one's; null: all workspaces have what it stores. */
export function graphCalls(core: Core, confined: string | null): Graphs {
  const { definitions } = core.kernel
  const seen = async (name: unknown): Promise<StoredDefinition | null> => {
    const head = await definitions.definition(nameOf(name))
    const isSeen = confined === null || head?.workspace === null || head?.workspace === confined
    return isSeen ? head : null
  }
  const calls = {
    validate: (json: unknown) => ({ problems: checkGraph(json, core.nodeTypes).problems }),
    checkExpression: (cel: unknown, at?: unknown) => {
      const where = 'engine.graphs.checkExpression'
      if (typeof cel !== 'string') throw optionInvalid('cel', where, cel, 'a text')
      const { graph, node = null } = optionsObject(at, where, ['graph', 'node'])
      const isNode = node === null || (typeof node === 'string' && graph !== undefined)
      const checked = isNode ? checkExpression(cel, graph, node as string, core.nodeTypes) : null
      if (checked === null) throw optionInvalid('node', where, node, 'the id of a node of `graph`')
      return checked
    },
    save: async (json: unknown, options?: unknown) => {
      beforeWrite(core, 'graphs.save')
      return save(core, confined, json, options)
    },
    get: async (name: unknown, options?: unknown) => {
      beforeRead(core)
      const where = 'engine.graphs.get'
      const { version } = optionsObject(options, where, ['version'])
      const asked = version === undefined ? null : whole('version', version, where, 1)
      const head = await seen(name)
      if (head === null) return null
      const of = { name: head.name, version: asked ?? head.version }
      const [text] = await definitions.definitionTexts([of])
      if (!text) return null
      const { note, author, createdAt } = text
      const json = JSON.parse(text.json) as GraphJson
      const about = { version: of.version, note, author, createdAt: new Date(createdAt) }
      return { ...infoOf(head), ...about, json }
    },
    list: (options?: unknown) => list(core, confined, options),
    versions: (name: unknown, options?: unknown) => versions(core, () => seen(name), name, options),
    archive: async (name: unknown) => {
      beforeWrite(core, 'graphs.archive')
      const head = await seen(name)
      // The engine itself may put away those of every workspace; a workspace its own alone.
      const owner = confined ?? head?.workspace ?? null
      const isDone = head && (await definitions.archiveDefinition(head.name, owner))
      if (!isDone) throw definitionUnknown(String(name))
      await core.kernel.webhooks.putWebhooks([head.name], [])
      await changed(core)
    },
  }
  return calls as unknown as Graphs
}

async function save(core: Core, workspace: string | null, given: unknown, options: unknown) {
  const where = 'engine.graphs.save'
  const { expected, note, author } = optionsObject(options, where, ['expected', 'note', 'author'])
  const { made, text, bytes, problems } = checkGraph(given, core.nodeTypes)
  if (bytes > GRAPH_BYTES_MAX) {
    throw valueTooLarge({ where: 'a graph', bytes, bytesMax: GRAPH_BYTES_MAX, exact: true })
  }
  if (made === null) throw graphInvalid(idOf(given), problems)
  if (core.definitions.has(made.name)) throw nameTaken(made.name, 'code')
  const saved = await core.kernel.definitions.saveDefinition({
    name: made.name,
    workspace,
    json: text,
    note: noteOf('note', note, where),
    author: noteOf('author', author, where),
    expected: expected === undefined ? null : whole('expected', expected, where, 0),
    limits: made.limits?.rules ?? null,
    schedules: await schedulesOf(core, made, workspace),
    events: eventsOf(made),
  })
  switch (saved.kind) {
    case 'taken':
      throw nameTaken(made.name, 'stored')
    case 'code':
      throw nameTaken(made.name, 'code')
    case 'changed':
      throw versionChanged(made.name, Number(expected), saved.version)
    case 'saved':
    case 'same':
      // Behind it: who is interrupted here saves again, which is the same version.
      await storeWebhooksOf(core, made, workspace)
      await changed(core)
      return { name: made.name, version: saved.version, isNew: saved.kind === 'saved' }
  }
}

async function storeWebhooksOf(core: Core, made: GraphMade, workspace: string | null) {
  const webhooks = webhooksOf(made, workspace ?? DEFAULT_WORKSPACE)
  await core.kernel.webhooks.putWebhooks([made.name], webhooks)
}

async function changed({ stored, publishSaved }: Core): Promise<void> {
  await stored.refresh()
  publishSaved()
}

async function schedulesOf(
  core: Core,
  made: GraphMade,
  workspace: string | null,
): Promise<NewDefinition['schedules']> {
  const crons = await cronsOf(core, made, workspace ?? DEFAULT_WORKSPACE)
  return crons.map((cron) => {
    const slot = nextSlot(cron.spec, core.kernel.now())
    const next = slot === null ? null : { slot, at: slotAt(cron.spec, cron.id, slot) }
    return { ...cron, next }
  })
}

function list(core: Core, confined: string | null, options: unknown): Paged<StoredGraph> {
  beforeRead(core)
  const where = 'engine.graphs.list'
  const given = optionsObject(options, where, PAGE)
  const usual = { limit: 50, order: 'oldest' as const, cursor: DEFINITION_NAME }
  const { limit, after } = readPage(given, where, usual)
  return paged(after, async (behind) => {
    beforeRead(core)
    const page = { workspace: confined, after: behind, limit: limit + 1 }
    const heads = await core.kernel.definitions.definitions(page)
    return pageOf(heads, limit, infoOf, ({ name }) => name)
  })
}

function versions(
  core: Core,
  seen: () => Promise<StoredDefinition | null>,
  name: unknown,
  options: unknown,
): Paged<GraphVersion> {
  beforeRead(core)
  const where = 'engine.graphs.versions'
  const given = optionsObject(options, where, PAGE)
  const usual = { limit: 50, order: 'newest' as const, cursor: /^\d{1,9}$/ }
  const { limit, after } = readPage(given, where, usual)
  return paged(after, async (behind) => {
    beforeRead(core)
    const head = await seen()
    if (head === null) throw definitionUnknown(String(name))
    const before = behind === null ? null : Number(behind)
    const rows = await core.kernel.definitions.definitionVersions(head.name, before, limit + 1)
    const item = ({ createdAt, ...row }: (typeof rows)[number]) => {
      return { ...row, createdAt: new Date(createdAt) }
    }
    return pageOf(rows, limit, item, ({ version }) => String(version))
  })
}

function infoOf({ name, version, workspace, isArchived, ...times }: StoredDefinition): StoredGraph {
  const [createdAt, updatedAt] = [new Date(times.createdAt), new Date(times.updatedAt)]
  return { name, version, workspace, isArchived, createdAt, updatedAt }
}

function nameOf(name: unknown): string {
  if (typeof name !== 'string' || !DEFINITION_NAME.test(name)) throw nameInvalid('graph', name)
  return name
}

/** For a message. */
function idOf(given: unknown): string {
  const { id } = (given ?? {}) as { readonly id?: unknown }
  return typeof id === 'string' ? id.slice(0, 128) : '(unknown)'
}

function noteOf(option: string, note: unknown, where: string): string | null {
  if (note === undefined) return null
  const isText = typeof note === 'string' && note.length <= NOTE_MAX
  if (isText && !note.includes('\0') && note.isWellFormed()) return note
  throw optionInvalid(option, where, note, `a text of up to ${NOTE_MAX} characters`)
}

function whole(option: string, value: unknown, where: string, least: number): number {
  const isWhole = Number.isInteger(value) && Number(value) <= 1_000_000_000
  if (isWhole && Number(value) >= least) return Number(value)
  throw optionInvalid(option, where, value, `a whole number from ${least}`)
}

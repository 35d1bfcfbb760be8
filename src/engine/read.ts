// get, list, history, explain: what is stored, and what follows from it at the moment of reading.

import { instantMs } from '../authoring/function/context.js'
import type { RunFilter, RunReader, RunView } from '../kernel/store.js'
import { optionInvalid, runNotFound } from '../model/errors.js'
import type { RunId, Uid } from '../model/ids.js'
import { ENTRIES_MAX } from '../model/limits.js'
import { type Entry, FINAL_STATUSES, type Status, type WaitReason } from '../model/run.js'
import {
  addressOf,
  beforeRead,
  type Core,
  DEFAULT_WORKSPACE,
  found,
  runIdOf,
  workspaceOf,
} from './core.js'
import { explain } from './explain.js'
import { hasCode, isDueForCode, isWithoutSlot, journalEntry, runInfo } from './info.js'
import { whyNoSlot } from './limits.js'
import { optionsObject, PAGE_OPTIONS, paged, pageOf, readPage } from './paged.js'
import type { Explanation, JournalEntry, Page, Paged, RunInfo } from './types.js'

const STATUSES: readonly string[] = ['pending', 'running', 'waiting', ...FINAL_STATUSES]
const KINDS: readonly string[] = ['workflow', 'task', 'machine', 'graph']
const REASONS: readonly string[] = [
  'signal',
  'event',
  'timer',
  'retry',
  'child',
  'slot',
  'paused',
  'diverged',
  'missing-code',
] satisfies WaitReason[]
const FILTERS = [
  ...PAGE_OPTIONS,
  'workflow',
  'status',
  'reason',
  'workspace',
  'tags',
  'parentId',
  'createdAfter',
  'createdBefore',
  'text',
  'kind',
]
export const UID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** Far enough back to find what a parked run waits for. */
export const ENTRIES_LOOKED_AT = 200
/** The same for lists, where few questions are open. */
const ENTRIES_OF_LISTED = 50

type Given = Readonly<Record<string, unknown>>

export async function viewOf(core: Core, workspace: string, id: unknown): Promise<RunView> {
  const address = addressOf(workspace, id)
  const view = await core.kernel.read.get(address.workspace, address.id)
  if (view === null) throw runNotFound(address.id)
  return view
}

export async function infoOf(core: Core, view: RunView): Promise<RunInfo> {
  const { read } = core.kernel
  const [live, children, entries] = await Promise.all([
    isDueForCode(view, core.kernel.now()) ? read.liveDefinitions() : null,
    view.reason === 'child' ? read.openChildren(view.uid) : [],
    lastEntries(core, view),
  ])
  const missingCode = live !== null && !hasCode(view, live)
  const { definitions } = core
  const lacksSlot = isWithoutSlot(view, core.kernel.now())
  const info = runInfo(view, { definitions, missingCode, lacksSlot, children, entries })
  const attempt = failedAttempt(view, entries)
  return attempt === null || !info.error ? info : { ...info, error: { ...info.error, attempt } }
}

/** Of one with open undos all of them. */
async function lastEntries(core: Core, view: RunView): Promise<readonly Entry[]> {
  const { status, undoOpen, uid } = view
  if (status === 'completed' || status === 'pending') return []
  const limit = undoOpen > 0 ? ENTRIES_MAX : ENTRIES_LOOKED_AT
  return core.kernel.read.history(uid, { after: null, limit, newestFirst: true })
}

/** The end of a run names the step that failed; how often it was tried is in the entry of that failure. */
function failedAttempt(view: RunView, entries: readonly Entry[]): number | null {
  const { name, occurrence } = view.end?.meta ?? {}
  if (view.status !== 'failed' || name === undefined) return null
  const failed = entries.find(
    (entry) => entry.attempt > 0 && entry.name === name && entry.occurrence === occurrence,
  )
  return failed?.attempt ?? null
}

export function list(core: Core, workspace: string | null, filter: unknown): Paged<RunInfo> {
  beforeRead(core)
  const given = optionsObject(filter, 'engine.list', FILTERS)
  const settings = readPage(given, 'engine.list', { limit: 50, order: 'newest', cursor: UID })
  const { limit } = settings
  const base = readFilter(core, workspace, given)
  const page = { newestFirst: settings.newestFirst, limit: limit + 1 }
  const load = async (after: string | null): Promise<Page<RunInfo>> => {
    beforeRead(core)
    const views = await core.kernel.read.list({ ...base, ...page, after: after as Uid | null })
    const infos = await infosOf(core, views, ENTRIES_OF_LISTED)
    const { items, next } = pageOf(views, limit, String, (view) => view.uid)
    return { items: infos.slice(0, items.length), next }
  }
  return paged(settings.after, load)
}

/** Many at once, with `limit` of their newest entries: one question for all of them. */
export async function infosOf(
  core: Core,
  views: readonly RunView[],
  limit: number,
): Promise<readonly RunInfo[]> {
  const { read } = core.kernel
  const now = core.kernel.now()
  const open = views.filter(
    ({ finishedAt, startedAt }) => finishedAt === null && startedAt !== null,
  )
  const [live, recent] = await Promise.all([
    views.some((view) => isDueForCode(view, now)) ? read.liveDefinitions() : [],
    open.length === 0
      ? null
      : read.recent(
          open.map(({ uid }) => uid),
          limit,
        ),
  ])
  return views.map((view) => {
    const missingCode = isDueForCode(view, now) && !hasCode(view, live)
    const lacksSlot = isWithoutSlot(view, now)
    const entries = recent?.get(view.uid) ?? []
    return runInfo(view, { definitions: core.definitions, missingCode, lacksSlot, entries })
  })
}

function readFilter(
  core: Core,
  workspace: string | null,
  given: Given,
): Omit<RunFilter, 'after' | 'newestFirst' | 'limit'> {
  const where = 'engine.list'
  const { createdAfter, createdBefore, parentId, text, reason } = given
  if (text !== undefined && typeof text !== 'string') {
    throw optionInvalid('text', where, text, 'part of a run id, or of the value of a tag')
  }
  if (reason !== undefined && !REASONS.includes(String(reason))) {
    throw optionInvalid('reason', where, reason, `one of ${REASONS.join(', ')}`)
  }
  const asked = given.workspace === undefined ? workspace : workspaceOf(given.workspace)
  if (workspace !== null && asked !== workspace) {
    throw optionInvalid(
      'workspace',
      where,
      asked,
      `"${workspace}", to which this client is confined`,
    )
  }
  return {
    workspace: asked,
    definition: given.workflow === undefined ? null : found(core, 'list', given.workflow).name,
    statuses: readStatuses(given.status, where),
    reason: (reason as WaitReason | undefined) ?? null,
    tags: readTags(given.tags, where),
    parentId: parentId === undefined ? null : (runIdOf(parentId) as RunId),
    createdAfter: createdAfter === undefined ? null : instantMs(createdAfter, where),
    createdBefore: createdBefore === undefined ? null : instantMs(createdBefore, where),
    text: text ?? null,
    kind: readKind(core, given.kind, where),
  }
}

function readKind(core: Core, kind: unknown, where: string): NonNullable<RunFilter['kind']> | null {
  if (kind === undefined) return null
  if (typeof kind !== 'string' || !KINDS.includes(kind)) {
    throw optionInvalid('kind', where, kind, `one of ${KINDS.join(', ')}`)
  }
  const known = new Map([...core.definitions.values()].map((made) => [made.name, made.kind]))
  return { is: kind, known }
}

/** One or many; both spellings of cancelled. */
function readStatuses(status: unknown, where: string): readonly Status[] | null {
  if (status === undefined) return null
  return (Array.isArray(status) ? status : [status]).map((one: unknown) => {
    const known = one === 'canceled' ? 'cancelled' : one
    if (typeof known === 'string' && STATUSES.includes(known)) return known as Status
    throw optionInvalid('status', where, one, `one of ${STATUSES.join(', ')}`)
  })
}

function readTags(tags: unknown, where: string): Readonly<Record<string, string>> {
  if (tags === undefined) return {}
  const ok = typeof tags === 'object' && tags !== null && !Array.isArray(tags)
  if (ok && Object.values(tags).every((value) => typeof value === 'string')) {
    return tags as Record<string, string>
  }
  throw optionInvalid('tags', where, tags, 'an object of texts')
}

export function history(
  core: Core,
  workspace: string | null,
  id: unknown,
  options: unknown,
): Paged<JournalEntry> {
  return entryPages(
    core,
    { workspace, id, options, call: 'engine.history' },
    (uid, page) => core.kernel.read.history(uid, page),
    async () => journalEntry,
  )
}

type EntryPage = Parameters<RunReader['history']>[1]

/** Entries of a run in pages, each as `itemOf` tells it. */
export function entryPages<E>(
  core: Core,
  of: {
    readonly workspace: string | null
    readonly id: unknown
    readonly options: unknown
    readonly call: string
  },
  load: (uid: Uid, page: EntryPage) => Promise<readonly Entry[]>,
  itemOf: (uid: Uid) => Promise<(entry: Entry) => E>,
): Paged<E> {
  beforeRead(core)
  const { call, id, workspace } = of
  const given = optionsObject(of.options, call, PAGE_OPTIONS)
  const usual = { limit: 100, order: 'oldest', cursor: /^\d{1,9}$/ } as const
  const { limit, after, newestFirst } = readPage(given, call, usual)
  let uid: Uid | null = null
  /** Deleted between two pages: rather an error than half a history. */
  const stillThere = async (): Promise<void> => {
    const view = await viewOf(core, workspace ?? DEFAULT_WORKSPACE, id)
    if (view.uid !== uid) throw runNotFound(view.id)
  }
  return paged(after, async (cursor) => {
    beforeRead(core)
    uid ??= (await viewOf(core, workspace ?? DEFAULT_WORKSPACE, id)).uid
    const page = { after: cursor === null ? null : Number(cursor), limit: limit + 1, newestFirst }
    const entries = await load(uid, page)
    if (cursor !== null && entries.length === 0) await stillThere()
    return pageOf(entries, limit, await itemOf(uid), (entry) => String(entry.seq))
  })
}

export async function explainRun(core: Core, view: RunView): Promise<Explanation> {
  const { read } = core.kernel
  const page = { after: null, limit: ENTRIES_LOOKED_AT, newestFirst: true }
  const now = core.kernel.now()
  const [entries, children, live, noSlot] = await Promise.all([
    view.finishedAt === null ? read.history(view.uid, page) : [],
    view.reason === 'child' ? read.openChildren(view.uid) : [],
    view.finishedAt === null ? read.liveDefinitions() : [],
    isWithoutSlot(view, now) ? whyNoSlot(read, view) : null,
  ])
  return explain({ view, entries, children, live, now, noSlot })
}

// activity, inbox, stepStats, at: many runs at once, for those who look at them.

import { storedDocument } from '../authoring/document-draft.js'
import type { StoredDocument } from '../authoring/document-types.js'
import { instantMs } from '../authoring/function/context.js'
import { optionInvalid } from '../model/errors.js'
import type { Uid } from '../model/ids.js'
import { runAt } from './at.js'
import { beforeRead, type Core, found } from './core.js'
import type { Spaced } from './operate.js'
import { optionsObject, paged, pageOf, readPage } from './paged.js'
import { ENTRIES_LOOKED_AT, infosOf, UID, viewOf } from './read.js'
import type { Activity, ActivityBucket, InboxItem, Paged, RunInfo, StepStats } from './types.js'

const DAY_MS = 24 * 3_600_000
const BUCKETS = 48
const BUCKETS_MAX = 500
const DOCUMENTS_MAX = 20
/** Runs, entries of each, and of all of them, that statistics are made of. */
const STATS = { runsMax: 2_000, entriesMax: 500, entriesOfAll: 100_000 } as const

type Given = Readonly<Record<string, unknown>>
type SpaceOf = (options: Spaced, call: string) => string

/** `own`: the workspace of the client; `spaceOf`: the one that options name, if the client may go there. */
export function insightCalls(core: Core, own: string, spaceOf: SpaceOf) {
  return {
    activity: async (options?: unknown) => activity(core, spaceOf, options),
    inbox: (options?: unknown) => inbox(core, spaceOf, options),
    stepStats: async (target: unknown, options?: unknown) =>
      stepStats(core, spaceOf, target, options),
    at: async (id: unknown, seq?: unknown) => {
      beforeRead(core)
      return runAt(core, await viewOf(core, own, id), seq)
    },
  }
}

async function activity(core: Core, spaceOf: SpaceOf, options: unknown): Promise<Activity> {
  beforeRead(core)
  const where = 'engine.activity'
  const given = optionsObject(options, where, ['workspace', 'workflow', 'from', 'to', 'buckets'])
  const { buckets = BUCKETS } = given
  if (!Number.isInteger(buckets) || Number(buckets) < 1 || Number(buckets) > BUCKETS_MAX) {
    throw optionInvalid('buckets', where, buckets, `a whole number from 1 to ${BUCKETS_MAX}`)
  }
  const to = given.to === undefined ? core.kernel.now() : instantMs(given.to, where)
  const from = given.from === undefined ? to - DAY_MS : instantMs(given.from, where)
  if (from >= to) throw optionInvalid('from', where, new Date(from), 'a moment before `to`')
  const bucketMs = Math.ceil((to - from) / Number(buckets))
  const window = { ...runsOf(core, spaceOf, given, 'activity'), from, to, bucketMs }
  const counts = await core.kernel.read.activity(window)
  const items = Array.from({ length: Math.ceil((to - from) / bucketMs) }, (_, i) => ({
    at: new Date(from + i * bucketMs),
    ...NOTHING,
  }))
  for (const { bucket, what, runs } of counts) {
    const item = items[bucket]
    if (item) item[what === 'timed_out' ? 'timedOut' : what] = runs
  }
  return { from: new Date(from), to: new Date(to), bucketMs, items }
}

const NOTHING: { -readonly [K in Exclude<keyof ActivityBucket, 'at'>]: number } = {
  started: 0,
  completed: 0,
  failed: 0,
  cancelled: 0,
  timedOut: 0,
}

function runsOf(core: Core, spaceOf: SpaceOf, given: Given, call: string) {
  const { workspace, workflow } = given
  return {
    workspace: spaceOf({ workspace }, call),
    definition: workflow === undefined ? null : found(core, call, workflow).name,
  }
}

function inbox(core: Core, spaceOf: SpaceOf, options: unknown): Paged<InboxItem> {
  beforeRead(core)
  const where = 'engine.inbox'
  const given = optionsObject(options, where, ['workspace', 'workflow', 'limit', 'after'])
  const { limit, after } = readPage(given, where, { limit: 20, order: 'oldest', cursor: UID })
  const of = runsOf(core, spaceOf, given, 'inbox')
  const { read } = core.kernel
  return paged(after, async (cursor) => {
    beforeRead(core)
    const views = await read.inbox({ ...of, after: cursor as Uid | null, limit: limit + 1 })
    const uids = views.slice(0, limit).map(({ uid }) => uid)
    const [infos, documents] = await Promise.all([
      infosOf(core, views, ENTRIES_LOOKED_AT),
      uids.length === 0 ? new Map() : read.visible(uids, DOCUMENTS_MAX),
    ])
    const items = views.map((view, i) => ({ uid: view.uid, info: infos[i] }))
    const itemOf = ({ uid, info }: (typeof items)[number]): InboxItem =>
      inboxItem(info as RunInfo, (documents.get(uid) ?? []).map(storedDocument))
    return pageOf(items, limit, itemOf, ({ uid }) => uid)
  })
}

function inboxItem(info: RunInfo, documents: readonly StoredDocument[]): InboxItem {
  const { id, workflow, version, workspace, kind, place, hasError, error, tags, updatedAt } = info
  const [until, available] =
    info.status === 'waiting' ? [info.until, info.available] : ([null, []] as const)
  const names = { id, workflow, version, workspace, kind, place, hasError, error, tags }
  return { ...names, since: updatedAt, until, available, documents }
}

async function stepStats(
  core: Core,
  spaceOf: SpaceOf,
  target: unknown,
  options: unknown,
): Promise<StepStats> {
  beforeRead(core)
  const where = 'engine.stepStats'
  const { name: workflow } = found(core, 'stepStats', target)
  const { workspace, from: since } = optionsObject(options, where, ['workspace', 'from'])
  const from = since === undefined ? null : instantMs(since, where)
  const of = { workspace: spaceOf({ workspace }, 'stepStats'), definition: workflow, from }
  const { runs, isWhole, steps } = await core.kernel.read.stepCounts({ ...of, ...STATS })
  const rounded = (ms: number | null) => (ms === null ? null : Math.round(ms))
  const items = steps.map(({ p50Ms, p95Ms, ...step }) => {
    return { ...step, p50Ms: rounded(p50Ms), p95Ms: rounded(p95Ms) }
  })
  return { workflow, from: from === null ? null : new Date(from), runs, isWhole, items }
}

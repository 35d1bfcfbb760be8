// Events, and the server itself: workers, limits, counts, health, metrics.

import { z } from '@hono/zod-openapi'
import type { Engine, LimitInfo, RunCount } from '../../index.js'
import { METRICS_TYPE, metricsText } from '../metrics.js'
import { isReady } from '../ready.js'
import { Answer, type Call, route } from '../route.js'
import { moment, orNull } from '../schemas.js'
import { limitQuery, limitRuns, me } from '../schemas-insight.js'
import { checkWorkspace, given, isCode, isKnown, sameKey } from './shared.js'

const tag = 'system'

const emit = route({
  method: 'POST',
  path: '/events',
  role: 'operator',
  tag: 'events',
  summary: 'An event for every run of the workspace that waits for it, and for triggers.',
  body: z.strictObject({
    name: z.string(),
    payload: z.unknown().optional(),
    id: z.string().optional(),
    workspace: z.string().optional(),
  }),
  handle: async (call) => {
    const { client, body, key } = call
    checkWorkspace(call, body.workspace)
    await client.emit(
      body.name as never,
      body.payload as never,
      given({ id: sameKey(key, body.id) }),
    )
  },
})

const workers = route({
  method: 'GET',
  path: '/workers',
  role: 'viewer',
  tag,
  summary: 'The processes that are there, and which definitions each has.',
  answer: z.object({
    items: z.array(
      z.object({
        id: z.string(),
        build: z.string(),
        isAlive: z.boolean(),
        startedAt: moment,
        leaseUntil: moment,
        runs: z.number(),
        workflows: z.array(z.object({ name: z.string(), version: z.string() })),
      }),
    ),
  }),
  handle: async ({ engine, caller }) => {
    const all = await engine.workers()
    if (caller.workspaces === '*') return { items: all }
    return { items: all.map((one) => ({ ...one, workflows: one.workflows.filter(isCode) })) }
  },
})

const limits = route({
  method: 'GET',
  path: '/limits',
  role: 'viewer',
  tag,
  summary: 'All limits: what is allowed, how many have a slot, how many wait for one.',
  answer: z.object({
    items: z.array(
      z.object({
        kind: z.enum(['definition', 'workspace', 'key']),
        workflow: orNull(z.string()),
        name: orNull(z.string()),
        limit: orNull(z.number()),
        rate: orNull(z.object({ runs: z.number(), perMs: z.number() })),
        used: z.number(),
        waiting: z.number(),
      }),
    ),
  }),
  handle: async (call) => {
    const all = await call.engine.limits()
    const items: (typeof all)[number][] = []
    for (const one of all) if (await isSeen(call as Call, one)) items.push(one)
    return { items }
  },
})

/** Keys, names of workspaces and of what is stored for them are those of customers. */
async function isSeen(
  { caller, engine, client, workspace }: Call,
  { kind, workflow, name }: Pick<LimitInfo, 'kind' | 'workflow' | 'name'>,
): Promise<boolean> {
  if (caller.workspaces === '*') return true
  if (kind === 'workspace') return name === workspace
  return kind === 'definition' && (await isKnown(engine, client, workflow))
}

const atLimit = route({
  method: 'GET',
  path: '/limits/runs',
  role: 'viewer',
  tag,
  summary: 'Who has a slot at a limit and who waits for one; the first 20 of each.',
  query: z.strictObject(limitQuery),
  answer: limitRuns,
  handle: async (call) => {
    const { kind, workflow = null, name = null } = call.query
    const of = { kind, workflow, name }
    if (!(await isSeen(call as Call, of))) return { holders: [], waiters: [] }
    const { holders, waiters } = await call.engine.limitRuns(of)
    const isOwn = (run: { readonly workspace: string }): boolean =>
      call.caller.workspaces === '*' || run.workspace === call.workspace
    return { holders: holders.filter(isOwn), waiters: waiters.filter(isOwn) }
  },
})

const DAY_MS = 24 * 3_600_000

const whoAmI = route({
  method: 'GET',
  path: '/me',
  role: 'viewer',
  tag,
  summary: 'What the token may do, and what this server is.',
  answer: me,
  handle: ({ engine, caller, workspace, hasStudio }) => {
    const { version, retentionMs, database, isEmbedded, isWorker } = engine.about()
    const retentionDays = retentionMs === null ? null : retentionMs / DAY_MS
    const { name, role, workspaces } = caller
    const features = { database, isEmbedded, isWorker, retentionDays, hasStudio }
    return { name, role, workspaces, workspace, version, features }
  },
})

const COUNTED_MS = 1_000
const counts = new WeakMap<Engine, Map<string | null, Counted>>()

interface Counted {
  readonly at: number
  readonly counts: Promise<readonly RunCount[]>
}

/** Counting reads every run: who asks within a second is told the same. null: of all workspaces. */
function counted(engine: Engine, workspace: string | null): Promise<readonly RunCount[]> {
  const known = counts.get(engine) ?? new Map<string | null, Counted>()
  counts.set(engine, known)
  const now = performance.now()
  for (const [name, { at }] of known) if (now - at > COUNTED_MS) known.delete(name)
  const fresh = known.get(workspace)
  if (fresh) return fresh.counts
  const asked = engine.stats(workspace === null ? {} : { workspace })
  known.set(workspace, { at: now, counts: asked })
  // What failed is asked again.
  asked.catch(() => known.delete(workspace))
  return asked
}

const stats = route({
  method: 'GET',
  path: '/stats',
  role: 'viewer',
  tag,
  summary: 'How many runs the workspace has, by definition and status.',
  answer: z.object({
    items: z.array(z.object({ workflow: z.string(), status: z.string(), runs: z.number() })),
  }),
  handle: async ({ engine, workspace }) => ({ items: await counted(engine, workspace) }),
})

const healthz = route({
  method: 'GET',
  path: '/healthz',
  isAtRoot: true,
  role: 'anyone',
  tag,
  summary: 'The process answers.',
  answer: z.object({ status: z.literal('ok') }),
  handle: () => ({ status: 'ok' }),
})

const readyz = route({
  method: 'GET',
  path: '/readyz',
  isAtRoot: true,
  role: 'anyone',
  tag,
  summary: 'The database answers too; 503 if not.',
  answer: z.object({ status: z.enum(['ok', 'unavailable']) }),
  handle: async ({ engine }) =>
    (await isReady(engine))
      ? { status: 'ok' }
      : new Answer({ status: 'unavailable' }, { status: 503 }),
})

const metrics = route({
  method: 'GET',
  path: '/metrics',
  isAtRoot: true,
  role: 'viewer',
  tag,
  summary: 'Counts for Prometheus: of all workspaces, or of that of the token.',
  contentType: METRICS_TYPE,
  handle: async ({ engine, caller, workspace }) => {
    const isAll = caller.workspaces === '*'
    const counts = await counted(engine, isAll ? null : workspace)
    const own = isAll ? await engine.metrics() : null
    const text = await metricsText(counts, await engine.workers(), own)
    return new Response(text, { headers: { 'content-type': METRICS_TYPE } })
  },
})

export const systemRoutes = [
  emit,
  workers,
  limits,
  atLimit,
  whoAmI,
  stats,
  healthz,
  readyz,
  metrics,
]

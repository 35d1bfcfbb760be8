// What goes over the wire of the facts that a user interface shows: schemas, as in schemas.ts.

import { z } from '@hono/zod-openapi'
import { ROLES } from './access.js'
import {
  instant,
  KINDS,
  moment,
  offer,
  openQuestion,
  orNull,
  runInfo,
  STATUSES,
  shownDocument,
  storedError,
} from './schemas.js'

const value = z.unknown().optional()
const jsonSchema = orNull(value).openapi({ description: 'A JSON Schema, null if none is known.' })

const whole = (most: number, least = 1) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'expected a whole number')
    .transform(Number)
    .refine((n) => n >= least && n <= most, `expected a whole number from ${least} to ${most}`)
    .openapi({ type: 'integer', minimum: least, maximum: most })

export const activityQuery = {
  from: instant.optional(),
  to: instant.optional(),
  buckets: whole(500).optional(),
}

export const activity = z
  .object({
    from: moment,
    to: moment,
    bucketMs: z.number(),
    items: z.array(
      z.object({
        at: moment.openapi({ description: 'Where the bucket begins.' }),
        started: z.number(),
        completed: z.number(),
        failed: z.number(),
        cancelled: z.number(),
        timedOut: z.number(),
      }),
    ),
  })
  .openapi('Activity')

export const inboxItem = z
  .object({
    id: z.string(),
    workflow: z.string(),
    version: z.string(),
    workspace: z.string(),
    kind: z.enum(KINDS),
    place: orNull(z.string()),
    hasError: z.boolean(),
    error: orNull(storedError),
    tags: runInfo.shape.tags,
    since: moment,
    until: orNull(moment),
    available: z.array(offer),
    documents: z.array(shownDocument),
  })
  .openapi('InboxItem')

export const stepStats = z
  .object({
    workflow: z.string(),
    from: orNull(moment),
    runs: z.number().openapi({ description: 'So many finished runs were looked at.' }),
    isWhole: z.boolean().openapi({ description: 'false: there are older ones, or more entries.' }),
    items: z.array(
      z.object({
        name: z.string(),
        executions: z.number(),
        failures: z.number(),
        retries: z.number(),
        p50Ms: orNull(z.number()),
        p95Ms: orNull(z.number()),
      }),
    ),
  })
  .openapi('StepStats')

/** Left out: the last one. */
export const seqQuery = { seq: whole(999_999_999).optional() }

export const runAt = z
  .object({
    id: z.string(),
    seq: z.number(),
    at: moment,
    status: z.enum(STATUSES),
    place: orNull(z.string()),
    state: value,
    isStateKnown: z.boolean().openapi({
      description: 'false: a workflow keeps only the last state that it has set.',
    }),
    input: value,
    output: value,
    error: orNull(storedError),
    variables: orNull(value).openapi({ description: 'Of a graph: what is set at that moment.' }),
    documents: z.array(shownDocument),
    open: z.array(openQuestion),
  })
  .openapi('RunAt')

export const nodeTypeInfo = z
  .object({
    name: z.string(),
    title: z.string(),
    group: z.string().openapi({
      description:
        'flow, data, time, container, call; of a registered type what stands before its dot.',
    }),
    description: orNull(z.string()),
    isBuiltIn: z.boolean(),
    isContainer: z.boolean(),
    outputs: orNull(z.array(z.string())).openapi({
      description: 'Ways out of it, for `when` of an edge; null: they are named in its config.',
    }),
    config: jsonSchema,
  })
  .openapi('NodeType')

export const expressionCheck = z
  .object({
    ok: z.boolean(),
    error: orNull(
      z.object({
        message: z.string(),
        hint: z.string(),
        position: orNull(z.number()).openapi({ description: 'From 0, in characters.' }),
        line: orNull(z.number()),
        column: orNull(z.number()),
      }),
    ),
    reads: z.array(z.string()),
    known: z.array(
      z.object({
        name: z.string(),
        from: z.enum(['run', 'node', 'variable', 'around']).openapi({
          description: '`around`: of the container or the node itself: item, attempt.',
        }),
      }),
    ),
  })
  .openapi('ExpressionCheck')

export const me = z
  .object({
    name: z.string(),
    role: z.enum(ROLES),
    workspaces: z.union([z.literal('*'), z.array(z.string())]),
    workspace: z.string().openapi({ description: 'The one that this request acts in.' }),
    version: z.string(),
    features: z.object({
      database: z.enum(['postgresql', 'redis', 'embedded', 'memory']),
      isEmbedded: z.boolean(),
      isWorker: z.boolean(),
      retentionDays: orNull(z.number()).openapi({ description: 'null: runs are kept for ever.' }),
      hasStudio: z.boolean(),
    }),
  })
  .openapi('Me')

const limitedRun = z.object({
  id: z.string(),
  workflow: z.string(),
  workspace: z.string(),
  since: moment,
})

export const limitRuns = z
  .object({ holders: z.array(limitedRun), waiters: z.array(limitedRun) })
  .openapi('LimitRuns')

export const limitQuery = {
  kind: z.enum(['definition', 'workspace', 'key']),
  workflow: z.string().max(128).optional(),
  name: z.string().max(300).optional(),
}

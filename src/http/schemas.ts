// What goes over the wire, as schemas: the checks of requests, and the OpenAPI document. Values of users are `unknown`: their own
// schemas look at them in the engine.

import { z } from '@hono/zod-openapi'
import { DEFINITION_NAME } from '../model/ids.js'

/** Left out where it is undefined. */
const value = z.unknown().optional()
export const moment = z.string().openapi({ format: 'date-time' })
export const orNull = <S extends z.ZodType>(schema: S) => schema.nullable()

export const STATUSES = [
  'pending',
  'running',
  'waiting',
  'completed',
  'failed',
  'cancelled',
  'timed_out',
] as const

/** Milliseconds, or '5min'. */
export const duration = z.union([z.number(), z.string().max(40)]).openapi({ example: '5min' })
/** z.record would drop a key called __proto__ without a word. */
export const texts = z
  .custom<Record<string, string>>(
    (given) =>
      typeof given === 'object' &&
      given !== null &&
      !Array.isArray(given) &&
      Object.values(given).every((one) => typeof one === 'string'),
    'expected an object of texts',
  )
  .openapi({ type: 'object', additionalProperties: { type: 'string' } })

/** Values by names, as they were given: an object schema would drop a key called __proto__. */
export const dict = z
  .custom<Record<string, unknown>>(
    (given) => typeof given === 'object' && given !== null && !Array.isArray(given),
    'expected an object',
  )
  .openapi({ type: 'object', additionalProperties: true })

export const storedError = z
  .object({
    name: z.string(),
    message: z.string(),
    code: z.string().optional(),
    hint: z.string().optional(),
    stack: z.string().optional().openapi({ description: 'For authors and admins only.' }),
    step: z.string().optional(),
    attempt: z.number().optional(),
  })
  .openapi('StoredError')

/** What a run has asked for and not heard of yet. */
export const openQuestion = z
  .object({
    kind: z.enum(['step', 'timer', 'wait', 'child']),
    name: z.string(),
    since: moment,
    until: orNull(moment).openapi({ description: 'When it is due, or tried again.' }),
    names: z.array(z.string()).openapi({ description: 'wait: the signals that it takes.' }),
    event: orNull(z.string()),
    runId: orNull(z.string()).openapi({ description: 'child, wait: the run it waits for.' }),
    attempt: z.number(),
    error: orNull(storedError).openapi({ description: 'Of its last attempt.' }),
  })
  .openapi('OpenQuestion')

export const offer = z.object({
  kind: z.enum(['signal', 'transition', 'event']),
  name: z.string(),
  schema: orNull(value).openapi({ description: 'A JSON Schema, null if none is known.' }),
  title: orNull(z.string()),
  description: orNull(z.string()),
})

export const KINDS = ['workflow', 'task', 'machine', 'graph'] as const

export const runInfo = z
  .object({
    id: z.string(),
    workflow: z.string(),
    version: z.string(),
    workspace: z.string(),
    kind: z.enum(KINDS),
    parentId: orNull(z.string()),
    status: z.enum(STATUSES),
    input: value,
    output: value,
    state: value,
    place: orNull(z.string()),
    hasError: z.boolean(),
    error: orNull(storedError),
    retryable: z.boolean().optional(),
    reason: z.string().optional(),
    until: orNull(moment).optional(),
    available: z.array(offer).optional(),
    children: z
      .array(z.object({ id: z.string(), workflow: z.string(), status: z.enum(STATUSES) }))
      .optional(),
    tags: texts,
    attempt: z.number(),
    open: z.array(openQuestion),
    undo: z.array(z.object({ step: z.string(), state: z.string() })),
    createdAt: moment,
    updatedAt: moment,
    startedAt: orNull(moment),
    finishedAt: orNull(moment),
  })
  .openapi('Run')

export const journalEntry = z
  .object({
    seq: z.number(),
    kind: z.string(),
    name: z.string(),
    at: moment,
    attempt: z.number().optional(),
    input: value,
    output: value,
    error: storedError.optional(),
    transitions: z
      .array(z.object({ from: z.string(), to: z.string(), event: z.string() }))
      .optional(),
    askedAt: moment.optional(),
    startedAt: moment.optional(),
    until: moment.optional(),
    workflow: z.string().optional(),
    runId: z.string().optional(),
  })
  .openapi('JournalEntry')

export const checkpoint = z
  .object({
    version: z.number(),
    seq: z.number(),
    place: z.string(),
    state: value,
    documentIds: z.array(z.string()),
    at: moment,
  })
  .openapi('Checkpoint')

export const shownDocument = z
  .object({
    id: z.string(),
    className: z.string(),
    key: orNull(z.string()),
    tags: z.array(z.string()),
    content: value,
    step: z.string(),
    attempt: z.number(),
    createdAt: moment,
  })
  .openapi('Document')

export const loggedNode = z
  .object({
    node: z.string(),
    type: z.string(),
    path: z.string(),
    status: z.string(),
    input: value,
    output: value,
    error: orNull(storedError),
    attempt: z.number(),
    startedAt: orNull(moment),
    endedAt: orNull(moment),
    durationMs: orNull(z.number()),
    child: orNull(z.string()),
    variables: value,
  })
  .openapi('LoggedNode')

export const explanation = z
  .object({
    sentence: z.string(),
    reason: z.string(),
    since: moment,
    until: orNull(moment),
    next: z.array(z.object({ text: z.string(), command: z.string() })),
  })
  .openapi('Explanation')

export const description = z
  .object({
    name: z.string(),
    version: z.string(),
    kind: z.string(),
    description: orNull(z.string()),
    input: orNull(value),
    signals: z.array(z.object({ name: z.string(), schema: orNull(value) })),
    places: z.array(z.object({ name: z.string(), isFinal: z.boolean() })),
    transitions: z.array(z.looseObject({ name: z.string(), from: z.string() })),
    graph: orNull(value),
  })
  .openapi('Definition')

export const ended = z
  .object({
    id: z.string(),
    isOver: z.boolean().openapi({ description: 'false: it had not ended in time; ask again.' }),
    status: z.enum(STATUSES),
    output: value,
    failure: z
      .object({ code: z.string(), message: z.string(), hint: z.string(), cause: value })
      .optional(),
  })
  .openapi('End')

export const scheduleInfo = z
  .object({
    id: z.string(),
    workflow: z.string(),
    workspace: z.string(),
    cron: orNull(z.string()),
    timezone: orNull(z.string()),
    everyMs: orNull(z.number()),
    at: orNull(moment),
    input: value,
    overlap: z.string(),
    missed: z.string(),
    catchUpMs: orNull(z.number()),
    jitterMs: z.number(),
    tags: texts,
    isPaused: z.boolean(),
    isTrigger: z.boolean(),
    lastAt: orNull(moment),
    nextAt: orNull(moment),
    lastRunId: orNull(z.string()),
    createdAt: moment,
    updatedAt: moment,
  })
  .openapi('Schedule')

export const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.number(),
    code: z.string(),
    hint: z.string(),
    requestId: z.string(),
    runId: z.string().optional(),
    details: value,
  })
  .openapi('Problem')

export const runId = z.object({ id: z.string() }).openapi('RunId')

export const pageOf = <S extends z.ZodType>(item: S) =>
  z.object({
    items: z.array(item),
    next: orNull(z.string()).openapi({ description: 'Give it as `after` for the next page.' }),
  })

// ── queries ─────────────────────────────────────────────────────────────────────────────────────────────────

export const LIMIT_MAX = 500

const limit = z
  .string()
  .regex(/^[1-9]\d{0,2}$/, `expected a whole number from 1 to ${LIMIT_MAX}`)
  .transform(Number)
  .refine((n) => n <= LIMIT_MAX, `expected at most ${LIMIT_MAX}`)
  .optional()
  .openapi({ type: 'integer', minimum: 1, maximum: LIMIT_MAX })

export const pageQuery = {
  limit,
  after: z.string().max(300).optional(),
  order: z.enum(['newest', 'oldest']).optional(),
}
const name = z.string().regex(DEFINITION_NAME, 'expected the name of a definition')
/** A run of another definition is then as one that is not there. */
export const ofWorkflow = { workflow: name.optional() }

const several = (schema: z.ZodType<string>) =>
  z.union([schema, z.array(schema).max(20)]).transform((given) => [given].flat())

/** A moment in a request. */
export const instant = z
  .string()
  .max(40)
  .refine((text) => !Number.isNaN(Date.parse(text)), 'expected a moment: 2026-01-31T12:00:00Z')
  .transform((text) => new Date(text))
  .openapi({ format: 'date-time' })

const REASONS = 'signal event timer retry child slot paused diverged missing-code'

/** Which runs. */
export const filterQuery = {
  workflow: name.optional(),
  status: several(z.enum([...STATUSES, 'canceled'])).optional(),
  reason: z.enum(REASONS.split(' ') as [string, ...string[]]).optional(),
  tag: several(
    z
      .string()
      .max(600)
      .regex(/^[^:]+:/, 'expected name:value'),
  ).optional(),
  parentId: z.string().max(128).optional(),
  createdAfter: instant.optional(),
  createdBefore: instant.optional(),
  text: z.string().max(128).optional(),
  kind: z.enum(KINDS).optional(),
}

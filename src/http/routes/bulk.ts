// The same to many runs: those that a filter finds. A dry run says which they are.

import { z } from '@hono/zod-openapi'
import type { Client, RunInfo } from '../../index.js'
import { type ErrorCode, PerdureError } from '../../model/errors.js'
import { requestInvalid } from '../errors.js'
import { type Call, route } from '../route.js'
import { instant, KINDS, STATUSES, texts } from '../schemas.js'
import { checkWorkspace, given } from './shared.js'

const tag = 'runs'
/** In one request; the answer says whether there are more. */
const AT_MOST = 1_000
const AT_ONCE = 20

const filter = z
  .strictObject({
    workflow: z.string().optional(),
    status: z.array(z.enum([...STATUSES, 'canceled'])).optional(),
    reason: z.string().optional(),
    kind: z.enum(KINDS).optional(),
    tags: texts.optional(),
    parentId: z.string().optional(),
    createdAfter: instant.optional(),
    createdBefore: instant.optional(),
    text: z.string().optional(),
    workspace: z.string().optional(),
  })
  .openapi('Filter')

const fields = {
  filter,
  dryRun: z.boolean().optional(),
  limit: z.number().int().min(1).max(AT_MOST).optional(),
}

const answer = z.object({
  dryRun: z.boolean(),
  /** What was done, or would be. */
  ids: z.array(z.string()),
  refused: z.array(z.object({ id: z.string(), code: z.string(), message: z.string() })),
  isMore: z.boolean(),
})

interface Order {
  readonly filter: z.output<typeof filter>
  readonly dryRun?: boolean | undefined
  readonly limit?: number | undefined
}

async function toMany(
  call: Call,
  order: Order,
  isMeant: (run: RunInfo) => boolean,
  act: (client: Client, id: string) => Promise<void>,
) {
  const { dryRun = false, limit = AT_MOST } = order
  const { workspace, ...which } = order.filter
  checkWorkspace(call, workspace)
  if (Object.values(which).every((one) => one === undefined)) {
    throw requestInvalid([{ path: 'body.filter', message: 'names nothing: all runs are too many' }])
  }
  const ids: string[] = []
  let isMore = false
  for await (const run of call.client.list({ ...given(which), limit: 500 } as never)) {
    if (!isMeant(run)) continue
    isMore = ids.length >= limit
    if (isMore) break
    ids.push(run.id)
  }
  const refused: { id: string; code: ErrorCode; message: string }[] = []
  if (dryRun) return { dryRun, ids, refused, isMore }
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const part = ids.slice(from, from + AT_ONCE)
    await Promise.all(
      part.map((id) =>
        act(call.client, id).catch((error: unknown) => {
          if (!PerdureError.is(error) || error.retryable) throw error
          refused.push({ id, code: error.code, message: error.message })
        }),
      ),
    )
  }
  return { dryRun, ids: ids.filter((id) => !refused.some((one) => one.id === id)), refused, isMore }
}

const cancel = route({
  method: 'POST',
  path: '/runs/cancel',
  role: 'operator',
  tag,
  summary: 'Cancels the runs that a filter finds and that have not ended; dryRun says which.',
  body: z.strictObject({
    ...fields,
    reason: z.string().max(4_096).optional(),
    force: z.boolean().optional(),
  }),
  answer,
  handle: (call) => {
    const { reason, force } = call.body
    return toMany(
      call as Call,
      call.body,
      (run) => run.finishedAt === null,
      (client, id) => client.cancel(id, reason, given({ force })),
    )
  },
})

const retry = route({
  method: 'POST',
  path: '/runs/retry',
  role: 'operator',
  tag,
  summary: 'Retries the failed runs that a filter finds; dryRun says which.',
  body: z.strictObject(fields),
  answer,
  handle: (call) =>
    toMany(
      call as Call,
      call.body,
      (run) => run.status === 'failed' && run.retryable,
      (client, id) => client.retry(id),
    ),
})

export const bulkRoutes = [cancel, retry]

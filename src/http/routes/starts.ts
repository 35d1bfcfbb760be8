// Starts that come together, of any definitions: each has an outcome of its own, as if it had come alone.

import { z } from '@hono/zod-openapi'
import { checked } from '../check.js'
import { requestTooLarge } from '../errors.js'
import { type Call, route } from '../route.js'
import { dict, problemSchema } from '../schemas.js'
import { checkWorkspace, sameKey } from './shared.js'
import { BATCH_MAX, known, loneFields, optionsOf } from './workflows.js'

const NAMES_MAX = 100

const item = z.strictObject({ workflow: z.string(), ...loneFields })

const started = z.object({ id: z.string().optional(), problem: problemSchema.optional() })

const startAll = route({
  method: 'POST',
  path: '/runs/start',
  role: 'operator',
  tag: 'workflows',
  summary: `Starts up to ${BATCH_MAX} runs of up to ${NAMES_MAX} definitions. Each item is answered for itself: with an id, or with a problem.`,
  body: z.strictObject({ items: z.array(dict) }),
  // Each is checked by itself, so that one that is wrong is not the end of the others.
  shownBody: z.strictObject({ items: z.array(item) }),
  answer: z.object({ items: z.array(started) }),
  handle: async (call) => {
    const { length } = call.body.items
    if (length > BATCH_MAX) {
      throw requestTooLarge(`it has ${length} items`, `${BATCH_MAX} items in one batch`)
    }
    const refusals = await refusalsOf(call)
    // All at once: then they are in few commits, in this order.
    const outcomes = call.body.items.map(async (given, i) => {
      try {
        return { id: await startOne(call as Call, refusals, given, i) }
      } catch (error) {
        return { problem: call.problem(error) }
      }
    })
    return { items: await Promise.all(outcomes) }
  },
})

type Refusals = ReadonlyMap<string, unknown>

async function startOne(
  call: Call,
  refusals: Refusals,
  given: unknown,
  i: number,
): Promise<string> {
  const { client, key } = call
  const { workflow, ...start } = checked(item, given, `body.items.${i}`) as z.output<typeof item>
  checkWorkspace(call, start.workspace)
  if (refusals.has(workflow)) throw refusals.get(workflow)
  const id = sameKey(key === undefined ? undefined : (start.id ?? `${key}:${i}`), start.id)
  const options = optionsOf(start, id) as never
  return (await client.start(workflow, start.input as never, options)).id
}

/**
 * Why runs of these definitions cannot be started, for those that cannot. Each name is asked for once and one after the other: a batch
 * is no way to make a thousand queries at a time.
 */
async function refusalsOf(call: Call<unknown, { items: readonly unknown[] }>): Promise<Refusals> {
  const names = new Set(call.body.items.map((one) => (one as { workflow?: unknown }).workflow))
  if (names.size > NAMES_MAX) {
    const most = `${NAMES_MAX} definitions in one batch`
    throw requestTooLarge(`it names ${names.size} definitions`, most)
  }
  const refusals = new Map<string, unknown>()
  for (const name of names) {
    if (typeof name !== 'string') continue
    try {
      await known(call, name)
    } catch (error) {
      refusals.set(name, error)
    }
  }
  return refusals
}

export const startRoutes = [startAll]

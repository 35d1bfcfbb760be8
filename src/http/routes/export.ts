// Runs as lines of JSON: what `perdure export` and `perdure check` read where only this process can reach the database.

import { z } from '@hono/zod-openapi'
import { PerdureError } from '../../model/errors.js'
import { workspaceForbidden } from '../errors.js'
import { route } from '../route.js'
import { given } from './shared.js'

const LINES_TYPE = 'application/x-ndjson'

const exported = route({
  method: 'POST',
  path: '/export',
  role: 'admin',
  tag: 'system',
  summary:
    'Runs as lines of JSON, for an import elsewhere; those that have not ended are paused, unless it is a copy.',
  body: z.strictObject({
    workflow: z.string().optional(),
    ids: z.array(z.string()).max(10_000).optional(),
    copy: z.boolean().optional(),
    unfinished: z.boolean().optional(),
    allWorkspaces: z.boolean().optional(),
  }),
  contentType: LINES_TYPE,
  handle: async ({ engine, caller, workspace, body: { allWorkspaces = false, ...which } }) => {
    if (allWorkspaces && caller.workspaces !== '*') throw workspaceForbidden()
    const where = allWorkspaces ? {} : { workspace }
    const lines = engine.export({ ...given(which), ...where })[Symbol.asyncIterator]()
    // What is refused at once is a problem as any other.
    const first = await lines.next()
    return new Response(bodyOf(first, lines), { headers: { 'content-type': LINES_TYPE } })
  },
})

/** A line for each pull: who goes before the last one has paused nothing. What goes wrong on the way is the last line. */
function bodyOf(
  first: IteratorResult<string>,
  lines: AsyncIterator<string>,
): ReadableStream<Uint8Array> {
  let ahead: IteratorResult<string> | null = first
  const encoder = new TextEncoder()
  return new ReadableStream({
    async pull(controller) {
      try {
        const { value, done } = ahead ?? (await lines.next())
        ahead = null
        if (done) return controller.close()
        controller.enqueue(encoder.encode(`${value}\n`))
      } catch (error) {
        controller.enqueue(encoder.encode(`${JSON.stringify({ error: factsOf(error) })}\n`))
        controller.close()
      }
    },
    async cancel() {
      await lines.return?.()
    },
  })
}

/** As a problem says it: nothing from inside. */
function factsOf(error: unknown): object {
  if (!PerdureError.is(error)) return { code: 'INTERNAL', message: 'The export failed.' }
  const { code, message, hint } = error
  return { code, message, hint }
}

export const exportRoutes = [exported]

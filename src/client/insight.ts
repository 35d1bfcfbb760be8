// What those look at who look at runs, over HTTP.

import type { InboxItem, Page } from '../index.js'
import { type Connection, path } from './connection.js'
import { nameOf } from './names.js'
import { paged } from './paged.js'
import { momentOf } from './schedules.js'

type Given = Readonly<Record<string, unknown>>

export function insightCalls(
  connection: Connection,
  spaceOf: (options: Given) => string | undefined,
) {
  /** What the query says, and where. */
  const asked = (call: string, { workspace, workflow, from, to, ...rest }: Given) => ({
    query: {
      ...rest,
      workflow: workflow === undefined ? undefined : nameOf(workflow, call),
      from: momentOf(from),
      to: momentOf(to),
    },
    workspace: spaceOf({ workspace }),
  })
  return {
    activity: async (options: Given = {}) =>
      connection.ask({ path: '/activity', ...asked('activity', options) }),
    inbox: (options: Given = {}) => {
      const { query, workspace } = asked('inbox', options)
      return paged(options.after as string | undefined, async (after) => {
        const page = { path: '/inbox', query: { ...query, after }, workspace }
        return (await connection.ask(page)) as Page<InboxItem>
      })
    },
    stepStats: async (target: unknown, options: Given = {}) =>
      connection.ask({
        path: path`/workflows/${nameOf(target, 'stepStats')}/steps`,
        ...asked('stepStats', options),
      }),
    at: async (id: string, seq?: number) =>
      connection.ask({ path: path`/runs/${id}/at`, query: { seq }, workspace: spaceOf({}) }),
  }
}

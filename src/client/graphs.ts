// client.graphs: those of the engine, over HTTP. `validate` and `checkExpression` ask the server, so they give promises.

import type { GraphJson, Graphs, GraphVersion, Page, StoredGraph } from '../index.js'
import { PerdureError } from '../model/errors.js'
import { asking, type Connection, path } from './connection.js'
import { paged } from './paged.js'

type Given = Readonly<Record<string, unknown>>

export type RemoteGraphs = Omit<Graphs, 'validate' | 'checkExpression' | 'save'> & {
  /** Its author is whoever the token is of. */
  save(
    json: GraphJson,
    options?: { readonly expected?: number | undefined; readonly note?: string | undefined },
  ): ReturnType<Graphs['save']>
  /** Everything that is wrong with it, at once. The types of its nodes are those that the server has. */
  validate(json: unknown): Promise<ReturnType<Graphs['validate']>>
  checkExpression(
    ...args: Parameters<Graphs['checkExpression']>
  ): Promise<ReturnType<Graphs['checkExpression']>>
}

export function graphCalls(
  connection: Connection,
  spaceOf: (options: Given) => string | undefined,
): RemoteGraphs {
  const workspace = spaceOf({})
  const ask = asking(connection, workspace)
  const pages = <T>(address: string, { after, ...page }: Given & { after?: string }) =>
    paged(
      after,
      async (from) => (await ask('GET', address, { query: { ...page, after: from } })) as Page<T>,
    )
  const calls = {
    validate: (graph: unknown) => ask('POST', '/graphs/validate', { body: { graph } }),
    checkExpression: (cel: string, at: Given = {}) =>
      ask('POST', '/expressions/check', { body: { cel, ...at } }),
    save: (graph: { readonly id?: unknown }, options: Given = {}) =>
      ask('PUT', path`/graphs/${graph?.id}`, { body: { graph, ...options } }),
    get: async (name: string, query: Given = {}) => {
      try {
        return await ask('GET', path`/graphs/${name}`, { query })
      } catch (error) {
        if (PerdureError.is(error, 'DEFINITION_UNKNOWN')) return null
        throw error
      }
    },
    list: (page: Given = {}) => pages<StoredGraph>('/graphs', page),
    versions: (name: string, page: Given = {}) =>
      pages<GraphVersion>(path`/graphs/${name}/versions`, page),
    archive: async (name: string) => void (await ask('DELETE', path`/graphs/${name}`)),
  }
  return calls as unknown as RemoteGraphs
}

// createClient: all that can be done from outside, from another program. The types of the server's engine, none of its code.

import type {
  Change,
  Client,
  Description,
  Engine,
  JournalEntry,
  Outcome,
  Page,
  RunHandle,
  RunInfo,
  StoredDocument,
} from '../index.js'
import { checkOptions, optionInvalid, PerdureError } from '../model/errors.js'
import { isSame, startAgain } from './again.js'
import { bodyText, type ClientOptions, Connection, path } from './connection.js'
import { follow } from './follow.js'
import { graphCalls, type RemoteGraphs } from './graphs.js'
import { makeHandle, sendable } from './handle.js'
import { insightCalls } from './insight.js'
import { documentNameOf, nameOf } from './names.js'
import { paged } from './paged.js'
import { momentOf, scheduleCalls } from './schedules.js'
import { type Started, Starts } from './starts.js'

/**
 * The calls of an engine, over HTTP. `describe` asks the server, so it gives a promise. Listeners (`on`) and transactions are for
 * those who have the engine itself.
 */
export type RemoteClient<W = unknown> = Omit<
  Client<W>,
  'describe' | 'graphs' | 'on' | 'workspace'
> & {
  readonly graphs: RemoteGraphs
  describe(target: Parameters<Client<W>['describe']>[0]): Promise<Description>
  /** The same, confined to one workspace. */
  workspace(name: string): RemoteClient<W>
}

export function createClient<E extends Engine<never> | Engine>(
  url: string,
  options: ClientOptions = {},
): RemoteClient<E['~defs']> {
  if (typeof options !== 'object' || options === null) {
    throw optionInvalid('options', 'createClient', options, 'an object')
  }
  checkOptions(options, 'createClient', ['token', 'workspace', 'fetch'])
  const connection = new Connection(url, options)
  return makeClient(connection, new Starts(connection), null) as RemoteClient<E['~defs']>
}

type Given = Readonly<Record<string, unknown>>

/** So many starts in one request. */
const BATCH = 500

function makeClient(connection: Connection, starts: Starts, confined: string | null): RemoteClient {
  /** The workspace that options name; a confined client cannot leave its own. */
  const spaceOf = ({ workspace }: Given): string | undefined => {
    if (workspace === undefined) return confined ?? undefined
    if (typeof workspace !== 'string' || (confined !== null && workspace !== confined)) {
      const own = confined === null ? 'a text' : `"${confined}", to which this client is confined`
      throw optionInvalid('workspace', 'the client', workspace, own)
    }
    return workspace
  }
  const client = {
    ...startCalls(connection, starts, spaceOf),
    ...mailCalls(connection, spaceOf),
    ...readCalls(connection, spaceOf),
    ...insightCalls(connection, spaceOf),
    handle: (target: unknown, id: string) =>
      makeHandle(connection, { id, workflow: nameOf(target, 'handle'), workspace: spaceOf({}) }),
    schedules: scheduleCalls(connection, spaceOf),
    graphs: graphCalls(connection, spaceOf),
    workspace: (name: string) => {
      spaceOf({ workspace: name })
      return makeClient(connection, starts, name)
    },
  }
  return client as unknown as RemoteClient
}

type SpaceOf = (options: Given) => string | undefined

function startCalls(connection: Connection, starts: Starts, spaceOf: SpaceOf) {
  const start = async (target: unknown, input?: unknown, options?: Given): Promise<RunHandle> => {
    const workflow = nameOf(target, 'start')
    const { workspace: named, ...rest } = sendable(options, 'start')
    const workspace = spaceOf({ workspace: named })
    const { id } = await starts.start({ workflow, workspace, fields: { input, ...rest } })
    return makeHandle(connection, { id, workflow, workspace })
  }
  return {
    start,
    startMany: async (target: unknown, all: readonly { input?: unknown; options?: Given }[]) => {
      const workflow = nameOf(target, 'startMany')
      const handles: RunHandle[] = []
      for (let from = 0; from < all.length; from += BATCH) {
        const part = all.slice(from, from + BATCH)
        const workspace = spaceOf({ workspace: part[0]?.options?.workspace })
        const items: readonly Given[] = part.map(({ input, options }) => ({ input, ...options }))
        const asked = {
          method: 'POST',
          path: path`/workflows/${workflow}/runs/batch`,
          text: bodyText({ items }),
          workspace,
        } as const
        const canRepeat = items.every(isSame)
        const answer = await startAgain(connection, canRepeat, () => connection.ask(asked))
        const { items: started } = answer as { items: readonly Started[] }
        for (const { id } of started)
          handles.push(makeHandle(connection, { id, workflow, workspace }))
      }
      return handles
    },
    run: async (target: unknown, input?: unknown, options: Given = {}): Promise<Outcome> => {
      const { stateless, ...rest } = options
      if (stateless === true) {
        const { workspace, ...more } = rest
        return (await connection.ask({
          method: 'POST',
          path: path`/workflows/${nameOf(target, 'run')}/stateless`,
          body: { input, ...more },
          workspace: spaceOf({ workspace }),
        })) as Outcome
      }
      return outcomeOf(connection, await start(target, input, rest), spaceOf(rest))
    },
  }
}

/** Does not throw for a run that has not ended well. */
async function outcomeOf(
  connection: Connection,
  handle: RunHandle,
  workspace: string | undefined,
): Promise<Outcome> {
  try {
    await handle.result()
  } catch (error) {
    const ends = ['WORKFLOW_FAILED', 'WORKFLOW_CANCELLED', 'WORKFLOW_TIMED_OUT'] as const
    if (!PerdureError.is(error, ...ends)) throw error
  }
  const { id } = handle
  const { status, output, error } = await handle.get()
  const { items: documents } = (await connection.ask({
    path: path`/runs/${id}/documents`,
    workspace,
  })) as { items: StoredDocument[] }
  if (status === 'completed') return { id, status, output, documents }
  return { id, status, error, documents } as Outcome
}

function mailCalls(connection: Connection, spaceOf: SpaceOf) {
  /** `options`: of the call; what they say goes into the body. */
  const post = (address: string, body: Given, options: Given): Promise<unknown> => {
    const { workspace, ...rest } = options
    const space = spaceOf({ workspace })
    return connection.ask({
      method: 'POST',
      path: address,
      body: { ...body, ...rest },
      workspace: space,
    })
  }
  return {
    signal: async (id: string, name: string, payload?: unknown, options?: Given) => {
      await post(path`/runs/${id}/signals`, { name, payload }, sendable(options, 'signal'))
    },
    trigger: async (id: string, name: string, payload?: unknown, options: Given = {}) =>
      post(path`/runs/${id}/triggers`, { name, payload }, options),
    send: async (target: unknown, id: string, event: unknown, options: Given = {}) =>
      post(path`/workflows/${nameOf(target, 'send')}/runs/${id}/send`, { event }, options),
    emit: async (name: string, payload?: unknown, options?: Given) => {
      await post('/events', { name, payload }, sendable(options, 'emit'))
    },
    cancel: async (id: string, reason?: string, options: Given = {}) => {
      await post(path`/runs/${id}/cancel`, { reason }, options)
    },
    retry: async (id: string, options: Given = {}) => {
      await post(path`/runs/${id}/retry`, {}, options)
    },
    pause: async (id: string) => void (await post(path`/runs/${id}/pause`, {}, {})),
    resume: async (id: string) => void (await post(path`/runs/${id}/resume`, {}, {})),
    fork: async (id: string, options: Given = {}) => {
      const forked = (await post(path`/runs/${id}/fork`, {}, options)) as Started
      const workspace = spaceOf({ workspace: options.workspace })
      return makeHandle(connection, { id: forked.id, workflow: undefined, workspace })
    },
  }
}

function readCalls(connection: Connection, spaceOf: SpaceOf) {
  const ask = (address: string, query: Given = {}) =>
    connection.ask({ path: address, query, workspace: spaceOf({}) })
  const pages = <E>(
    address: () => string,
    { after, ...query }: Given,
    workspace: string | undefined,
  ) =>
    paged(after as string | undefined, async (from) => {
      const asked = { path: address(), query: { ...query, after: from }, workspace }
      return (await connection.ask(asked)) as Page<E>
    })
  return {
    describe: async (target: unknown) => ask(path`/workflows/${nameOf(target, 'describe')}`),
    get: async (id: string): Promise<RunInfo | null> => {
      try {
        return (await ask(path`/runs/${id}`)) as RunInfo
      } catch (error) {
        if (PerdureError.is(error, 'RUN_NOT_FOUND')) return null
        throw error
      }
    },
    list: (filter: Given = {}) => {
      const { workspace, tags, workflow, createdAfter, createdBefore, ...rest } = filter
      const query = {
        ...rest,
        workflow: workflow === undefined ? undefined : nameOf(workflow, 'list'),
        // The name of a tag may have a colon.
        tag: Object.entries((tags ?? {}) as Record<string, string>).map(
          ([name, value]) => `${encodeURIComponent(name)}:${value}`,
        ),
        createdAfter: momentOf(createdAfter),
        createdBefore: momentOf(createdBefore),
      }
      return pages<RunInfo>(() => '/runs', query, spaceOf({ workspace }))
    },
    history: (id: string, page: Given = {}) =>
      pages<JournalEntry>(() => path`/runs/${id}/history`, page, spaceOf({})),
    checkpoints: (id: string, page: Given = {}) =>
      pages(() => path`/runs/${id}/checkpoints`, page, spaceOf({})),
    documents: async (id: string, type?: unknown) => {
      const query = { type: documentNameOf(type) }
      return ((await ask(path`/runs/${id}/documents`, query)) as { items: unknown[] }).items
    },
    nodes: async (id: string) =>
      ((await ask(path`/runs/${id}/nodes`)) as { items: unknown[] }).items,
    explain: async (id: string) => ask(path`/runs/${id}/explain`),
    changes: ({ after, signal }: { after?: string; signal?: AbortSignal } = {}) =>
      follow<Change>(connection, {
        path: '/changes',
        workspace: spaceOf({}),
        after,
        signal,
        placeOf: ({ cursor }) => cursor,
      }),
  }
}

// From the options and the environment to somebody to talk to. There is one way to talk, the HTTP API: to a server, to the
// process that has the embedded database open, or to an engine without a worker in this very process.

import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { type Asked, Connection } from '../client/connection.js'
import { createClient, type RemoteClient } from '../client/index.js'
import { type ErrorCode, PerdureError } from '../model/errors.js'
import { addressIn } from './address.js'
import type { Io } from './io.js'
import { placeOf } from './place.js'
import type { Common } from './program.js'

export interface Talk {
  readonly client: RemoteClient
  /** What the client has no call for. */
  ask(asked: Asked): Promise<unknown>
  /** An answer in lines. Throws what its last one says went wrong. */
  lines(asked: Asked): AsyncGenerator<string>
  close(): Promise<void>
}

const FOLDER = '.perdure'

export async function connect(io: Io, options: Common): Promise<Talk> {
  const { env } = io
  const url = options.url ?? (options.database === undefined ? env.PERDURE_URL : undefined)
  if (url) return overHttp(io, options, url, undefined)
  const database = options.database ?? env.PERDURE_DATABASE_URL ?? env.DATABASE_URL
  if (database && !database.startsWith('file:')) return inProcess(io, options, database)
  // The embedded one has room for one process: whoever has it open is asked.
  const folder = resolve(io.cwd, database ? dirname(database.slice('file:'.length)) : FOLDER)
  const address = addressIn(folder)
  if (address === null) throw nobody(folder)
  return overHttp(io, options, address.url, address.token)
}

function overHttp(io: Io, options: Common, url: string, known: string | undefined): Talk {
  const { env } = io
  return talkOf(url, {
    token: options.token ?? env.PERDURE_TOKEN ?? known,
    ...spaceOf(io, options),
  })
}

function talkOf(
  url: string,
  options: NonNullable<Parameters<typeof createClient>[1]>,
  close: () => Promise<void> = async () => {},
): Talk {
  const connection = new Connection(url, options)
  return {
    client: createClient(url, options),
    ask: (asked) => connection.ask(asked),
    lines: (asked) => linesOf(connection, asked),
    close,
  }
}

async function* linesOf(connection: Connection, asked: Asked): AsyncGenerator<string> {
  const { body } = await connection.send(asked, 'application/x-ndjson')
  if (body === null) return
  const input = Readable.fromWeb(body as never)
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (!line.startsWith('{"error":')) yield line
    else {
      const { error } = JSON.parse(line) as {
        error: { code: ErrorCode; message: string; hint?: string }
      }
      throw new PerdureError(error.code, error.message, {
        hint: error.hint ?? 'look at the log of the server',
      })
    }
  }
}

/** Tools work on a database by themselves, unless another process has it to itself, or a server is named. */
export function serverOf(io: Io, options: Common): Talk | null {
  if (options.url !== undefined) return overHttp(io, options, options.url, undefined)
  const { database = '' } = placeOf(io, options)
  if (!database.startsWith('file:')) return null
  const address = addressIn(resolve(io.cwd, dirname(database.slice('file:'.length))))
  return address && overHttp(io, options, address.url, address.token)
}

const spaceOf = ({ env }: Io, { workspace }: Common): { readonly workspace?: string } => {
  const name = workspace ?? env.PERDURE_WORKSPACE
  return name === undefined ? {} : { workspace: name }
}

/** Nothing listens at it: requests go to the handler as they are. */
const INSIDE = 'http://127.0.0.1'

async function inProcess(io: Io, options: Common, database: string): Promise<Talk> {
  const [{ createEngine }, { createHandler }] = await Promise.all([
    import('../index.js'),
    import('../http/index.js'),
  ])
  const { schema } = options
  const log = logTo(io, options)
  const engine = await createEngine({ database, schema, worker: false, log })
  const handler = createHandler(engine, { open: true, rateLimit: false, log })
  const fetch = async (address: unknown, init?: RequestInit): Promise<Response> => {
    init?.signal?.throwIfAborted()
    return handler(new Request(String(address), init))
  }
  return talkOf(INSIDE, { fetch: fetch as typeof globalThis.fetch, ...spaceOf(io, options) }, () =>
    engine.close(),
  )
}

/** What an engine has to say is no answer to what was asked. */
function logTo(io: Io, { verbose }: Common) {
  const say = (message: string): void => {
    if (verbose) io.err(io.paint.dim(message))
  }
  return { debug: () => {}, info: () => {}, warn: say, error: say }
}

const nobody = (folder: string): PerdureError =>
  new PerdureError(
    'SERVER_UNREACHABLE',
    `There is nobody to talk to: no process has said in ${join(folder, 'server.json')} that it runs, and neither --url nor a database is given.`,
    {
      hint: 'start one here with perdure dev, or say where to ask: --url, PERDURE_URL, --database, DATABASE_URL',
    },
  )

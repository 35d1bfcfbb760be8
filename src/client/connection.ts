// One request to the API of a server, and its answer as the engine's own calls give it: values exact, errors as PerdureError.
// Runs wherever there is fetch: nothing of Node is used here.

import { decode, encode } from '../model/codec.js'
import { CODES, type ErrorCode, idInvalid, optionInvalid, PerdureError } from '../model/errors.js'
import { answerForeign, serverUnreachable } from './errors.js'

/** As src/http/values.ts says. */
const RICH_TYPE = 'application/vnd.perdure.value'
const API = '/api/v1'
const BODY_BYTES_MAX = 4 * 1024 * 1024
/** What a body adds around a value. */
const BODY_DEPTH_MAX = 70

export interface ClientOptions {
  readonly token?: string | undefined
  /** Of all calls that name no other. Default: the first of the token. */
  readonly workspace?: string | undefined
  readonly fetch?: typeof fetch | undefined
}

export interface Asked {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Behind /api/v1; parts that are ids are escaped by `path`. */
  readonly path: string
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  /** The body, where it is written already (`bodyText`). */
  readonly text?: string | undefined
  readonly workspace?: string | undefined
  readonly signal?: AbortSignal | undefined
}

export class Connection {
  readonly url: string
  readonly workspace: string | undefined
  /** It has answered before. */
  isReached = false
  private readonly token: string | undefined
  private readonly fetch: typeof fetch

  constructor(url: unknown, options: ClientOptions) {
    if (typeof url !== 'string' || !/^https?:\/\/[^/]/.test(url)) {
      throw optionInvalid('url', 'createClient', url, "an address: 'http://127.0.0.1:4114'")
    }
    this.url = url.replace(/\/+$/, '')
    this.workspace = options.workspace
    this.token = options.token
    this.fetch = options.fetch ?? ((...args) => globalThis.fetch(...args))
  }

  /** The value of the answer. Throws what the server refuses, and SERVER_UNREACHABLE. */
  async ask(asked: Asked): Promise<unknown> {
    const response = await this.send(asked, RICH_TYPE)
    const text = await this.reached(() => response.text())
    if (response.headers.get('content-type') !== RICH_TYPE) {
      throw answerForeign(this.url, response.status)
    }
    return decode(text)
  }

  /** The answer itself, if it is a good one. */
  async send(asked: Asked, accept: string): Promise<Response> {
    const { method = 'GET', path, query = {}, signal } = asked
    const body = asked.body === undefined ? asked.text : bodyText(asked.body)
    const workspace = asked.workspace ?? this.workspace
    const headers: Record<string, string> = {
      accept,
      ...(this.token !== undefined && { authorization: `Bearer ${this.token}` }),
      ...(workspace !== undefined && { 'perdure-workspace': workspace }),
      ...(body !== undefined && { 'content-type': RICH_TYPE }),
    }
    const init = {
      method,
      headers,
      ...(body !== undefined && { body }),
      ...(signal && { signal }),
    }
    const address = `${this.url}${API}${path}${queryOf(query)}`
    const response = await this.reached(() => this.fetch(address, init), signal)
    this.isReached = true
    if (response.ok) return response
    throw await this.refused(response)
  }

  private async reached<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      throw serverUnreachable(this.url, error)
    }
  }

  private async refused(response: Response): Promise<PerdureError> {
    const text = await this.reached(() => response.text())
    try {
      return problemOf(JSON.parse(text) as Problem)
    } catch {
      return answerForeign(this.url, response.status)
    }
  }
}

export interface Problem {
  readonly code: string
  readonly title: string
  readonly hint: string
  readonly runId?: string
  readonly details?: object
}

/** Throws for what cannot go over the wire. `around`: so many levels deeper than a body of its own. */
export const bodyText = (body: unknown, around = 0): string =>
  encode(body, 'a request', BODY_BYTES_MAX, BODY_DEPTH_MAX + around)

export function problemOf({ code, title, hint, runId, details }: Problem): PerdureError {
  if (typeof title !== 'string' || typeof hint !== 'string') throw new TypeError('no problem')
  // A newer server may have codes that are not known here.
  const known = Object.hasOwn(CODES, code) ? (code as ErrorCode) : 'INTERNAL'
  return new PerdureError(known, title, { hint, runId, details })
}

/** Asks in one workspace. */
export function asking(
  connection: Connection,
  workspace: string | undefined,
): (
  method: NonNullable<Asked['method']>,
  address: string,
  more?: Pick<Asked, 'query' | 'body'>,
) => Promise<unknown> {
  return (method, address, more = {}) =>
    connection.ask({ method, path: address, workspace, ...more })
}

/** /runs/o-1/signals, with what is not ours escaped. */
export function path(parts: TemplateStringsArray, ...ids: readonly unknown[]): string {
  return String.raw({ raw: parts }, ...ids.map(part))
}

/** These would be another address. */
function part(id: unknown): string {
  if (typeof id === 'string' && id !== '' && id !== '.' && id !== '..')
    return encodeURIComponent(id)
  throw idInvalid(id)
}

function queryOf(query: Readonly<Record<string, unknown>>): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) {
      if (one === undefined || one === null) continue
      params.append(name, one instanceof Date ? one.toISOString() : String(one))
    }
  }
  const text = params.toString()
  return text === '' ? '' : `?${text}`
}

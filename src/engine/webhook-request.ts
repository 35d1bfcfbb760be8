// A request to a webhook, as a run gets it: plain data. Nothing in it names a file or is evaluated.

import { createHash } from 'node:crypto'
import { compile } from '../authoring/graph/expression.js'
import { optionInvalid, PerdureError, valueTooLarge } from '../model/errors.js'
import { type RunId, WEBHOOK_RUN } from '../model/ids.js'
import type { WebhookRules } from '../model/webhook.js'
import { bodyNotJson, bodyOfAnotherType, dedupeMissing, webhookNotFound } from './webhook-errors.js'
import type { WebhookInput } from './webhook-types.js'

const WHERE = 'engine.webhooks.receive'
const METHODS = ['POST', 'PUT', 'PATCH']
const USUAL_HEADERS = ['content-type', 'user-agent', 'webhook-id', 'webhook-timestamp']

export interface ReadRequest {
  readonly method: string
  /** Names in small letters. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Uint8Array
  readonly query: Readonly<Record<string, string>>
}

type Given = Readonly<Record<string, unknown>>

export function readRequest(given: unknown, bytesMax: number): ReadRequest {
  const { method, headers = {}, body = '', query = {} } = (given ?? {}) as Given
  if (typeof method !== 'string') throw optionInvalid('method', WHERE, method, 'a text')
  if (!METHODS.includes(method.toUpperCase())) throw webhookNotFound()
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  if (!(bytes instanceof Uint8Array)) {
    throw optionInvalid('body', WHERE, typeof body, 'a text or a Uint8Array: what was sent')
  }
  if (bytes.length > bytesMax) {
    const where = 'the body of a webhook'
    throw valueTooLarge({ where, bytes: bytes.length, bytesMax, exact: true })
  }
  return {
    method: method.toUpperCase(),
    headers: new Map(pairsOf(headers, 'headers').map(([name, text]) => [name.toLowerCase(), text])),
    body: bytes,
    query: Object.fromEntries(pairsOf(query, 'query')),
  }
}

/** An object, or Headers and URLSearchParams. A name that is there several times has all its values. */
function pairsOf(given: unknown, option: string): readonly (readonly [string, string])[] {
  if (typeof given !== 'object' || given === null) {
    throw optionInvalid(option, WHERE, given, 'an object of texts')
  }
  const isIterable = Symbol.iterator in given
  const entries = isIterable ? [...(given as Iterable<[string, unknown]>)] : Object.entries(given)
  const pairs = new Map<string, string>()
  for (const [name, value] of entries) {
    if (value === undefined) continue
    const text = Array.isArray(value) ? value.map(String).join(', ') : String(value)
    const before = pairs.get(name)
    pairs.set(name, before === undefined ? text : `${before}, ${text}`)
  }
  return [...pairs]
}

export function inputOf(request: ReadRequest, rules: WebhookRules): WebhookInput {
  const names = [...USUAL_HEADERS, ...rules.headers]
  const kept = names.flatMap((name) => {
    const value = request.headers.get(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    body: bodyOf(request),
    headers: Object.fromEntries(kept),
    query: request.query,
    method: request.method,
  }
}

function bodyOf({ body, headers }: ReadRequest): unknown {
  if (body.length === 0) return null
  const [type = ''] = (headers.get('content-type') ?? '').toLowerCase().split(';')
  const isJson = /^application\/([a-z0-9.+-]+\+)?json$/.test(type.trim())
  const encoding = headers.get('content-encoding') ?? 'identity'
  if (!isJson || encoding !== 'identity') throw bodyOfAnotherType()
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
  } catch (error) {
    throw bodyNotJson('it is not UTF-8', error)
  }
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    // The parser's own words show what was sent.
    const [, at] = /position (\d+)/.exec((error as Error).message) ?? []
    throw bodyNotJson(at === undefined ? 'it cannot be parsed' : `it is wrong at position ${at}`)
  }
}

/** By what the request is known; null: by nothing. */
export function dedupeKey(
  rules: WebhookRules,
  request: ReadRequest,
  input: WebhookInput,
): string | null {
  const { dedupe } = rules
  if (dedupe === null) return request.headers.get('webhook-id') ?? null
  if ('header' in dedupe) {
    const value = request.headers.get(dedupe.header)
    if (!value) throw dedupeMissing(`header "${dedupe.header}"`)
    return value
  }
  const { body, headers, query } = input
  const scope = new Map<string, unknown>(Object.entries({ body, headers, query }))
  const what = `value of "${dedupe.expression}"`
  let value: unknown
  try {
    value = compile(dedupe.expression, 'a webhook').evaluate(scope)
  } catch (error) {
    if (PerdureError.is(error, 'EXPRESSION_FAILED')) throw dedupeMissing(what, error)
    throw error
  }
  if (value === null || value === '') throw dedupeMissing(what)
  return JSON.stringify(value)
}

/** The same key is the same run. */
export function runIdOf(webhook: { id: string; definition: string }, key: string): RunId {
  const hash = createHash('sha256').update(`${webhook.id}\n${key}`).digest('hex').slice(0, 32)
  const room = 128 - WEBHOOK_RUN.length - hash.length - 1
  return `${WEBHOOK_RUN}${webhook.definition.slice(0, room)}:${hash}` as RunId
}

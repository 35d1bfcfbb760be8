// The body of a request: read up to a limit, and only of the types that a page of another origin cannot send unasked.

import { contentTypeInvalid, requestInvalid, requestTooLarge } from './errors.js'
import { type JsonLimits, parseJson } from './json.js'
import { parseRich, RICH_TYPE } from './values.js'

const BODY_BYTES_MAX = 4 * 1024 * 1024
const LIMITS: JsonLimits = { depthMax: 64, nodesMax: 100_000 }
/** A value may have 64 levels within the body, and is counted once more where devalue writes it. */
const RICH_LIMITS: JsonLimits = { depthMax: 72, nodesMax: 400_000 }

/** undefined: there is none. */
export async function readBody(request: Request): Promise<unknown> {
  const type = request.headers.get('content-type')
  const bytes = await bytesOf(request)
  if (bytes.length === 0 && type === null) return undefined
  const isRich = type !== null && isOfType(type, RICH_TYPE)
  if (!isRich && (type === null || !isOfType(type, 'application/json'))) {
    throw contentTypeInvalid(type)
  }
  if (bytes.length === 0) return undefined
  const text = textOf(bytes)
  return isRich ? parseRich(text, RICH_LIMITS) : parseJson(text, LIMITS)
}

function isOfType(header: string, type: string): boolean {
  const [name = '', ...parameters] = header.toLowerCase().split(';')
  const isPlain = parameters.every((one) => /^\s*charset="?utf-?8"?\s*$/.test(one))
  return name.trim() === type && isPlain
}

export async function bytesOf(request: Request): Promise<Uint8Array> {
  const encoding = request.headers.get('content-encoding')
  if (encoding !== null && encoding !== 'identity') throw contentTypeInvalid(encoding)
  if (Number(request.headers.get('content-length') ?? 0) > BODY_BYTES_MAX) throw tooLarge()
  if (request.body === null) return new Uint8Array()
  const parts: Uint8Array[] = []
  let length = 0
  // What is left is not read: leaving the loop cancels the stream.
  for await (const part of request.body as unknown as AsyncIterable<Uint8Array>) {
    length += part.length
    if (length > BODY_BYTES_MAX) throw tooLarge()
    parts.push(part)
  }
  return Buffer.concat(parts)
}

const tooLarge = () =>
  requestTooLarge(`its body has more than ${BODY_BYTES_MAX} bytes`, `${BODY_BYTES_MAX} bytes`)

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw requestInvalid([{ path: 'body', message: 'is not UTF-8' }])
  }
}

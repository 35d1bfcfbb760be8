// The body of a request: read up to a limit, and only of the types that a page of another origin cannot send unasked.

import { contentTypeInvalid, requestInvalid, requestTooLarge } from './errors.js'
import type { HeaderReader } from './headers.js'
import { type JsonLimits, parseJson } from './json.js'
import { parseRich, RICH_TYPE } from './values.js'

const BODY_BYTES_MAX = 4 * 1024 * 1024
const LIMITS: JsonLimits = { depthMax: 64, nodesMax: 100_000 }
/** A value may have 64 levels within the body, and is counted once more where devalue writes it. */
const RICH_LIMITS: JsonLimits = { depthMax: 72, nodesMax: 400_000 }

/** undefined: there is none. */
export async function readBody(request: Request, headers: HeaderReader): Promise<unknown> {
  const type = headers.get('content-type')
  const bytes = await bytesOf(request, headers)
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

export async function bytesOf(
  request: Request,
  headers: HeaderReader = request.headers,
): Promise<Uint8Array> {
  const encoding = headers.get('content-encoding')
  if (encoding !== null && encoding !== 'identity') throw contentTypeInvalid(encoding)
  const given = headers.get('content-length')
  if (Number(given ?? 0) > BODY_BYTES_MAX) throw tooLarge()
  if (given !== null) {
    // It says how much comes: no need of a stream, which costs more than the rest of a short request.
    const bytes = new Uint8Array(await request.arrayBuffer())
    if (bytes.length > BODY_BYTES_MAX) throw tooLarge()
    return bytes
  }
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

const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function textOf(bytes: Uint8Array): string {
  try {
    return UTF_8.decode(bytes)
  } catch {
    throw requestInvalid([{ path: 'body', message: 'is not UTF-8' }])
  }
}

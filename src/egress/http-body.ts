// Bodies: what is sent as text, and what is received up to a limit, unpacked.

import type { IncomingMessage } from 'node:http'
import { pipeline, type Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { httpBlocked, httpFailed } from './errors.js'

export interface Sent {
  readonly text: string
  /** If the call says nothing else. */
  readonly type: string
}

export function sentBody(body: unknown): Sent | null {
  if (body === undefined || body === null) return null
  if (typeof body === 'string') return { text: body, type: 'text/plain; charset=utf-8' }
  return { text: JSON.stringify(body), type: 'application/json' }
}

/** `bytesMax` counts what comes out of the decompression: a few KiB can hold a gigabyte. */
export async function receivedBody(
  message: IncomingMessage,
  method: string,
  call: string,
  bytesMax: number,
): Promise<unknown> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of unpacked(message, method, call)) {
    bytes += (chunk as Buffer).length
    if (bytes > bytesMax) {
      throw httpBlocked(
        call,
        `its answer is larger than ${bytesMax} bytes`,
        'ask for less, or fetch it in a step of your own code and store a reference',
      )
    }
    chunks.push(chunk as Buffer)
  }
  return parsed(Buffer.concat(chunks), message.headers['content-type'] ?? '', call)
}

const UNPACK: ReadonlyMap<string, () => NodeJS.ReadWriteStream & Readable> = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
] as [string, () => NodeJS.ReadWriteStream & Readable][])

function unpacked(message: IncomingMessage, method: string, call: string): Readable {
  const encoding = (message.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  const status = message.statusCode ?? 0
  const isEmpty =
    method === 'HEAD' ||
    status === 204 ||
    status === 304 ||
    message.headers['content-length'] === '0'
  if (encoding === 'identity' || encoding === '' || isEmpty) return message
  const unpack = UNPACK.get(encoding)
  if (!unpack) {
    throw httpFailed(
      call,
      `its answer is encoded as ${JSON.stringify(encoding.slice(0, 40))}`,
      'let the service answer with gzip, deflate or br',
    )
  }
  // Whoever stops reading ends both; what goes wrong in the message comes out of the reader.
  return pipeline(message, unpack(), () => {}) as unknown as Readable
}

function parsed(bytes: Buffer, type: string, call: string): unknown {
  const [kind = '', ...parameters] = type
    .toLowerCase()
    .split(';')
    .map((part) => part.trim())
  const isJson = kind === 'application/json' || /^[^/]+\/[^/]+\+json$/.test(kind)
  if (!isJson) return decoderOf(parameters).decode(bytes)
  if (bytes.length === 0) return null
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as unknown
  } catch (error) {
    throw httpFailed(
      call,
      'its answer says that it is JSON, and is not',
      'look at what the service answers, or at what stands in front of it',
      error,
    )
  }
}

function decoderOf(parameters: readonly string[]): InstanceType<typeof TextDecoder> {
  const charset = parameters
    .find((one) => one.startsWith('charset='))
    ?.slice(8)
    .replaceAll('"', '')
  try {
    return new TextDecoder(charset || 'utf-8')
  } catch {
    return new TextDecoder()
  }
}

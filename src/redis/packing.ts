// A snapshot as one value: its parts, each compressed and behind its length.

import { promisify } from 'node:util'
import { deflate, inflate } from 'node:zlib'

const asyncDeflate = promisify(deflate)
const asyncInflate = promisify(inflate)
const LENGTH_BYTES = 4

export async function pack(parts: Iterable<Buffer>): Promise<Buffer> {
  const packed: Buffer[] = []
  for (const part of parts) {
    const small = await asyncDeflate(part, { level: 1 })
    const length = Buffer.alloc(LENGTH_BYTES)
    length.writeUInt32BE(small.length)
    packed.push(length, small)
  }
  return Buffer.concat(packed)
}

export async function* unpack(packed: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < packed.length; ) {
    const from = at + LENGTH_BYTES
    at = from + packed.readUInt32BE(at)
    yield await asyncInflate(packed.subarray(from, at))
  }
}

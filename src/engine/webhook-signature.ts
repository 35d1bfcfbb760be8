// Signatures of webhooks: the Standard Webhooks scheme (standardwebhooks.com), and the HMAC of a body in a header.

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Instant } from '../model/run.js'
import type { WebhookHmac } from '../model/webhook.js'
import type { HttpOptions } from './engine-options.js'
import { secretMissing, signatureInvalid } from './webhook-errors.js'

/** A request is taken so long before and after the time that it was signed with. */
const SIGNED_WITHIN_MS = 5 * 60_000
const PREFIX = 'whsec_'
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
const HEX = /^[0-9a-fA-F]+$/
/** More of them, and somebody lets us compute for nothing. */
const SIGNATURES_MAX = 10

type Secrets = HttpOptions['secrets']
export type SigningKey = Uint8Array

/** The key of a secret: behind whsec_ stands base64, all else is taken as it is. */
export async function keyOf(secrets: Secrets, name: string): Promise<SigningKey> {
  const secret = await secrets?.(name)
  if (!secret?.value) throw secretMissing(name)
  const { value } = secret
  if (!value.startsWith(PREFIX)) return Buffer.from(value)
  const text = value.slice(PREFIX.length)
  if (!BASE64.test(text)) throw secretMissing(name, 'behind whsec_ is no base64')
  return Buffer.from(text, 'base64')
}

export interface Signed {
  readonly id: string
  /** In seconds. */
  readonly timestamp: number
  readonly body: Uint8Array
}

/** 'v1,…' */
export function signatureOf(key: SigningKey, { id, timestamp, body }: Signed): string {
  const hmac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body)
  return `v1,${hmac.digest('base64')}`
}

/** Throws WEBHOOK_SIGNATURE_INVALID. */
export function checkSignature(
  hmac: WebhookHmac,
  key: SigningKey,
  headers: ReadonlyMap<string, string>,
  body: Uint8Array,
  now: Instant,
): void {
  if (hmac.header === null) return checkStandard(key, headers, body, now)
  const given = headers.get(hmac.header)
  if (!given?.startsWith(hmac.prefix)) throw signatureInvalid('missing')
  const text = given.slice(hmac.prefix.length)
  if (!(hmac.encoding === 'hex' ? HEX : BASE64).test(text)) throw signatureInvalid('missing')
  const found = Buffer.from(text, hmac.encoding)
  if (!isSame(found, createHmac('sha256', key).update(body).digest())) {
    throw signatureInvalid('wrong')
  }
}

function checkStandard(
  key: SigningKey,
  headers: ReadonlyMap<string, string>,
  body: Uint8Array,
  now: Instant,
): void {
  const id = headers.get('webhook-id')
  const at = headers.get('webhook-timestamp') ?? ''
  const signatures = headers.get('webhook-signature')?.split(' ') ?? []
  const ours = signatures.filter((one) => one.startsWith('v1,')).slice(0, SIGNATURES_MAX)
  if (!id || !/^\d{1,12}$/.test(at) || ours.length === 0) throw signatureInvalid('missing')
  const timestamp = Number(at)
  const expected = Buffer.from(signatureOf(key, { id, timestamp, body }).slice(3), 'base64')
  const isOne = ours.some((one) => isSame(Buffer.from(one.slice(3), 'base64'), expected))
  if (!isOne) throw signatureInvalid('wrong')
  // Last: whoever has no key learns nothing of our clock.
  if (Math.abs(timestamp * 1000 - now) > SIGNED_WITHIN_MS) throw signatureInvalid('stale')
}

/** In a time that does not depend on where they differ. */
function isSame(found: Uint8Array, expected: Uint8Array): boolean {
  return found.length === expected.length && timingSafeEqual(found, expected)
}

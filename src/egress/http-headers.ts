// Headers of a call and of its answer.

import type { HttpRequest, SecretReference } from '../authoring/graph/http-call.js'
import { httpBlocked } from './errors.js'
import { hostOf } from './http-guard.js'

/** A secret, and where it may be sent. */
export interface BoundSecret {
  readonly value: string
  /** 'api.example.com': there, by https on its usual port. 'api.example.com:8080': there and on that port, by http too. */
  readonly hosts: readonly string[]
}

/** The secret of that name, or undefined. Asked right before it is sent; what it gives is stored nowhere. */
export type Secrets = (name: string) => BoundSecret | undefined | Promise<BoundSecret | undefined>

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const BYTES_MAX = 16 * 1024

/** They say where a message begins, ends and goes: with them a call can be made into two, or sent elsewhere. */
const OURS = new Set(
  'host connection content-length transfer-encoding te trailer upgrade expect keep-alive accept-encoding cookie cookie2'.split(
    ' ',
  ),
)

/** What another host is told as well, after a redirect. */
const HARMLESS = new Set(['accept', 'accept-language', 'content-type', 'user-agent'])

export type GivenHeaders = HttpRequest['headers']

export function checkHeaders(headers: GivenHeaders, call: string): void {
  let bytes = 0
  for (const [name, value] of Object.entries(headers)) {
    const shown = JSON.stringify(name.slice(0, 40))
    if (!NAME.test(name)) throw httpBlocked(call, `${shown} cannot be the name of a header`, PLAIN)
    if (OURS.has(name.toLowerCase()) || /^(proxy|sec)-/i.test(name)) {
      throw httpBlocked(call, `the header ${shown} cannot be set`, 'leave it out')
    }
    if (isSecret(value)) continue
    checkValue(value, shown, call)
    bytes += name.length + value.length
  }
  if (bytes > BYTES_MAX) throw httpBlocked(call, `its headers are over ${BYTES_MAX} bytes`, PLAIN)
}
const PLAIN = 'use letters, digits and -, and a text of one line as its value'

function checkValue(value: unknown, shown: string, call: string): asserts value is string {
  if (typeof value === 'string' && VALUE.test(value)) return
  throw httpBlocked(call, `the header ${shown} does not hold a text of one line`, PLAIN)
}

function isSecret(value: unknown): value is SecretReference {
  if (typeof value !== 'object' || value === null) return false
  const keys = Object.keys(value)
  return keys.length === 1 && typeof (value as Partial<SecretReference>).secret === 'string'
}

/** As they are sent to that host, secrets filled in. Names in small letters. */
export async function headersFor(
  url: URL,
  headers: GivenHeaders,
  call: string,
  secrets: Secrets | undefined,
): Promise<Map<string, string>> {
  const sent = new Map([
    ['accept', '*/*'],
    ['user-agent', 'perdure'],
  ])
  for (const [name, value] of Object.entries(headers)) {
    const text = isSecret(value) ? await secretFor(url, value.secret, call, secrets) : value
    checkValue(text, JSON.stringify(name), call)
    sent.set(name.toLowerCase(), text)
  }
  return sent.set('accept-encoding', 'gzip, deflate, br')
}

async function secretFor(
  url: URL,
  name: string,
  call: string,
  secrets: Secrets | undefined,
): Promise<string> {
  const secret = await secrets?.(name)
  if (!secret) {
    throw httpBlocked(call, `there is no secret ${JSON.stringify(name)}`, 'check its name')
  }
  const host = hostOf(url)
  const isBound = secret.hosts.some((bound) =>
    bound.includes(':') ? bound === host : url.protocol === 'https:' && `${bound}:443` === host,
  )
  if (isBound) return secret.value
  throw httpBlocked(
    call,
    `the secret ${JSON.stringify(name)} is not bound to ${host}`,
    'the one who keeps the secret says to which hosts it may be sent',
  )
}

/** Of what was meant for one host, what another may see. Everything else, secrets first of all, stays behind. */
export function harmless(headers: GivenHeaders): GivenHeaders {
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name, value]) => HARMLESS.has(name.toLowerCase()) && typeof value === 'string',
    ),
  )
}

/** Of an answer. A session that a service opens is nobody's to keep in a journal. */
export function answered(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || name === 'set-cookie' ? [] : [[name, String(value)]],
    ),
  )
}

// Which services may be called. The default is the public internet and nothing else: graphs are data, and whoever writes one must
// not reach what only this machine can reach.
//
// Invariants
//   G1. A name is resolved once per hop; every address it has is checked, and only checked addresses are connected to.
//   G2. `deny` wins over `allow`, and `allow` over the rules.

import { optionInvalid } from '../model/errors.js'
import { isPrivate, isWithin, meaningsOf, type Range, readAddress, readRange } from './addresses.js'
import { httpBlocked } from './errors.js'

export interface GuardOptions {
  /**
   * 'host:port', as it stands in the address ('db.internal:8080', '127.0.0.1:3000', '[::1]:3000'), may be reached although it is
   * private or has another port; '10.1.0.0/16': addresses that may be.
   */
  readonly allow?: readonly string[] | undefined
  /** The same, for what must not be reached in any case: the API of the engine itself. */
  readonly deny?: readonly string[] | undefined
}

export interface Guard {
  readonly allow: Targets
  readonly deny: Targets
}

interface Targets {
  readonly hosts: ReadonlySet<string>
  readonly ranges: readonly Range[]
}

export function readGuard(options: GuardOptions): Guard {
  return { allow: readTargets('allow', options.allow), deny: readTargets('deny', options.deny) }
}

function readTargets(option: string, given: readonly string[] = []): Targets {
  const hosts = new Set<string>()
  const ranges: Range[] = []
  for (const entry of given) {
    const range = readRange(entry)
    const url = `http://${entry}`
    if (range) ranges.push(range)
    else if (/^[^/?#@*\s]+:\d+$/.test(entry) && URL.canParse(url)) hosts.add(hostOf(new URL(url)))
    else throw optionInvalid(option, 'makeHttpCaller', entry, "'host:port' or '10.1.0.0/16'")
  }
  return { hosts, ranges }
}

/** 'api.example.com:443': with its port, and without a dot at the end. */
export function hostOf(url: URL): string {
  return `${url.hostname.replace(/\.$/, '')}:${portOf(url)}`
}

export function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
}

/** The address of a call, as far as it can be judged before its name is resolved. */
export function checkUrl(text: string, call: string, guard: Guard): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url) throw httpBlocked(call, 'its address is not a URL', 'write https://host/path')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw httpBlocked(call, `${url.protocol} is not http or https`, 'use an address of the web')
  }
  if (url.username !== '' || url.password !== '') {
    throw httpBlocked(
      call,
      'its address holds a user or a password',
      'send them in a header, from a secret: { "authorization": { "secret": "NAME" } }',
    )
  }
  const host = hostOf(url)
  if (guard.deny.hosts.has(host)) throw denied(call, host)
  const port = portOf(url)
  if (port !== 80 && port !== 443 && port < 1024 && !guard.allow.hosts.has(host)) {
    throw httpBlocked(call, `port ${port} is not 80, 443 or above 1023`, allowing(host))
  }
  return url
}

/** All of them, or none: a name that has a private address as well is not of the public internet. */
export function checkAddresses(
  url: URL,
  addresses: readonly string[],
  call: string,
  guard: Guard,
): void {
  const host = hostOf(url)
  for (const address of addresses) {
    if (isAmong(address, url, guard.deny)) throw denied(call, host)
    if (guard.allow.hosts.has(host) || isInside(address, guard.allow.ranges)) continue
    if (!isPrivate(address)) continue
    const what = url.hostname === address ? address : `${url.hostname} is ${address}, which`
    throw httpBlocked(call, `${what} is not of the public internet`, allowing(host))
  }
}

const isInside = (text: string, ranges: readonly Range[]): boolean => {
  const address = readAddress(text)
  if (!address) return false
  return meaningsOf(address).some((one) => ranges.some((range) => isWithin(one, range)))
}

/** Also by the address, under whatever name it was reached. */
function isAmong(address: string, url: URL, { hosts, ranges }: Targets): boolean {
  const bare = address.includes(':') ? `[${address}]` : address
  return hosts.has(`${bare}:${portOf(url)}`) || isInside(address, ranges)
}

const allowing = (host: string): string =>
  `if it is meant to be called, the one who runs the engine allows it: allow: ['${host}']`

const denied = (call: string, host: string) =>
  httpBlocked(call, `${host} is not to be called`, 'it is among those that are denied')

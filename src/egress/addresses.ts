// IP addresses, and which of them are not of the public internet. An IPv6 address that carries an IPv4 address in it
// (mapped, NAT64, 6to4) is judged by both: node:net's BlockList does not look into NAT64.

import { isIPv4, isIPv6 } from 'node:net'

export interface Address {
  readonly family: 4 | 6
  readonly value: bigint
}

export interface Range extends Address {
  /** Bits that count, from the left. */
  readonly bits: number
}

export function readAddress(text: string): Address | null {
  const plain = text.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, '')
  if (isIPv4(plain)) return { family: 4, value: joined(plain.split('.').map(Number), 8) }
  return isIPv6(plain) ? { family: 6, value: joined(groupsOf(plain), 16) } : null
}

/** '10.0.0.0/8', 'fc00::/7'; an address alone is a range of one. */
export function readRange(text: string): Range | null {
  const [base = '', length, ...rest] = text.split('/')
  const address = readAddress(base)
  if (!address || rest.length > 0) return null
  const most = address.family === 4 ? 32 : 128
  const bits = length === undefined ? most : /^\d{1,3}$/.test(length) ? Number(length) : -1
  return bits >= 0 && bits <= most ? { ...address, bits } : null
}

function joined(parts: readonly number[], bitsEach: number): bigint {
  return parts.reduce((value, part) => (value << BigInt(bitsEach)) | BigInt(part), 0n)
}

/** The eight groups of an IPv6 address that node has found to be one. */
function groupsOf(text: string): number[] {
  const hex = text.replace(/\d+\.\d+\.\d+\.\d+$/, (dotted) => {
    const value = joined(dotted.split('.').map(Number), 8)
    return `${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`
  })
  const [left = '', right] = hex.split('::')
  const groups = (part: string) =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
  if (right === undefined) return groups(left)
  const [before, after] = [groups(left), groups(right)]
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after]
}

export function isWithin(address: Address, range: Range): boolean {
  if (address.family !== range.family) return false
  const rest = BigInt((range.family === 4 ? 32 : 128) - range.bits)
  return address.value >> rest === range.value >> rest
}

// ── what is not public ──────────────────────────────────────────────────────────────────────────────────────

const rangesOf = (...texts: readonly string[]): readonly Range[] =>
  texts.map((text) => {
    const range = readRange(text)
    if (!range) throw new Error(`${text} is not a range`)
    return range
  })

/** Read when the first address is judged: an engine that calls no service does not begin with it. */
const once = <T>(make: () => T): (() => T) => {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

const blocked = once(() =>
  rangesOf(
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.0.0.0/24',
    '192.168.0.0/16',
    '198.18.0.0/15',
    '224.0.0.0/4',
    '240.0.0.0/4',
    '::/128',
    '::1/128',
    // Local NAT64, discard, Teredo, and the site-local range of old.
    '64:ff9b:1::/48',
    '100::/64',
    '2001::/32',
    'fc00::/7',
    'fe80::/10',
    'fec0::/10',
    'ff00::/8',
  ),
)

/** Ranges whose addresses have an IPv4 address in them, and how many bits stand to the right of it. */
const carriers = once((): readonly (readonly [Range, bigint])[] => [
  ...rangesOf('::/96', '::ffff:0:0/96', '::ffff:0:0:0/96', '64:ff9b::/96').map(
    (range) => [range, 0n] as const,
  ),
  ...rangesOf('2002::/16').map((range) => [range, 80n] as const),
])

/** The address, and the IPv4 address that it carries. */
export function meaningsOf(address: Address): readonly Address[] {
  const carried = carriers()
    .filter(([range]) => isWithin(address, range))
    .map(([, rest]): Address => ({ family: 4, value: (address.value >> rest) & 0xffffffffn }))
  return [address, ...carried]
}

/** Whether it is not of the public internet. What cannot be read is not. */
export function isPrivate(text: string): boolean {
  const address = readAddress(text)
  if (!address) return true
  return meaningsOf(address).some((one) => blocked().some((range) => isWithin(one, range)))
}

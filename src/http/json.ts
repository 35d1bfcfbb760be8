// JSON as the API takes it: stricter than JSON.parse, which drops the first of two equal keys, rounds integers and overflows
// the stack in the depth. One pass over the text, without recursion, before anything is made of it.

import { requestInvalid, requestTooLarge } from './errors.js'

export interface JsonLimits {
  readonly depthMax: number
  /** Values and keys. */
  readonly nodesMax: number
}

export function parseJson(text: string, limits: JsonLimits): unknown {
  new Scan(text, limits).all()
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    // A wrong escape, or a control character in a text.
    const at = /position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1]
    throw malformed(text, at === undefined ? text.length : Number(at))
  }
}

function malformed(text: string, at: number) {
  const before = text.slice(0, at).split('\n')
  const place = `line ${before.length}, column ${(before.at(-1) ?? '').length + 1}`
  return requestInvalid([{ path: 'body', message: `is no JSON at position ${at} (${place})` }])
}

/** What may come next. */
type Next = 'value' | 'value or ]' | 'key' | 'key or }' | 'colon' | 'comma or end'

const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
const SPACE = /[ \t\n\r]*/y
const LITERALS = ['true', 'false', 'null']

/** A whole number that comes out as another one would be a silent change. JavaScript itself writes 2 ** 60 as …847000. */
const isKept = (digits: string, value: number): boolean =>
  Number.isSafeInteger(value) || String(value) === digits || BigInt(value) === BigInt(digits)

class Scan {
  private readonly text: string
  private readonly limits: JsonLimits
  /** The keys of each object that is open; null: a list. */
  private readonly open: (Set<string> | null)[] = []
  private at = 0
  private nodes = 0
  private next: Next | 'end' = 'value'

  constructor(text: string, limits: JsonLimits) {
    this.text = text
    this.limits = limits
  }

  all(): void {
    for (;;) {
      this.skip(SPACE)
      if (this.at >= this.text.length) break
      if (this.next === 'end') throw malformed(this.text, this.at)
      this.token(this.text.charAt(this.at))
    }
    if (this.next !== 'end') throw malformed(this.text, this.at)
  }

  private token(c: string): void {
    const { next } = this
    if (next === 'colon') {
      if (c !== ':') throw malformed(this.text, this.at)
      this.at += 1
      this.next = 'value'
    } else if (next === 'comma or end') this.commaOrEnd(c)
    else if ((next === 'key or }' && c === '}') || (next === 'value or ]' && c === ']'))
      this.close()
    else if (next === 'key' || next === 'key or }') this.key(c)
    else this.value(c)
  }

  private commaOrEnd(c: string): void {
    const isObject = this.open.at(-1) !== null
    if (c === ',') {
      this.at += 1
      this.next = isObject ? 'key' : 'value'
    } else if (c === (isObject ? '}' : ']')) this.close()
    else throw malformed(this.text, this.at)
  }

  private key(c: string): void {
    if (c !== '"') throw malformed(this.text, this.at)
    this.count()
    const from = this.at
    this.string()
    const raw = this.text.slice(from, this.at)
    let key: string
    try {
      key = raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1)
    } catch {
      throw malformed(this.text, from)
    }
    const keys = this.open.at(-1)
    if (keys?.has(key)) {
      const message = `has the key ${raw.length > 80 ? `${raw.slice(0, 80)}…` : raw} twice in one object, at position ${from}`
      throw requestInvalid([{ path: 'body', message }])
    }
    keys?.add(key)
    this.next = 'colon'
  }

  private value(c: string): void {
    this.count()
    if (c === '{' || c === '[') {
      if (this.open.length >= this.limits.depthMax) {
        const message = `is nested deeper than ${this.limits.depthMax}, at position ${this.at}`
        throw requestInvalid([{ path: 'body', message }])
      }
      this.open.push(c === '{' ? new Set() : null)
      this.at += 1
      this.next = c === '{' ? 'key or }' : 'value or ]'
      return
    }
    if (c === '"') this.string()
    else if (c === '-' || (c >= '0' && c <= '9')) this.number()
    else {
      const literal = LITERALS.find((one) => this.text.startsWith(one, this.at))
      if (!literal) throw malformed(this.text, this.at)
      this.at += literal.length
    }
    this.ended()
  }

  private number(): void {
    NUMBER.lastIndex = this.at
    const match = NUMBER.exec(this.text)
    if (!match) throw malformed(this.text, this.at)
    const [digits, fraction, exponent] = match
    const value = Number(digits)
    const isWhole = fraction === undefined && exponent === undefined
    const given = digits.length > 40 ? `${digits.slice(0, 40)}…` : digits
    if (!Number.isFinite(value) || (isWhole && !isKept(digits, value))) {
      const message = `has the number ${given} at position ${this.at}, which JavaScript cannot keep: send it as a text`
      throw requestInvalid([{ path: 'body', message }])
    }
    this.at += digits.length
  }

  /** To its end; what is inside is for JSON.parse. */
  private string(): void {
    const from = this.at
    for (let at = from + 1; ; ) {
      const quote = this.text.indexOf('"', at)
      if (quote < 0) throw malformed(this.text, this.text.length)
      let slashes = 0
      while (this.text.charAt(quote - 1 - slashes) === '\\') slashes += 1
      at = quote + 1
      if (slashes % 2 === 1) continue
      this.at = at
      return
    }
  }

  private close(): void {
    this.open.pop()
    this.at += 1
    this.ended()
  }

  private ended(): void {
    this.next = this.open.length === 0 ? 'end' : 'comma or end'
  }

  private count(): void {
    this.nodes += 1
    if (this.nodes <= this.limits.nodesMax) return
    const { nodesMax } = this.limits
    throw requestTooLarge(`it has more than ${nodesMax} values`, `${nodesMax} values in one body`)
  }

  private skip(pattern: RegExp): void {
    pattern.lastIndex = this.at
    pattern.exec(this.text)
    this.at = pattern.lastIndex
  }
}

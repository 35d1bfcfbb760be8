import vm from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decode, encode, storedBytes } from '../../src/model/codec.js'
import { likeness } from './likeness.js'

const where = 'the result of step "charge"'

/** Units that break naive codecs: NUL, the wire's separator, halves of characters, what JSON escapes. */
const unit = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  fc.constantFrom('\0', '\u001f', '\n', '\u007f', '\u0085', '\u2028', '\ud800', '\udfff'),
  fc.constantFrom('"', '\\', '<', '~', '😀', 'é', ' '),
)
const text = fc.string({ unit, maxLength: 12 })
const key = fc.oneof(
  { weight: 6, arbitrary: text },
  {
    weight: 1,
    arbitrary: fc.constantFrom('__proto__', 'constructor', 'toJSON', 'then', 'length', '0', '10'),
  },
)

function errorOf(name: string, message: string, fields: Record<string, unknown>): Error {
  const error = new Error(message, 'cause' in fields ? { cause: fields.cause } : undefined)
  Object.defineProperty(error, 'name', { value: name || 'Error', configurable: true })
  for (const [field, value] of Object.entries(fields)) {
    if (['cause', 'message', 'stack', 'name'].includes(field)) continue
    Object.defineProperty(error, field, { value, enumerable: true })
  }
  return error
}

const special: fc.Arbitrary<unknown>[] = [
  fc.constantFrom(-0, Number.NaN, Infinity, -Infinity, undefined, 2 ** 53 + 2, 5e-324, 0.1 + 0.2),
  fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
  fc.uint8Array({ maxLength: 20 }).map((bytes) => bytes.buffer.slice(0)),
  fc.uint8Array({ maxLength: 20 }).map((bytes) => bytes.subarray(1)),
  fc.constantFrom(/a"b\/c/giu, /\u2028/, /(?:)/),
  fc.webUrl().map((url) => new URL(url)),
  fc.date({ noInvalidDate: false }),
]
const leaf = [text, fc.double(), fc.integer(), fc.boolean(), fc.constant(null), ...special]
const rich = fc.anything({
  key,
  values: [
    ...leaf,
    fc
      .tuple(text, text, fc.dictionary(key, fc.oneof(...leaf), { maxKeys: 4 }))
      .map(([name, message, fields]) => errorOf(name, message, fields)),
  ],
  maxDepth: 4,
  withBigInt: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withNullPrototype: true,
  withObjectString: true,
  withSparseArray: true,
  withTypedArray: true,
  stringUnit: unit,
})
const json = fc.anything({
  key,
  values: [text, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer(), fc.boolean()],
  maxDepth: 5,
  withNullPrototype: true,
  stringUnit: unit,
})

/** What PostgreSQL's text and our wire format would not take. */
function isFit(stored: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  return stored.isWellFormed() && !/[\u0000-\u001f]/.test(stored)
}

describe('encode and decode', () => {
  test('give back any storable value as it was, with key order, -0, undefined and holes', () => {
    fc.assert(
      fc.property(rich, (value) => {
        expect(likeness(decode(encode(value, where)))).toBe(likeness(value))
      }),
      { numRuns: 4_000 },
    )
  }, 60_000)

  test('give a replay the text of the first run', () => {
    fc.assert(
      fc.property(rich, (value) => {
        const stored = encode(value, where)
        expect(encode(decode(stored), where)).toBe(stored)
      }),
      { numRuns: 3_000 },
    )
  }, 60_000)

  test('make texts that PostgreSQL and the wire take: no control characters, no half characters', () => {
    fc.assert(
      fc.property(rich, (value) => isFit(encode(value, where))),
      { numRuns: 3_000 },
    )
  }, 60_000)

  test('keep JSON-safe values as exactly the JSON that JSON.stringify writes', () => {
    fc.assert(
      fc.property(json, (value) => {
        fc.pre(!likeness(value).includes('-0'))
        const stored = encode(value, where)
        expect(stored).toBe(JSON.stringify(value))
        expect(isFit(stored)).toBe(true)
        expect(likeness(decode(stored))).toBe(likeness(value))
      }),
      { numRuns: 3_000 },
    )
  }, 60_000)

  test('give a fresh value at each call', () => {
    for (const value of [{ list: [1] }, { at: new Date(0) }]) {
      const stored = encode(value, where)
      expect(decode(stored)).not.toBe(decode(stored))
    }
  })

  test('leave Object.prototype as it was', () => {
    const before = Object.getOwnPropertyNames(Object.prototype).join()
    for (const beside of [1, new Date(0)]) {
      const value = [JSON.parse('{"__proto__":{"admin":true},"b":1}'), beside]
      const back = decode(encode(value, where)) as [Record<string, unknown>]
      expect(Object.keys(back[0])).toEqual(['__proto__', 'b'])
      expect(back[0].admin).toBeUndefined()
      expect(Object.getPrototypeOf(back[0])).toBe(Object.prototype)
    }
    expect(Object.getOwnPropertyNames(Object.prototype).join()).toBe(before)
    expect(({} as { admin?: unknown }).admin).toBeUndefined()
  })
})

describe('the stored text', () => {
  const shared = { n: 1 }
  const holes: unknown[] = [1]
  holes[3] = 2
  const far: unknown[] = [1]
  far[4_000_000_000] = 2
  test.each([
    {
      value: { b: 1, a: [true, null, 'x'] },
      stored: '{"b":1,"a":[true,null,"x"]}',
      because: 'plain values are plain JSON',
    },
    { value: undefined, stored: '~-1', because: 'no result is a value of its own' },
    { value: null, stored: 'null', because: 'null is JSON' },
    { value: '~', stored: '"~"', because: 'a tilde in a text is no tag' },
    { value: -0, stored: '~-6', because: 'JSON would lose the sign of zero' },
    {
      value: [shared, shared],
      stored: '[{"n":1},{"n":1}]',
      because: 'one object twice is two in plain JSON',
    },
    {
      value: new Date(0),
      stored: '~[["Date","1970-01-01T00:00:00.000Z"]]',
      because: 'a Date stays a Date',
    },
    {
      value: new Date(8.64e15),
      stored: '~[["Date","+275760-09-13T00:00:00.000Z"]]',
      because: 'the last Date is one',
    },
    { value: holes, stored: '~[[1,-2,-2,2],1,2]', because: 'holes are not undefined' },
    {
      value: far,
      stored: '~[[-7,4000000001,0,1,4000000000,2],1,2]',
      because: 'a sparse array costs what is in it',
    },
    {
      value: '\0\u001f\ud800',
      stored: '"\\u0000\\u001f\\ud800"',
      because: 'what PostgreSQL refuses is escaped',
    },
    {
      value: Object.assign(Object.create(null), { a: 1 }),
      stored: '{"a":1}',
      because: 'the null prototype is not part of a value',
    },
    {
      value: vm.runInNewContext('({ a: [1, { b: 2 }] })'),
      stored: '{"a":[1,{"b":2}]}',
      because: 'plain objects of another realm are plain',
    },
  ])('is $stored, because $because', ({ value, stored }) => {
    expect(encode(value, where)).toBe(stored)
    expect(encode(decode(stored), where)).toBe(stored)
  })

  test('says where a cycle leads', () => {
    const cyclic: Record<string, unknown> = { list: [] }
    cyclic.self = cyclic
    ;(cyclic.list as unknown[]).push(cyclic)
    const back = decode(encode(cyclic, where)) as { self: unknown; list: unknown[] }
    expect(back.self).toBe(back)
    expect(back.list[0]).toBe(back)
  })

  test('holds errors that cause themselves', () => {
    const error = new Error('loop')
    error.cause = error
    const back = decode(encode({ error, at: new Map([[error, 1]]) }, where)) as {
      error: Error
      at: Map<unknown, unknown>
    }
    expect(back.error).toBeInstanceOf(Error)
    expect(back.error.message).toBe('loop')
    expect(back.error.cause).toBe(back.error)
    expect(back.at.get(back.error)).toBe(1)
  })

  test('holds only the bytes that a view shows', () => {
    const secret = Buffer.from('secret-abc')
    const view = new Uint8Array(secret.buffer, secret.byteOffset + 7, 3)
    const stored = encode(view, where)
    expect(stored).toBe(`~[["Uint8Array",1],["ArrayBuffer","${btoa('abc')}"]]`)
  })

  test('gives back a Buffer as a Buffer', () => {
    const back = decode(encode({ file: Buffer.from('hé') }, where)) as { file: Buffer }
    expect(Buffer.isBuffer(back.file)).toBe(true)
    expect(back.file.toString()).toBe('hé')
  })

  test.each([
    { code: 'new Map([["k", new Date(0)]])', like: 'Map("k"=>Date(0))' },
    { code: '[new Uint8Array([1, 2]), /x/g]', like: '[2|"0":Uint8Array(1,2),"1":RegExp(x|g)]' },
    { code: 'new Set([[1n]])', like: 'Set([1|"0":1n])' },
    {
      code: 'Object.assign(new RangeError("far"), { stack: "s" })',
      like: 'Error(RangeError|far|s|none|)',
    },
  ])('of $code made in another realm is as of one made here', ({ code, like }) => {
    expect(likeness(decode(encode(vm.runInNewContext(code), where)))).toBe(like)
  })

  test('is made of what a getter gave when it was read once', () => {
    let reads = 0
    const tricky = {
      get answer() {
        reads += 1
        return reads === 1 ? 42 : () => 'never checked'
      },
    }
    expect(encode(tricky, where)).toBe('{"answer":42}')
    expect(reads).toBe(1)
  })

  test('never comes from toJSON', () => {
    const prototype = Object.prototype as { toJSON?: unknown }
    prototype.toJSON = () => 'polluted'
    try {
      expect(encode({ a: [1] }, where)).toBe('{"a":[1]}')
    } finally {
      delete prototype.toJSON
    }
  })
})

describe('storedBytes', () => {
  test('counts UTF-8, not characters', () => {
    expect(storedBytes('"é😀"')).toBe(2 + 2 + 4)
  })
})

describe('decode', () => {
  test.each([
    { stored: '', because: 'nothing is no value' },
    { stored: '{"a":', because: 'half a text is no value' },
    { stored: '~', because: 'the tag alone is no value' },
    { stored: '~[]', because: 'it is empty' },
    { stored: '~[["Nope",1],1]', because: 'the kind is unknown' },
    { stored: '~[["Object",1],1]', because: 'boxed numbers are never written' },
    { stored: '~[["null"]]', because: 'null prototypes are never written' },
    { stored: '~[["URLSearchParams","a=1"]]', because: 'search params are never written' },
    {
      stored: '~[["Temporal.Instant","1970-01-01T00:00:00Z"]]',
      because: 'Temporal is never written',
    },
    { stored: '~[["DataView",1],["ArrayBuffer","AA=="]]', because: 'DataViews are never written' },
    { stored: '~[["Error",1],{"name":2},"x"]', because: 'an error has a message' },
    { stored: '~[["Error",1],5]', because: 'an error is a record' },
    { stored: '~[["Pairs",1],{}]', because: 'pairs are a list' },
    { stored: '~[["Pairs",1],[2,2],7]', because: 'keys are texts' },
    { stored: '~[["Buffer",1],"x"]', because: 'a Buffer is bytes' },
    { stored: '~[{"__proto__":1},1]', because: 'it would set a prototype' },
    {
      stored: `~[${'[1],'.repeat(3)}[0,99]]`.replace('[1],', '[99],'),
      because: 'it points outside',
    },
    { stored: null as unknown as string, because: 'it is no text' },
  ])('refuses $stored: $because', ({ stored }) => {
    expect(() => decode(stored)).toThrow(
      expect.objectContaining({ name: 'PerdureError', code: 'VALUE_UNSTORABLE' }),
    )
  })

  test('refuses a text nested so deeply that reading it would end the process', () => {
    const depth = 200_000
    const links = Array.from({ length: depth }, (_, i) => `[${i + 1}]`)
    expect(() => decode(`~[${links.join()},1]`)).toThrow('not a value that Perdure wrote')
  })

  test('does not tell what is in a text that is not ours', () => {
    expect(() => decode('password=hunter2')).toThrow(/^(?!.*hunter2)/)
  })
})

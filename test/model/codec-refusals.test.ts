import { describe, expect, test } from 'vitest'
import { encode } from '../../src/model/codec.js'
import { PerdureError } from '../../src/model/errors.js'
import { VALUE_BYTES_MAX, VALUE_DEPTH_MAX } from '../../src/model/limits.js'

const where = 'the result of step "charge"'

function refusal(value: unknown, bytesMax?: number): PerdureError {
  try {
    encode(value, where, bytesMax)
  } catch (error) {
    if (PerdureError.is(error)) return error
    throw error
  }
  throw new Error('it was stored')
}

class Order {
  id = 7
}
class Money {
  toJSON() {
    return '5 EUR'
  }
}
class Orders extends Map {}
class Lines extends Array {}
class Bytes extends Uint8Array {}
const trap = (name: string) =>
  new Proxy(
    {},
    {
      [name]: () => {
        throw new Error(`${name} trap`)
      },
    },
  )

function nested(depth: number, wrap: (inner: unknown) => unknown, inner: unknown = 1): unknown {
  let value = inner
  for (let i = 0; i < depth; i += 1) value = wrap(value)
  return value
}

describe('a value that cannot be stored', () => {
  const sym = Symbol('tag')
  test.each([
    { value: () => 1, path: '', found: 'it is a function', because: 'functions are code' },
    {
      value: { user: { orders: [0, 1, 2, { save() {} }] } },
      path: '.user.orders[3].save',
      found: 'a function',
      because: 'the path leads to it',
    },
    {
      value: { 'a b': [Symbol('x')] },
      path: '["a b"][0]',
      found: 'a symbol',
      because: 'symbols are of one process',
    },
    {
      value: { [sym]: 1 },
      path: '[Symbol(tag)]',
      found: 'key is a symbol',
      because: 'JSON would drop it',
    },
    {
      value: { order: new Order() },
      path: '.order',
      found: 'an instance of Order',
      because: 'its class would be lost',
    },
    {
      value: [new Money()],
      path: '[0]',
      found: 'an instance of Money',
      because: 'toJSON is no way back',
    },
    {
      value: { toJSON: () => 1 },
      path: '.toJSON',
      found: 'a function',
      because: 'also in a plain object',
    },
    {
      value: Object.create({ a: 1 }),
      path: '',
      found: 'a prototype of its own',
      because: 'what it inherits would be lost',
    },
    {
      value: new Orders(),
      path: '',
      found: 'an instance of Orders',
      because: 'a subclass of Map is not a Map',
    },
    {
      value: new Lines(),
      path: '',
      found: 'an instance of Lines',
      because: 'a subclass of Array is not an Array',
    },
    {
      value: new Bytes(1),
      path: '',
      found: 'an instance of Bytes',
      because: 'a subclass of Uint8Array is not one',
    },
    {
      value: { sent: Promise.resolve() },
      path: '.sent',
      found: 'a promise',
      because: 'somebody forgot to await',
    },
    {
      value: new WeakMap(),
      path: '',
      found: 'an instance of WeakMap',
      because: 'it cannot be listed',
    },
    {
      value: new URLSearchParams('a=1'),
      path: '',
      found: 'an instance of URLSearchParams',
      because: 'it is not among the kinds',
    },
    {
      value: new DataView(new ArrayBuffer(1)),
      path: '',
      found: 'an instance of DataView',
      because: 'it is not among the kinds',
    },
    {
      value: Object(5),
      path: '',
      found: 'an instance of Number',
      because: 'boxed numbers are no numbers',
    },
    {
      value: new Map([['k', { f() {} }]]),
      path: '.get("k").f',
      found: 'a function',
      because: 'Maps are looked into',
    },
    {
      value: new Map([[() => 1, 1]]),
      path: '.keys()[0]',
      found: 'a function',
      because: 'keys of Maps too',
    },
    { value: new Set([1, sym]), path: '.values()[1]', found: 'a symbol', because: 'Sets too' },
    {
      value: new Error('x', { cause: { f() {} } }),
      path: '.cause.f',
      found: 'a function',
      because: 'causes too',
    },
    {
      value: Object.assign(new Error('x'), { req: new Order() }),
      path: '.req',
      found: 'an instance of Order',
      because: 'fields of errors too',
    },
    {
      value: Object.assign(new Error('x'), { code: sym }),
      path: '.code',
      found: 'a symbol',
      because: 'codes of errors too',
    },
    {
      value: 'abc'.match(/b/),
      path: '.index',
      found: 'a named property of an array',
      because: 'JSON would drop it',
    },
    {
      value: Object.assign([new Date(0)], { 4294967295: 1 }),
      path: '["4294967295"]',
      found: 'a named property of an array',
      because: 'that is one more than the last index',
    },
    {
      value: Object.assign([1], { [sym]: 1 }),
      path: '[Symbol(tag)]',
      found: 'key is a symbol',
      because: 'arrays too',
    },
    {
      value: Object.assign(new Date(0), { zone: 'CET' }),
      path: '.zone',
      found: 'a named property of a Date',
      because: 'it would be lost',
    },
    {
      value: Object.assign(new Map(), { owner: 1 }),
      path: '.owner',
      found: 'a named property of a Map',
      because: 'it would be lost',
    },
    {
      value: {
        get total() {
          throw new Error('no rates')
        },
      },
      path: '.total',
      found: 'throws when it is read ("no rates")',
      because: 'a getter failed',
    },
    {
      value: {
        get total() {
          throw null
        },
      },
      path: '.total',
      found: 'throws when it is read',
      because: 'a getter threw nothing',
    },
    {
      value: [trap('ownKeys')],
      path: '[0]',
      found: 'throws when it is read',
      because: 'a proxy failed',
    },
    {
      value: [trap('getPrototypeOf')],
      path: '[0]',
      found: 'throws when it is read',
      because: 'a proxy hid its kind',
    },
    {
      value: { a: new Proxy(new Map(), {}) },
      path: '.a',
      found: 'throws when it is read',
      because: 'a proxy of a Map is none',
    },
    {
      value: Object.create(Date.prototype),
      path: '',
      found: 'throws when it is read',
      because: 'it only looks like a Date',
    },
    {
      value: Object.create(Array.prototype),
      path: '',
      found: 'an instance of Array',
      because: 'it only looks like an Array',
    },
    {
      value: Object.setPrototypeOf([1], Object.prototype),
      path: '',
      found: 'a prototype of its own',
      because: 'an Array in disguise would come back as an object',
    },
    {
      value: Object.setPrototypeOf([1], null),
      path: '',
      found: 'a prototype of its own',
      because: 'an Array without a prototype too',
    },
  ])('is refused at "$path" ($found), because $because', ({ value, path, found }) => {
    const error = refusal(value)
    expect(error.code).toBe('VALUE_UNSTORABLE')
    expect(error.message).toContain(where)
    expect(error.message).toContain(`${path || 'it'} is `)
    expect(error.message).toContain(found)
    expect(error.details).toEqual({ path })
    expect(error.hint).not.toBe('')
    expect(error.retryable).toBe(false)
  })

  test('names the remedy: return what you need, or use braces', () => {
    expect(refusal(() => 1).hint).toMatch(/return what you need.*use braces/)
    expect(refusal(Promise.resolve()).hint).toBe('await it first')
  })

  test('has a message of one screen, however long its keys are', () => {
    const error = refusal(
      nested(
        20,
        (inner) => ({ ['k'.repeat(1000)]: inner }),
        () => 1,
      ),
    )
    expect(error.message.length).toBeLessThan(400)
  })
})

describe('depth', () => {
  const wraps = [
    { kind: 'arrays', wrap: (inner: unknown) => [inner] },
    { kind: 'objects', wrap: (inner: unknown) => ({ a: inner }) },
    { kind: 'Maps', wrap: (inner: unknown) => new Map([[1, inner]]) },
    { kind: 'Sets', wrap: (inner: unknown) => new Set([inner]) },
    { kind: 'causes', wrap: (inner: unknown) => new Error('x', { cause: inner }) },
  ]
  test.each(wraps)(`of $kind is ${VALUE_DEPTH_MAX} at most`, ({ wrap }) => {
    expect(() => encode(nested(VALUE_DEPTH_MAX, wrap), where)).not.toThrow()
    expect(() => encode(nested(VALUE_DEPTH_MAX, wrap, new Date(0)), where)).not.toThrow()
    const error = refusal(nested(VALUE_DEPTH_MAX + 1, wrap))
    expect(error.code).toBe('VALUE_UNSTORABLE')
    expect(error.message).toContain('nested more than 64 deep')
    expect(error.details).not.toEqual({ path: '' })
  })

  test.each(wraps)('of 100,000 $kind is refused without ending the process', ({ wrap }) => {
    expect(refusal(nested(100_000, wrap)).code).toBe('VALUE_UNSTORABLE')
  })
})

describe('a value that is too large', () => {
  test.each([
    { bytes: 10, fits: true, because: 'the limit itself is allowed' },
    { bytes: 9, fits: false, because: 'one byte is too much' },
  ])('$because', ({ bytes, fits }) => {
    // Four two-byte characters and two quotes.
    if (fits) expect(encode('éééé', where, bytes)).toBe('"éééé"')
    else {
      const error = refusal('éééé', bytes)
      expect(error.code).toBe('VALUE_TOO_LARGE')
      expect(error.message).toContain(where)
      expect(error.details).toEqual({ bytes: 10, bytesMax: 9 })
    }
  })

  test('is one of more than 2 MiB as stored', () => {
    expect(encode('x'.repeat(VALUE_BYTES_MAX - 2), where)).toHaveLength(VALUE_BYTES_MAX)
    expect(refusal('x'.repeat(VALUE_BYTES_MAX - 1)).details).toEqual({
      bytes: VALUE_BYTES_MAX + 1,
      bytesMax: VALUE_BYTES_MAX,
    })
  })

  test('is told with its size, plain or not', () => {
    expect(refusal([new Date(0), 'x'.repeat(100)], 100).message).toMatch(/it takes 1\d\d bytes/)
    expect(refusal('x'.repeat(1_000), 100).message).toContain('more than 1002 bytes')
    expect(refusal(new Uint8Array(1_000), 100).message).toContain('more than 1000 bytes')
  })

  test('is refused soon when one object is there 2^63 times', () => {
    const started = performance.now()
    expect(refusal(nested(63, (inner) => ({ a: inner, b: inner }), {})).code).toBe(
      'VALUE_TOO_LARGE',
    )
    expect(performance.now() - started).toBeLessThan(3_000)
  })
})

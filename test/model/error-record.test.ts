import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decode, encode, storedBytes } from '../../src/model/codec.js'
import { decodeError, encodeError, errorRecord } from '../../src/model/error-record.js'
import { errorName } from '../../src/model/error-shape.js'
import { PerdureError, valueUnstorable } from '../../src/model/errors.js'
import { ERROR_BYTES_MAX, ERROR_TEXT_MAX } from '../../src/model/limits.js'

const where = 'step "charge"'
const recorded = (thrown: unknown): Error => decodeError(encodeError(thrown, where))

class CardDeclined extends Error {
  readonly reason: string
  constructor(reason: string) {
    super(`declined: ${reason}`)
    this.reason = reason
  }
  get short() {
    return this.reason.slice(0, 2)
  }
}
class Renamed extends TypeError {
  override name = 'CardError'
}

describe('a recorded error', () => {
  test('has the name, message, stack, code, cause and own fields of the thrown one', () => {
    const cause = new RangeError('too far')
    const error = Object.assign(new TypeError('no', { cause }), { code: 'E_NO', order: { id: 7 } })
    const back = recorded(error) as typeof error
    expect(back).toBeInstanceOf(Error)
    expect(Object.prototype.toString.call(back)).toBe('[object Error]')
    expect(back.name).toBe('TypeError')
    expect(back.message).toBe('no')
    expect(back.stack).toBe(error.stack)
    expect(back.code).toBe('E_NO')
    expect(back.order).toEqual({ id: 7 })
    expect(Object.keys(back)).toEqual(['code', 'order'])
    expect(back.cause).toMatchObject({ name: 'RangeError', message: 'too far', stack: cause.stack })
  })

  test('is plain JSON that SQL can query', () => {
    const error = Object.assign(new Error('no'), { code: 7, orderId: 'o1', stack: 'at x' })
    expect(encodeError(error, where)).toBe(
      '{"name":"Error","message":"no","code":7,"stack":"at x","fields":{"orderId":"o1"}}',
    )
  })

  test.each([
    {
      error: new CardDeclined('funds'),
      name: 'CardDeclined',
      because: 'a class means its name, also unset',
    },
    { error: new Renamed('x'), name: 'CardError', because: 'a name that is set is the name' },
    { error: new TypeError('x'), name: 'TypeError', because: 'built-in names are kept' },
    {
      error: new DOMException('x', 'AbortError'),
      name: 'AbortError',
      because: 'aborts are told by their name',
    },
    {
      error: new AggregateError([]),
      name: 'AggregateError',
      because: 'several failures are one error',
    },
    {
      error: Object.assign(new Error('x'), { name: '' }),
      name: 'Error',
      because: 'no name is no name',
    },
    {
      error: Object.assign(new Error('x'), { name: 5 }),
      name: 'Error',
      because: 'a number is no name',
    },
    {
      error: Object.setPrototypeOf(new Error('x'), null) as object,
      name: 'Error',
      because: 'it has no class',
    },
  ])('is named $name, because $because', ({ error, name }) => {
    expect(errorName(error)).toBe(name)
    expect(recorded(error).name).toBe(name)
    expect(errorRecord(encodeError(error, where)).name).toBe(name)
  })

  test('of Node keeps the name that Node shows', () => {
    let thrown: unknown
    try {
      Buffer.alloc(-1)
    } catch (error) {
      thrown = error
    }
    expect(recorded(thrown)).toMatchObject({ name: 'RangeError', code: 'ERR_OUT_OF_RANGE' })
  })

  test.each([
    { thrown: 'no funds', message: 'no funds', because: 'a thrown text is the message' },
    { thrown: null, message: 'null', because: 'even nothing can be thrown' },
    { thrown: 42, message: '42', because: 'numbers too' },
    {
      thrown: { message: 'declined', code: 'E1' },
      message: 'declined',
      because: 'it is nearly an error',
    },
    { thrown: { status: 500 }, message: '{"status":500}', because: 'what it holds says most' },
  ])('of $thrown has the message "$message", because $because', ({ thrown, message }) => {
    const back = recorded(thrown) as Error & { thrown: unknown; code?: unknown }
    expect(back).toBeInstanceOf(Error)
    expect(back.name).toBe('NonError')
    expect(back.message).toBe(message)
    expect(back.thrown).toEqual(thrown)
    expect(back.stack).toBeUndefined()
  })

  test('of something unstorable that was thrown names its kind', () => {
    expect(recorded(new Map([[1, () => 1]])).message).toBe('[object Map]')
    expect(recorded(undefined).message).toBe('undefined')
    expect(recorded(Symbol('x')).message).toBe('Symbol(x)')
    expect(recorded(() => 1).message).toContain('function')
  })

  test('keeps a cause that is no Error as it is', () => {
    expect(recorded(new Error('x', { cause: 'the moon' })).cause).toBe('the moon')
    expect(recorded(new Error('x', { cause: { at: new Date(0) } })).cause).toEqual({
      at: new Date(0),
    })
    expect(Object.hasOwn(recorded(new Error('x')), 'cause')).toBe(false)
    expect(Object.hasOwn(recorded(new Error('x', { cause: () => 1 })), 'cause')).toBe(false)
  })

  test('ends a chain of causes where it would repeat itself', () => {
    const first = new Error('first')
    const second = new Error('second', { cause: first })
    first.cause = second
    const back = recorded(first)
    expect((back.cause as Error).message).toBe('second')
    expect((back.cause as Error).cause).toBeUndefined()
  })

  test('leaves out what cannot be stored, and keeps the rest', () => {
    const error = Object.assign(new CardDeclined('funds'), {
      request: new WeakMap(),
      retry: () => 1,
      missing: undefined,
      huge: 'x'.repeat(100_000),
      at: new Date(5),
      errors: [new Error('inner')],
    })
    Object.defineProperty(error, 'late', {
      enumerable: true,
      get: () => {
        throw new Error('no')
      },
    })
    const back = recorded(error) as typeof error
    expect(Object.keys(back)).toEqual(['reason', 'at', 'errors'])
    expect(back.at).toEqual(new Date(5))
    expect(back.errors[0]?.message).toBe('inner')
  })

  test('keeps the errors of an AggregateError', () => {
    const back = recorded(new AggregateError([new Error('one'), new TypeError('two')], 'both'))
    const { errors } = back as unknown as { errors: Error[] }
    expect(errors.map((error) => `${error.name}: ${error.message}`)).toEqual([
      'Error: one',
      'TypeError: two',
    ])
  })

  test('does not set prototypes through a field called __proto__', () => {
    const error = new Error('x')
    Object.defineProperty(error, '__proto__', { value: { admin: true }, enumerable: true })
    const back = recorded(error) as Error & { admin?: unknown }
    expect(back.admin).toBeUndefined()
    expect(Object.keys(back)).toEqual(['__proto__'])
  })

  test('has at most 8 KiB of message and of stack, cut between characters', () => {
    const error = new Error('😀'.repeat(1_000_000))
    const back = recorded(error)
    expect(back.message.length).toBeLessThanOrEqual(ERROR_TEXT_MAX)
    expect(back.message.length).toBeGreaterThan(ERROR_TEXT_MAX - 4)
    expect(back.message.isWellFormed()).toBe(true)
    expect(back.message.endsWith('😀…')).toBe(true)
    expect(back.stack?.length).toBeLessThanOrEqual(ERROR_TEXT_MAX)
  })

  test.each([
    { error: new Error('\0'.repeat(1e6)), because: 'six bytes for each NUL' },
    {
      error: Object.assign(new Error('x'), { name: '\0'.repeat(1e6), code: 'c'.repeat(1e6) }),
      because: 'a long name',
    },
    {
      error: Array.from({ length: 50 }).reduce<Error>(
        (cause) => new Error('é'.repeat(8_000), { cause }),
        new Error('first'),
      ),
      because: 'a long chain',
    },
    { error: new Error('x', { cause: 'x'.repeat(1e6) }), because: 'a long cause' },
    {
      error: Object.assign(
        new Error('x'),
        Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`k${i}`, 'v'.repeat(1_000)])),
      ),
      because: 'many fields',
    },
    { error: 'x'.repeat(1e6), because: 'a long text' },
  ])('is below 64 KiB ($because)', ({ error }) => {
    const stored = encodeError(error, where)
    expect(storedBytes(stored)).toBeLessThanOrEqual(ERROR_BYTES_MAX)
    expect(errorRecord(stored).message).not.toBe('')
  })

  test('is made of anything at all', () => {
    const throws = () => {
      throw new Error('trap')
    }
    const hostile = [
      new Proxy(new Error('x'), { get: throws }),
      new Proxy({}, { getPrototypeOf: throws }),
      new Proxy(() => 1, { get: throws }),
      Object.defineProperty(new Error('x'), 'message', { get: throws }),
      Object.defineProperty(new Error('x'), 'stack', { get: throws }),
    ]
    for (const thrown of hostile) {
      expect(recorded(thrown)).toMatchObject({
        name: 'NonError',
        message: expect.stringContaining(where),
      })
    }
    expect(recorded(Object.assign(new Error('x'), { message: { a: 1 } })).message).toBe('{"a":1}')
  })

  test('is the same again when it is thrown again', () => {
    const field = fc.anything({ withDate: true, withMap: true, withBigInt: true, maxDepth: 2 })
    const error = fc
      .tuple(fc.string({ unit: 'binary' }), fc.dictionary(fc.string(), field), fc.option(field))
      .map(([message, fields, cause]) => {
        const { name, stack, message: _, ...rest } = fields
        return Object.assign(new CardDeclined(message), rest, cause === null ? {} : { cause })
      })
    fc.assert(
      fc.property(fc.oneof(error, field), (thrown) => {
        const stored = encodeError(thrown, where)
        expect(encodeError(decodeError(stored), where)).toBe(stored)
        expect(stored.isWellFormed()).toBe(true)
      }),
      { numRuns: 1_000 },
    )
  }, 60_000)

  test('is of its class again, if the class is known', () => {
    const classes = new Map([['CardDeclined', CardDeclined]])
    const stored = encodeError(new Error('order', { cause: new CardDeclined('funds') }), where)
    const { cause } = decodeError(stored, classes)
    expect(cause).toBeInstanceOf(CardDeclined)
    expect((cause as CardDeclined).short).toBe('fu')
    expect(decodeError(stored).cause).not.toBeInstanceOf(CardDeclined)
  })
})

describe('a recorded PerdureError', () => {
  const error = new PerdureError('STEP_TIMED_OUT', 'Step "charge" took longer than 5 s.', {
    hint: 'give it more time',
    runId: 'order:1',
    step: 'charge',
    details: { limitMs: 5_000 },
    cause: new Error('slow'),
  })

  test('is one again, with all that it says', () => {
    const back = recorded(error)
    expect(PerdureError.is(back, 'STEP_TIMED_OUT')).toBe(true)
    expect(back).toBeInstanceOf(PerdureError)
    expect({ ...back }).toEqual({
      code: 'STEP_TIMED_OUT',
      hint: 'give it more time',
      retryable: true,
      runId: 'order:1',
      step: 'charge',
      details: { limitMs: 5_000 },
    })
    expect(back.message).toBe(error.message)
    expect((back.cause as Error).message).toBe('slow')
  })

  test('is one again also as a value', () => {
    const back = decode(encode([error], where)) as [unknown]
    expect(PerdureError.is(back[0], 'STEP_TIMED_OUT')).toBe(true)
  })

  test('has a hint and details also when most of it had to be left out', () => {
    const long = valueUnstorable({ where: '\0'.repeat(20_000), path: '.a', found: 'a function' })
    const back = recorded(long)
    expect(PerdureError.is(back, 'VALUE_UNSTORABLE')).toBe(true)
    expect(back).toMatchObject({ hint: '', retryable: false, details: {} })
  })

  test('with a code of a newer version is read too', () => {
    const stored = encodeError(error, where).replace('STEP_TIMED_OUT', 'NOT_INVENTED_YET')
    expect(decodeError(stored)).toMatchObject({ code: 'NOT_INVENTED_YET', retryable: true })
  })

  test('is not what a user calls so', () => {
    const fake = Object.assign(new Error('x'), { name: 'PerdureError', code: 'LEASE_LOST' })
    expect(PerdureError.is(recorded(fake))).toBe(false)
  })
})

describe('errorRecord', () => {
  test('is what people are shown', () => {
    const error = Object.assign(new TypeError('no'), { code: 'E1', stack: 'at x', secret: 1 })
    expect(errorRecord(encodeError(error, where))).toEqual({
      name: 'TypeError',
      message: 'no',
      code: 'E1',
      stack: 'at x',
    })
  })

  test('has a code that is a text, and only if there is one', () => {
    expect(errorRecord(encodeError(Object.assign(new Error('x'), { code: 20 }), where)).code).toBe(
      '20',
    )
    expect(errorRecord(encodeError('x', where))).toEqual({ name: 'NonError', message: 'x' })
  })
})

test.each([
  '5',
  '{"name":"x"}',
  '{"name":"x","message":"y","fields":5}',
  'no',
  '{"name":"x","message":"y","cause":5}',
])('decodeError refuses %s, which is no recorded error', (stored) => {
  expect(() => decodeError(stored)).toThrow('not a value that Perdure wrote')
  if (!stored.includes('cause'))
    expect(() => errorRecord(stored)).toThrow('not a value that Perdure wrote')
})

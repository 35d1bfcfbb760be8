import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  DEFINITION_NAME,
  isStepName,
  RUN_ID,
  SCHEMA_NAME,
  shownName,
  uuidv7,
} from '../../src/model/ids.js'

const MIB = 'a'.repeat(2 ** 20)

describe('a step name', () => {
  test.each([
    { name: 'charge', ok: true, because: 'a word is a name' },
    { name: 'Charge the card (2×), ünïcode 😀', ok: true, because: 'people write names' },
    { name: '__proto__', ok: true, because: 'it is only a text' },
    { name: 'a'.repeat(256), ok: true, because: '256 bytes are allowed' },
    { name: 'a'.repeat(257), ok: false, because: '257 bytes are not' },
    { name: 'é'.repeat(128), ok: true, because: 'bytes count: 256' },
    { name: 'é'.repeat(129), ok: false, because: 'bytes count: 258' },
    { name: '', ok: false, because: 'it is empty' },
    { name: ' ', ok: false, because: 'it is a space' },
    { name: ' a', ok: false, because: 'it begins with a space' },
    { name: 'a\u00a0', ok: false, because: 'it ends with a space' },
    { name: 'a\0b', ok: false, because: 'NUL is a control character' },
    { name: 'a\u001fb', ok: false, because: 'the separator of the wire is one' },
    { name: 'a\nb', ok: false, because: 'a line end is one' },
    { name: 'a\u0085b', ok: false, because: 'so is that of the second set' },
    { name: 'a\ud800', ok: false, because: 'half a character is none' },
    { name: MIB, ok: false, because: 'a mebibyte is too long' },
    { name: 5, ok: false, because: 'a number is no text' },
    { name: undefined, ok: false, because: 'nothing is no text' },
  ])('$because', ({ name, ok }) => {
    expect(isStepName(name)).toBe(ok)
  })

  test('is shown with its occurrence from the second use on', () => {
    expect([1, 2, 10].map((n) => shownName('charge', n))).toEqual([
      'charge',
      'charge#2',
      'charge#10',
    ])
  })
})

describe('a run id', () => {
  test.each([
    { id: 'order:42', ok: true, because: 'colons are allowed' },
    { id: 'a_b.c@d+e=f-9', ok: true, because: 'so are _ . @ + = and -' },
    { id: 'a'.repeat(128), ok: true, because: '128 characters are allowed' },
    { id: 'a'.repeat(129), ok: false, because: '129 are not' },
    { id: '', ok: false, because: 'it is empty' },
    { id: 'a b', ok: false, because: 'spaces are refused' },
    { id: 'a\n', ok: false, because: 'line ends are refused, also the last' },
    { id: 'a\0', ok: false, because: 'control characters are refused' },
    { id: '../x', ok: false, because: 'slashes are refused' },
    { id: 'é', ok: false, because: 'letters are A to Z' },
    { id: MIB, ok: false, because: 'a mebibyte is too long' },
  ])('$because', ({ id, ok }) => {
    expect(RUN_ID.test(id)).toBe(ok)
  })
})

describe('the name of a definition', () => {
  test.each([
    { name: 'order.fulfil-2_x', ok: true, because: 'letters, digits, _ . and - are allowed' },
    { name: `a${'b'.repeat(127)}`, ok: true, because: '128 characters are allowed' },
    { name: `a${'b'.repeat(128)}`, ok: false, because: '129 are not' },
    { name: '2order', ok: false, because: 'a letter comes first' },
    { name: '__proto__', ok: false, because: 'an underscore does not' },
    { name: '', ok: false, because: 'it is empty' },
    { name: 'a b', ok: false, because: 'spaces are refused' },
    { name: 'order\n', ok: false, because: 'line ends are refused' },
  ])('$because', ({ name, ok }) => {
    expect(DEFINITION_NAME.test(name)).toBe(ok)
  })
})

describe('the name of a schema', () => {
  test.each([
    { name: 'perdure', ok: true, because: 'small letters are allowed' },
    { name: `_${'a'.repeat(47)}`, ok: true, because: '48 characters are allowed' },
    {
      name: `_${'a'.repeat(48)}`,
      ok: false,
      because: '49 are not: PostgreSQL would cut ours at 63',
    },
    { name: 'Perdure', ok: false, because: 'PostgreSQL would fold capitals' },
    { name: 'public"; drop', ok: false, because: 'it is not only a name' },
    { name: '1a', ok: false, because: 'a digit does not come first' },
    { name: '', ok: false, because: 'it is empty' },
  ])('$because', ({ name, ok }) => {
    expect(SCHEMA_NAME.test(name)).toBe(ok)
  })
})

describe('a uid', () => {
  const instant = fc.integer({ min: 0, max: 2 ** 48 - 1 })
  const random = fc.uint8Array({ minLength: 10, maxLength: 10 })

  test('is a UUID of version 7 that holds its time', () => {
    fc.assert(
      fc.property(instant, random, (now, bytes) => {
        const uid = uuidv7(now, bytes)
        expect(uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
        expect(Number.parseInt(uid.replace('-', '').slice(0, 12), 16)).toBe(now)
      }),
    )
  })

  test('made later sorts later', () => {
    fc.assert(
      fc.property(instant, instant, random, random, (a, b, some, other) => {
        fc.pre(a < b)
        expect(uuidv7(a, some) < uuidv7(b, other)).toBe(true)
      }),
    )
  })

  test('differs with each of the 74 random bits', () => {
    const bits = Array.from({ length: 80 }, (_, bit) => {
      const bytes = new Uint8Array(10)
      bytes[bit >> 3] = 1 << (bit & 7)
      return uuidv7(0, bytes)
    })
    // Four bits make room for the version, two for the variant.
    expect(new Set([...bits, uuidv7(0, new Uint8Array(10))]).size).toBe(74 + 1)
  })

  test('takes whole milliseconds of a time with a fraction', () => {
    expect(uuidv7(1.9, new Uint8Array(10))).toBe(uuidv7(1, new Uint8Array(10)))
  })
})

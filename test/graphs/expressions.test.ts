// Expressions: what of CEL is promised, and what is refused. Ids like B99 are cases of the list of bad inputs.

import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import {
  asCondition,
  compile,
  fillTemplate,
  readTemplate,
} from '../../src/authoring/graph/expression.js'
import { Meter } from '../../src/authoring/graph/expression-values.js'
import { decode, encode } from '../../src/model/codec.js'
import { PerdureError } from '../../src/model/errors.js'

const DOLLAR = ['$', '{7*7}'].join('')
const WHERE = 'the condition of edge "large"'

const INPUT = {
  n: 7,
  half: 3.5,
  name: 'Ada',
  tags: ['vip', 'new'],
  items: [
    { sku: 'a', qty: 2 },
    { sku: 'b', qty: 0 },
  ],
  address: { city: 'London', zip: null },
  emoji: 'a😀b',
  none: null,
  isPaid: true,
}

/** As in a run: everything has gone through the codec. */
function scopeOf(input: unknown, more: Readonly<Record<string, unknown>> = {}) {
  return new Map(
    Object.entries({ input, ...more }).map(([name, value]) => [name, decode(encode(value, name))]),
  )
}
const evaluate = (text: string, input: unknown = INPUT, more = {}) =>
  compile(text, WHERE).evaluate(scopeOf(input, more))

function errorOf(fn: () => unknown): PerdureError {
  try {
    const value = fn()
    throw new Error(`it gave ${JSON.stringify(value)}`)
  } catch (error) {
    if (PerdureError.is(error)) return error
    throw error
  }
}

const prototypes = () =>
  [Object.prototype, Array.prototype, Map.prototype, String.prototype, Function.prototype].map(
    (prototype) => Reflect.ownKeys(prototype),
  )
const before = prototypes()
afterAll(() => {
  expect(prototypes()).toEqual(before)
})

describe('what is promised of CEL', () => {
  test.each<[text: string, value: unknown]>([
    // Numbers: ints of the text, doubles of the data.
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['7 / 2', 3],
    ['-7 / 2', -3],
    ['7 % 3', 1],
    ['7.0 / 2', 3.5],
    ['0x10', 16],
    ['1.5e3', 1500],
    ['-9223372036854775808 < 0', true],
    ['input.n + 1', 8],
    ['input.n / 2', 3.5],
    ['input.n % 2 == 1', true],
    ['input.half * 2', 7],
    ['input.half * 2 == 7', true],
    ['10 * 1.2', 12],
    ['input.n > 6.5 && input.n >= 7 && input.n < 8 && input.n <= 7', true],
    ['-input.n', -7],
    ['size(input.tags) > 0', true],
    ['size(input.tags) / 2', 1],
    ['input.n / size(input.tags)', 3.5],
    ['int(input.half)', 3],
    ["int('42') + 1", 43],
    ["double('1.5') + 1", 2.5],
    ['9007199254740993 - 9007199254740992', 1],
    // Texts.
    ['\'a\' + "b"', 'ab'],
    ["input.name + '!'", 'Ada!'],
    ["input.name.startsWith('A') && input.name.endsWith('a') && input.name.contains('d')", true],
    ["'Grüße'.lowerAscii() + 'ß'.upperAscii()", 'grüßeß'],
    ["' x '.trim()", 'x'],
    ["'a,b'.split(',')", ['a', 'b']],
    ["['a', 'b'].join('-')", 'a-b'],
    ['size(input.emoji)', 3],
    ['input.emoji.substring(1, 2)', '😀'],
    ['input.emoji.substring(2)', 'b'],
    ["'😀😀'.lastIndexOf('😀')", 1],
    ["'abc'.indexOf('x')", -1],
    ["input.emoji.indexOf('b')", 2],
    ["'abcabc'.lastIndexOf('b')", 4],
    ["'abc'.substring(1)", 'bc'],
    ["input.name.matches('^[A-Z][a-z]+$')", true],
    ["'xAday'.matches('Ada')", true],
    ["r'\\d' == '\\\\d'", true],
    ["'a' < 'b'", true],
    ['string(input.n) + string(true) + string(1.5)', '7true1.5'],
    ["bool('true')", true],
    // Comparing.
    ['1 == 1.0', true],
    ['input.n == 7', true],
    ['[1, 2] == [1.0, 2.0]', true],
    ["{'a': 1} == {'a': 1}", true],
    ["{'a': 1} != {'a': 2}", true],
    ["input.address == {'zip': null, 'city': 'London'}", true],
    ["[1] == ['1']", false],
    // Null.
    ['input.none == null', true],
    ['input.address.zip == null', true],
    ['input.name == null', false],
    ['input.name != null && size(input.name) == 3', true],
    ['has(input.none)', true],
    // in, has, fields, elements.
    ["'vip' in input.tags", true],
    ['7 in [1, 7]', true],
    ['input.n in [1, 7]', true],
    ["1 in ['1']", false],
    ["'city' in input.address", true],
    ["'street' in input.address", false],
    ['has(input.address.city)', true],
    ['has(input.address.street)', false],
    ["has(input.phone) ? input.phone : 'none'", 'none'],
    ["input['name']", 'Ada'],
    ['input.items[0].sku', 'a'],
    ['input.tags[input.n - 6]', 'new'],
    // Logic: the right side only if it is needed.
    ['false && input.missing', false],
    ['true || input.missing', true],
    ['!input.isPaid', false],
    ["input.isPaid ? 'yes' : 'no'", 'yes'],
    ["input.n > 100 ? 'l' : input.n > 5 ? 'm' : 's'", 'm'],
    // Macros.
    ['input.items.all(i, i.qty >= 0)', true],
    ['[].all(i, false)', true],
    ['input.items.exists(i, i.qty == 0)', true],
    ['input.items.exists_one(i, i.qty > 0)', true],
    ['input.items.filter(i, i.qty > 0)', [{ sku: 'a', qty: 2 }]],
    ['input.items.map(i, i.sku)', ['a', 'b']],
    ['input.items.map(i, i.qty > 0, i.sku)', ['a']],
    ['input.address.map(key, key)', ['city', 'zip']],
    ['input.items.all(i, input.tags.exists(t, t != i.sku))', true],
    ['input.tags.map(input, input)', ['vip', 'new']],
    ['[1, 2] + [3]', [1, 2, 3]],
    // Made.
    ["{'total': input.n * 2, 'names': [input.name]}", { total: 14, names: ['Ada'] }],
    ['input.items', INPUT.items],
    ['input.isPaid // the rest is a comment', true],
    ['input.n >\n  5', true],
    // Times.
    ["timestamp('2026-01-31T08:00:00+01:00')", '2026-01-31T07:00:00.000Z'],
    ["timestamp('2026-01-31T08:00:00Z') + duration('1h30m')", '2026-01-31T09:30:00.000Z'],
    [
      "timestamp('2026-01-02T00:00:00Z') - timestamp('2026-01-01T00:00:00Z') > duration('23h')",
      true,
    ],
    ["duration('90s')", '90s'],
    ["duration('1h30m').getMinutes()", 90],
    ["timestamp('2026-01-31T08:00:00Z').getMonth()", 0],
    ["timestamp('2026-01-31T08:00:00Z').getDate()", 31],
  ])('%s', (text, value) => {
    expect(evaluate(text)).toEqual(value)
  })

  test('a Date of the data is a timestamp, and comes out as its text', () => {
    const input = { at: new Date('2026-01-31T08:00:00Z') }
    expect(evaluate("input.at < timestamp('2026-02-01T00:00:00Z')", input)).toBe(true)
    expect(evaluate("input.at + duration('1s')", input)).toBe('2026-01-31T08:00:01.000Z')
  })

  test('a Map is an object, a Set a list, a bigint an int', () => {
    const input = { map: new Map([['a', 1]]), set: new Set([1, 2]), big: 5n }
    expect(evaluate('[input.map.a, size(input.set), input.set[1], input.big + 1]', input)).toEqual([
      1, 2, 2, 6,
    ])
    expect(evaluate('input.map', input)).toEqual({ a: 1 })
  })

  test('its names are the top-level ones that it reads', () => {
    const { names } = compile('input.items.all(i, i.qty > limit && score.value > input.n)', WHERE)
    expect([...names].sort()).toEqual(['input', 'limit', 'score'])
    // Outside of its macro the name is that of the scope.
    expect([...compile('x.all(x, x > 1) && y.exists(z, z) && z', WHERE).names]).toEqual([
      'x',
      'y',
      'z',
    ])
  })

  test('the result shares nothing with the data', () => {
    const scope = scopeOf({ list: [{ a: 1 }] })
    const [first] = compile('input.list', WHERE).evaluate(scope) as { a: number }[]
    if (first) first.a = 2
    expect(compile('input.list', WHERE).evaluate(scope)).toEqual([{ a: 1 }])
  })
})

describe('errors', () => {
  test('point at the place', () => {
    const invalid = errorOf(() => compile('input.a &&\n  size(input.b > 1', WHERE))
    expect(invalid.code).toBe('EXPRESSION_INVALID')
    expect(invalid.message).toBe(
      `Cannot read ${WHERE}: expected ")", got the end.\n    size(input.b > 1\n                    ^`,
    )
    expect(invalid.details).toEqual({
      text: 'input.a &&\n  size(input.b > 1',
      position: 29,
      line: 2,
      column: 19,
    })
    const failed = errorOf(() => evaluate('1 < 2 && input.nmae == null'))
    expect(failed.message).toBe(
      'The condition of edge "large" failed: there is no key "nmae" in input.\n  1 < 2 && input.nmae == null\n                 ^',
    )
    expect(failed.hint).toBe('did you mean "name"?')
    expect(failed.details).toMatchObject({ position: 15, line: 1, column: 16 })
  })

  test('long lines are cut around the place', () => {
    const text = `${'1 + '.repeat(100)}) ${'+ 1'.repeat(100)}`
    const [, line = '', caret = ''] = errorOf(() => compile(text, WHERE)).message.split('\n')
    expect(line.length).toBeLessThan(90)
    expect(line[caret.indexOf('^')]).toBe(')')
  })

  test('of one text are told where it stands each time', () => {
    expect(errorOf(() => compile('1 +', 'edge one')).message).toContain('edge one')
    expect(errorOf(() => compile('1 +', 'edge two')).message).toContain('edge two')
    const [one, two] = [compile('missing', 'edge one'), compile('missing', 'edge two')]
    expect(errorOf(() => one.evaluate(new Map())).message).toContain('Edge one')
    expect(errorOf(() => two.evaluate(new Map())).message).toContain('Edge two')
  })
})

/** Refused when it is saved, or an error when it is evaluated: never a value. */
function refused(text: string, input: unknown = INPUT): PerdureError {
  const error = errorOf(() => evaluate(text, input))
  expect(['EXPRESSION_INVALID', 'EXPRESSION_FAILED']).toContain(error.code)
  expect(error.retryable).toBe(false)
  return error
}

describe('nothing of JavaScript can be reached', () => {
  test.each([
    ['B93', 'this.constructor.constructor("return process")()'],
    ['B94', '({}).__proto__'],
    ['B94', 'input["__proto__"]'],
    ['B94', 'input["constr"+"uctor"]'],
    ['B94', 'input[`constructor`]'],
    ['B94', 'input[["constructor"]]'],
    ['B94', 'input.items["length"]'],
    ['B95', 'input.toString'],
    ['B95', 'size.constructor'],
    ['B95', '"".constructor'],
    ['B95', '[].map.constructor'],
    ['B95', 'input.name.length'],
    ['B95', 'input.tags.push("x")'],
    ['B95', 'input.hasOwnProperty("n")'],
    ['B96', 'arguments.callee'],
    ['B96', 'globalThis'],
    ['B96', 'process.env'],
    ['B96', 'require("fs")'],
    ['B96', 'import("fs")'],
    ['B97', 'input.x = 1'],
    ['B97', 'input.n++'],
    ['B97', '1; 2'],
    ['B97', '(x) => x'],
    ['B97', 'new Date()'],
    ['B97', 'with (input) n'],
    ['B97', '[a, b] = input.tags'],
    ['B97', 'cel.bind(a, 1, a)'],
    ['B98', 'Error.prepareStackTrace'],
    ['B98', 'Object.getOwnPropertyDescriptor(input, "n")'],
    ['B105', 'secret("X") == "x"'],
    ['B105', 'now() > input.at'],
    ['B105', 'random() < 0.5'],
  ])('%s %s', (_, text) => {
    refused(text)
    // Without anything in scope it is no better.
    errorOf(() => compile(text, WHERE).evaluate(new Map()))
  })

  test.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'toJSON'])(
    'B94 a key %s is data if the data have it, and missing if not',
    (key) => {
      const input = JSON.parse(`{ "${key}": { "isAdmin": true } }`) as unknown
      expect(evaluate(`input.${key}.isAdmin`, input)).toBe(true)
      expect(
        evaluate(`input["${key}"].isAdmin && "${key}" in input && has(input.${key})`, input),
      ).toBe(true)
      expect(JSON.stringify(evaluate('input', input))).toBe(JSON.stringify(input))
      expect(JSON.stringify(evaluate(`{"${key}": 1}`))).toBe(`{"${key}":1}`)
      expect(evaluate(`"${key}" in input || has(input.${key})`)).toBe(false)
      refused(`input.${key}`)
      refused(`input["${key}"]`)
      expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
    },
  )

  test('values with a prototype of their own are refused', () => {
    class Account {
      balance = 1
    }
    for (const value of [
      new Account(),
      new Uint8Array(2),
      /x/,
      () => 1,
      Symbol('x'),
      new Error('x'),
    ]) {
      const error = errorOf(() => compile('x.y', WHERE).evaluate(new Map([['x', value]])))
      expect(error.code).toBe('EXPRESSION_FAILED')
      expect(errorOf(() => compile('x', WHERE).evaluate(new Map([['x', value]]))).code).toBe(
        'EXPRESSION_FAILED',
      )
    }
  })
})

describe('limits', () => {
  test('B99 a pattern that takes JavaScript seconds takes RE2 no time', () => {
    const text = `${'a'.repeat(5_000)}!`
    expect(evaluate('input.matches("^(a+)+$")', text)).toBe(false)
    expect(evaluate('"aaaaaaaaaaaaaaaaaaaaaaaaaaaa!".matches("^(a+)+$")')).toBe(false)
  })

  test.each([
    [
      'a pattern of the data',
      'input.name.matches(input.name)',
      'must be written in the expression',
    ],
    ['one that is put together', 'input.name.matches("a" + "b")', 'must be written'],
    ['one of 201 characters', `input.name.matches("${'a'.repeat(201)}")`, 'more than 200'],
    ['one that RE2 does not know', 'input.name.matches("(?=a)")', 'cannot be read'],
    ['one that does not end', 'input.name.matches("(")', 'cannot be read'],
    ['one that repeats too much', 'input.name.matches("a{1000}")', 'repeats too much'],
  ])('B99 %s is refused when it is saved', (_, text, message) => {
    const error = errorOf(() => compile(text, WHERE))
    expect(error.code).toBe('EXPRESSION_INVALID')
    expect(error.message).toContain(message)
  })

  test('B100 macros are nested twice at most', () => {
    const error = errorOf(() => compile('l.all(x, l.all(y, l.all(z, x + y + z > 0)))', WHERE))
    expect(error.message).toContain('nested more than 2 deep')
    compile('l.filter(x, x > 0).map(x, x).all(x, l.all(y, x + y > 0))', WHERE)
  })

  test('B100 macros go through 1,000 elements at most', () => {
    const list = Array.from({ length: 1_000 }, (_, i) => i)
    expect(evaluate('input.all(x, x >= 0)', list)).toBe(true)
    for (const macro of ['all', 'exists', 'exists_one', 'filter', 'map']) {
      const error = refused(`input.${macro}(x, x >= 0)`, [...list, 1])
      expect(error.message).toContain('at most 1000 elements')
    }
    expect(evaluate('size(input)', [...list, 1])).toBe(1_001)
  })

  test('B100 keys and elements that are looked at are work too', () => {
    const keys = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, i]))
    const input = {
      list: Array.from({ length: 1_000 }, (_, i) => i),
      keys,
      map: new Map(Object.entries(keys)),
      set: new Set(Object.keys(keys)),
      text: 'x'.repeat(100_000),
    }
    for (const text of [
      'size(input.keys)',
      'size(input.map)',
      'size(input.set)',
      'size(input.text)',
    ]) {
      expect(evaluate(`${text} > 1`, input)).toBe(true)
      expect(refused(`input.list.all(x, ${text} > 1)`, input).message).toContain('too much work')
    }
  })

  test('what can be stored can be passed on', () => {
    const list = Array.from({ length: 900_000 }, () => 1)
    expect(compile('input', WHERE).evaluate(new Map([['input', list]]))).toHaveLength(900_000)
  })

  test.each([
    ['two macros over 1,000 elements', 'input.all(x, input.all(y, x + y >= 0))'],
    ['lists that double', `[input]${'.map(a,a+a)'.repeat(60)}`],
    ['texts that double', `[string(input[9])]${'.map(a,a+a)'.repeat(60)}`],
    ['a result that shares what it holds', `[input]${'.map(a,[a,a])'.repeat(60)}`],
    [
      'comparing what shares what it holds',
      `[input].map(a,[a,a]).map(a,[a,a])${'.map(a,[a,a])'.repeat(25)} == [input + []]${'.map(a,[a,a])'.repeat(27)}`,
    ],
  ])('B100 %s: the work is bounded', (_, text) => {
    const error = refused(
      text,
      Array.from({ length: 1_000 }, (_, i) => i),
    )
    expect(error.code).toBe('EXPRESSION_FAILED')
    expect(error.message).toMatch(/too much work|gets longer|too large/)
  })

  test.each([
    ['2,049 characters', `1${' '.repeat(2_048)}`, '2049 characters'],
    ['10,000 "("', '('.repeat(10_000), '10000 characters'],
    ['33 "("', `${'('.repeat(33)}1${')'.repeat(33)}`, 'more than 32 deep'],
    ['33 "[" and no end', '['.repeat(33), 'more than 32 deep'],
    ['10,000 "!"', `${'!'.repeat(10_000)}true`, '10004 characters'],
    ['33 "!"', `${'!'.repeat(33)}true`, 'more than 32 signs'],
    ['2,000 "- "', `${'- '.repeat(1_000)}1`, 'more than 32 signs'],
    ['a.b.c… ×500', `a${'.b'.repeat(500)}`, 'nested too deeply'],
    ['501 parts', `1${'+1'.repeat(250)}+1`, 'more than 500 parts'],
    ['a list of 101', `[${'1,'.repeat(100)}1]`, 'more than 100 elements'],
    ['a number of 10^5 digits', '9'.repeat(100_000), '100000 characters'],
    ['a number of 20 digits', '9'.repeat(20), 'too large for 64 bits'],
    ['9223372036854775808', '9223372036854775808', 'too large for 64 bits'],
    ['1e999', '1e999', 'invalid number'],
    ['a text that does not end', '"abc', 'unterminated string'],
    ['three quotes that do not end', '"""abc', 'unterminated'],
    ['NUL', 'a \u0000 b', 'control character'],
    ['NUL in a text', '"\u0000"', 'control character'],
    ['an unknown escape', '"\\q"', 'invalid escape'],
    ['nothing', ' \n', 'empty'],
    ['unsigned', '1u', 'unsigned'],
    ['bytes', 'b"a"', 'bytes'],
    ['optional fields', 'a.?b', 'expected a name'],
    ['too few arguments', 'size()', 'takes 1 arguments'],
    ['has() of no field', 'has(input)', 'has() takes a field'],
    ['a macro without a name', '[1].all(1, true)', 'invalid predicate'],
  ])('B101 %s is refused at its place when it is saved', (_, text, message) => {
    const error = errorOf(() => compile(text, WHERE))
    expect(error.code).toBe('EXPRESSION_INVALID')
    expect(error.message).toContain(message)
    expect(error.details).toMatchObject({ position: expect.any(Number), line: expect.any(Number) })
  })

  test('what is just small enough is taken', () => {
    expect(evaluate(`1${' '.repeat(2_047)}`)).toBe(1)
    expect(evaluate(`${'('.repeat(32)}1${')'.repeat(32)}`)).toBe(1)
    expect(evaluate(`${'!'.repeat(32)}true`)).toBe(true)
    expect(evaluate(`size([${'1,'.repeat(99)}1])`)).toBe(100)
    expect(evaluate(`"${'('.repeat(100)}"`)).toBe('('.repeat(100))
    expect(evaluate('1'.concat('+1'.repeat(249)))).toBe(250)
  })
})

describe('what is wrong is an error, and never false', () => {
  test.each([
    ['1/0', 'division by zero'],
    ['1%0', 'division by zero'],
    ['1.0/0', 'division by zero'],
    ['input.n / (input.n - 7)', 'division by zero'],
    ['9223372036854775807 + 1', 'too large for 64 bits'],
    ['-(-9223372036854775807 - 1)', 'too large for 64 bits'],
    ['9007199254740991.0 + input.n', 'larger than 2^53'],
    ['9007199254740993', 'JSON number does not keep'],
    ['1e308 * 10.0', 'Infinity'],
    ["int('x')", 'cannot read'],
    ["double('NaN')", 'cannot read'],
    ['timestamp("x")', 'not a timestamp'],
    ['timestamp("2026-02-31T00:00:00Z")', 'not a timestamp'],
    ['duration("1 day")', 'not a duration'],
    ['input.missing', 'no key "missing" in input'],
    ['input.missing > 1', 'no key'],
    ['input.missing.deeper', 'no key'],
    ['has(input.missing.deeper)', 'no key'],
    ['missing', 'there is no "missing" here'],
    ['input.tags[2]', 'no element 2'],
    ['input.tags[-1]', 'no element -1'],
    ['input.tags[0.5]', 'whole number'],
    ['input.tags["0"]', 'whole number'],
    ['input[0]', 'a key is a text'],
    ['input.none.x', 'is null, which has no fields'],
    ['has(input.none.x)', 'is null'],
    ['input.name > 5', '> does not take a text and a number'],
    ['input.n == "7"', '== does not take a number and a text'],
    ['input.n != "7"', '== does not take a number and a text'],
    ['input.n + "7"', '+ does not take'],
    ['input.none + 1', '+ does not take null'],
    ['input.none > 1', '> does not take null'],
    ['input.tags < input.tags', '< does not take a list'],
    ['input.n && true', '&& takes true or false'],
    ['true && input.n', '&& takes true or false'],
    ['input.missing || true', 'no key'],
    ['input.missing && false', 'no key'],
    ['!input.n', '! takes true or false'],
    ['input.n ? 1 : 2', '? takes true or false'],
    ['input.tags.exists(t, t)', 'exists() takes true or false'],
    ['[1, 0].exists(x, 1 / (x - 1) == -1)', 'division by zero'],
    ['input.n.all(x, true)', 'goes through lists'],
    ['input.half % 2', 'whole numbers'],
    ['"a" in "abc"', '"in" looks into lists and objects'],
    ['1 in input', 'a key is a text'],
    ['size(input.n)', 'size() does not take a number'],
    ['input.n.startsWith("7")', 'takes a text'],
    ['input.n.matches("7")', 'matches() is for texts'],
    ['"abc".substring(4)', 'outside a text of 3'],
    ['[1].join()', 'takes a text'],
    ['input.name.getMonth()', 'is for timestamps'],
    ['-input.name', '- is for numbers'],
    ['{1: 2}', 'a key is a text'],
    ['{"a": 1, "a": 2}', 'twice'],
    ['string(null)', 'does not take null'],
  ])('B102 %s', (text, message) => {
    const error = refused(text)
    expect(error.code).toBe('EXPRESSION_FAILED')
    expect(error.message).toContain(message)
    expect(error.details).toMatchObject({ text, position: expect.any(Number) })
  })

  test('B102 NaN and Infinity of the data are not computed with', () => {
    for (const n of [Number.NaN, Number.POSITIVE_INFINITY]) {
      for (const text of ['input.n > 1', 'input.n == 1', 'input.n + 1', 'input.n', '-input.n']) {
        expect(refused(text, { n }).code).toBe('EXPRESSION_FAILED')
      }
    }
  })

  test.each(['"false"', '"true"', '0', '1', 'null', '[]', '{}', 'input.n'])(
    'B104 a condition that gives %s is an error',
    (text) => {
      const expression = compile(text, WHERE)
      const error = errorOf(() => asCondition(expression.evaluate(scopeOf(INPUT)), expression))
      expect(error.code).toBe('EXPRESSION_FAILED')
      expect(error.message).toContain('a condition says true or false')
    },
  )

  test('B104 of a value that no expression gave it is said too', () => {
    expect(errorOf(() => asCondition('yes', undefined)).message).toBe(
      'A condition failed: it gave "yes", and a condition says true or false.',
    )
    const error = errorOf(() => compile('1 / 0', 'nodes[0].if').evaluate(new Map()))
    expect(error.message).toContain('nodes[0].if failed: division by zero.')
  })

  test('B104 true and false are what they are', () => {
    for (const value of [true, false])
      expect(asCondition(value, compile('true', WHERE))).toBe(value)
  })
})

describe('expressions inside of config', () => {
  const scope = scopeOf({ name: '{{7*7}}', other: DOLLAR, third: '=7*7', cel: { cel: '7*7' } })

  test('each { cel } is replaced by its result, at any depth', () => {
    const config = {
      url: 'https://example.com',
      body: { total: { cel: '1 + 1' }, rows: [{ cel: "'a'" }, 'b', { deep: { cel: '[1]' } }] },
    }
    const template = readTemplate(config, 'the config of node "call"')
    expect(fillTemplate(template, scope)).toEqual({
      url: 'https://example.com',
      body: { total: 2, rows: ['a', 'b', { deep: [1] }] },
    })
    expect(fillTemplate(readTemplate({ cel: '1 + 1' }, 'x'), scope)).toBe(2)
    expect(fillTemplate(readTemplate('plain', 'x'), scope)).toBe('plain')
  })

  test('they are compiled when it is read, and tell where they stand', () => {
    const error = errorOf(() =>
      readTemplate({ a: [{ b: { cel: '1 +' } }] }, 'the config of node "x"'),
    )
    expect(error.code).toBe('EXPRESSION_INVALID')
    expect(error.message).toContain('Cannot read the config of node "x" at .a[0].b: ')
    const template = readTemplate([{ cel: 'a.x' }, { cel: 'b.all(c, c)' }], 'x')
    expect([...template.names]).toEqual(['a', 'b'])
    expect(template.expressions.map(({ text }) => text)).toEqual(['a.x', 'b.all(c, c)'])
  })

  test('B103 a text is a text, in the config and in the data', () => {
    const config = {
      a: '{{7*7}}',
      b: DOLLAR,
      c: '=7*7',
      d: '7*7',
      e: { cel: '[input.name, input.other, input.third]' },
    }
    expect(fillTemplate(readTemplate(config, 'x'), scope)).toEqual({
      ...config,
      e: ['{{7*7}}', DOLLAR, '=7*7'],
    })
  })

  test('B103 results are never evaluated again', () => {
    expect(fillTemplate(readTemplate({ a: { cel: 'input.cel' } }, 'x'), scope)).toEqual({
      a: { cel: '7*7' },
    })
    expect(fillTemplate(readTemplate({ a: { cel: '{"cel": "7*7"}' } }, 'x'), scope)).toEqual({
      a: { cel: '7*7' },
    })
  })

  test('an object with another key, or with something else under it, is data', () => {
    const config = [{ cel: '1', more: 1 }, { cel: 1 }, { cel: ['1'] }, { CEL: '1' }]
    expect(fillTemplate(readTemplate(config, 'x'), scope)).toEqual(config)
  })

  test('B103 keys like __proto__ stay data, and nothing is shared between two fills', () => {
    const config = JSON.parse('{"__proto__": {"isAdmin": true}, "list": [[1]]}') as unknown
    const template = readTemplate(config, 'x')
    const [one, two] = [fillTemplate(template, scope), fillTemplate(template, scope)]
    expect(JSON.stringify(one)).toBe(JSON.stringify(config))
    expect((one as { list: unknown[] }).list[0]).not.toBe((two as { list: unknown[] }).list[0])
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
  })

  test('config that is nested too deeply is refused', () => {
    let config: unknown = 1
    for (let i = 0; i < 100; i += 1) config = [config]
    expect(errorOf(() => readTemplate(config, 'x')).code).toBe('EXPRESSION_INVALID')
  })
})

describe('random texts', () => {
  const words = [
    ...'( ) [ ] { } , . : ? ! - + * / % < <= > >= == != && || in'.split(' '),
    ...'input input.n input.tags input.items x i 0 1 2.5 "a" "__proto__" null true false'.split(
      ' ',
    ),
    ...'size( string( int( has( .all(x, .map(x, .filter(i, .exists(i, .matches("a*") .split("")'.split(
      ' ',
    ),
    ...'.constructor .__proto__ ["constructor"] timestamp( duration("1h") cel.bind( secret( \\ \' " \n // \u0000 😀'.split(
      ' ',
    ),
  ]
  const texts = fc.oneof(
    fc.string({ maxLength: 60, unit: 'binary' }),
    fc.array(fc.constantFrom(...words), { maxLength: 25 }).map((parts) => parts.join('')),
    fc.array(fc.constantFrom(...words), { maxLength: 25 }).map((parts) => parts.join(' ')),
  )

  test('give a JSON value, or one of the two errors', () => {
    const scope = scopeOf(INPUT)
    fc.assert(
      fc.property(texts, (text) => {
        let value: unknown
        try {
          value = compile(text, WHERE).evaluate(scope)
        } catch (error) {
          expect(PerdureError.is(error, 'EXPRESSION_INVALID', 'EXPRESSION_FAILED')).toBe(true)
          return
        }
        expect(JSON.parse(JSON.stringify(value))).toEqual(value)
        expect(compile(text, WHERE).evaluate(scope)).toEqual(value)
      }),
      { numRuns: 3_000 },
    )
    expect(prototypes()).toEqual(before)
    expect(scope).toEqual(scopeOf(INPUT))
  })

  test('whole expressions of random shape end within their budget', () => {
    const input = { n: 3, tags: Array.from({ length: 200 }, (_, i) => `t${i}`), items: [[1], [2]] }
    const leaf = fc.constantFrom(
      'input.n',
      'input.tags',
      '1',
      '2.5',
      '"a"',
      'x',
      'true',
      '[1,2]',
      'null',
    )
    const { expression } = fc.letrec<{ expression: string }>((tie) => ({
      expression: fc.oneof(
        { maxDepth: 5, depthSize: 'medium' },
        leaf,
        fc
          .tuple(
            tie('expression'),
            fc.constantFrom('+', '-', '*', '/', '==', '<', '&&', 'in'),
            tie('expression'),
          )
          .map(([a, op, b]) => `(${a} ${op} ${b})`),
        fc
          .tuple(
            tie('expression'),
            fc.constantFrom('all', 'exists', 'map', 'filter'),
            tie('expression'),
          )
          .map(([a, macro, b]) => `${a}.${macro}(x, ${b})`),
        tie('expression').map((a) => `size(${a})`),
        fc.tuple(tie('expression'), tie('expression')).map(([a, b]) => `[${a}, ${b}]`),
      ),
    }))
    let most = 0
    const charge = Meter.prototype.charge
    let charged = 0
    Meter.prototype.charge = function (cost) {
      charged += 1
      charge.call(this, cost)
    }
    try {
      fc.assert(
        fc.property(expression, (text) => {
          charged = 0
          try {
            compile(text, WHERE).evaluate(new Map(Object.entries({ input, x: 1 })))
          } catch (error) {
            expect(PerdureError.is(error, 'EXPRESSION_INVALID', 'EXPRESSION_FAILED')).toBe(true)
          }
          most = Math.max(most, charged)
        }),
        { numRuns: 1_000 },
      )
    } finally {
      Meter.prototype.charge = charge
    }
    expect(most).toBeLessThanOrEqual(250_000 * 2)
  })
})

import { describe, expect, test, vi } from 'vitest'
import {
  CODES,
  checkOptions,
  didYouMean,
  idInvalid,
  nameInvalid,
  optionInvalid,
  PerdureError,
  shown,
} from '../../src/model/errors.js'

describe('PerdureError', () => {
  const error = new PerdureError('LEASE_LOST', 'Another worker has the run.', {
    hint: 'nothing to do',
    runId: 'order:1',
    step: 'charge',
    details: { epoch: 3 },
    cause: 'why',
  })

  test('says what happened, where, and what to do', () => {
    expect(error).toMatchObject({
      name: 'PerdureError',
      code: 'LEASE_LOST',
      message: 'Another worker has the run.',
      hint: 'nothing to do',
      retryable: true,
      runId: 'order:1',
      step: 'charge',
      details: { epoch: 3 },
      cause: 'why',
    })
    expect(Object.hasOwn(new PerdureError('ID_INVALID', 'x', { hint: '' }), 'cause')).toBe(false)
  })

  test.each(Object.entries(CODES))(
    '%s says whether trying again can help',
    (code, { retryable }) => {
      const made = new PerdureError(code as keyof typeof CODES, 'x', { hint: 'y' })
      expect(made.retryable).toBe(retryable)
      expect(made.details).toEqual({})
    },
  )

  test('is recognised by its code', () => {
    expect(PerdureError.is(error)).toBe(true)
    expect(PerdureError.is(error, 'LEASE_LOST')).toBe(true)
    expect(PerdureError.is(error, 'ID_INVALID', 'LEASE_LOST')).toBe(true)
    expect(PerdureError.is(error, 'ID_INVALID')).toBe(false)
  })

  test.each([
    { value: null },
    { value: undefined },
    { value: 'LEASE_LOST' },
    { value: new Error('LEASE_LOST') },
    { value: { name: 'PerdureError', code: 'LEASE_LOST' } },
  ])('is not $value', ({ value }) => {
    expect(PerdureError.is(value)).toBe(false)
  })

  test('is recognised also when another copy of the package made it', async () => {
    vi.resetModules()
    const copy = await import('../../src/model/errors.js')
    expect(copy.PerdureError).not.toBe(PerdureError)
    const foreign = new copy.PerdureError('ID_INVALID', 'x', { hint: 'y' })
    expect(foreign).not.toBeInstanceOf(PerdureError)
    expect(PerdureError.is(foreign, 'ID_INVALID')).toBe(true)
    expect(copy.PerdureError.is(error, 'LEASE_LOST')).toBe(true)
  })
})

describe('did you mean', () => {
  const known = ['retries', 'timeout', 'retry', 'backoff', 'undo']
  test.each([
    { word: 'retires', near: 'retries', because: 'two letters are swapped' },
    { word: 'timeuot', near: 'timeout', because: 'two letters are swapped' },
    { word: 'timeot', near: 'timeout', because: 'a letter is missing' },
    { word: 'timeoutt', near: 'timeout', because: 'a letter is there twice' },
    { word: 'TIMEOUT', near: 'timeout', because: 'case does not matter' },
    { word: 'retrys', near: 'retry', because: 'the nearest one wins' },
    { word: 'undp', near: 'undo', because: 'one letter is wrong' },
    { word: 'banana', near: null, because: 'nothing is near' },
    { word: 'x', near: null, because: 'a letter is near to nothing' },
    { word: '', near: null, because: 'nothing was written' },
  ])('$word → $near: $because', ({ word, near }) => {
    expect(didYouMean(word, known)).toBe(near)
  })
})

describe('an unknown option', () => {
  const known = ['retries', 'timeout']
  test('is refused with the one that was meant', () => {
    expect(() => checkOptions({ timeout: 1, retires: 3 }, 'step "charge"', known)).toThrow(
      expect.objectContaining({
        code: 'OPTION_UNKNOWN',
        message: 'Unknown option "retires" in step "charge".',
        hint: 'did you mean "retries"?',
        details: { option: 'retires', known },
      }),
    )
  })

  test('is refused with all that are known, if none is near', () => {
    expect(() => checkOptions({ banana: 3 }, 'step "charge"', known)).toThrow(
      expect.objectContaining({ hint: 'known options: retries, timeout' }),
    )
  })

  test.each([{ options: {} }, { options: { retries: 1, timeout: undefined } }])(
    'is not among $options',
    ({ options }) => {
      expect(() => checkOptions(options, 'step "charge"', known)).not.toThrow()
    },
  )
})

describe('messages', () => {
  const hostile = {
    toJSON() {
      throw new Error('no')
    },
  }
  test.each([
    { value: 'a\nb', text: '"a\\nb"', because: 'a message is one line' },
    { value: 5n, text: '5', because: 'bigints are shown' },
    { value: undefined, text: 'undefined', because: 'nothing is shown' },
    { value: null, text: 'null', because: 'null is shown' },
    { value: Symbol('x'), text: 'Symbol(x)', because: 'symbols are shown' },
    { value: { a: [1] }, text: '{"a":[1]}', because: 'objects are shown' },
    {
      value: { toJSON: () => undefined },
      text: '[object Object]',
      because: 'JSON may give nothing',
    },
    { value: function pay() {}, text: 'function pay', because: 'functions have names' },
    {
      value: (
        () => () =>
          1
      )(),
      text: 'function (anonymous)',
      because: 'or not',
    },
    { value: hostile, text: '[object Object]', because: 'what throws is named by its kind' },
    { value: 'x'.repeat(100), text: `"${'x'.repeat(76)}…`, because: 'long values are cut' },
  ])('show $text: $because', ({ value, text }) => {
    expect(shown(value)).toBe(text)
  })

  test('of refused names say what a name is', () => {
    expect(nameInvalid('step', '')).toMatchObject({
      code: 'NAME_INVALID',
      message: '"" cannot be the name of a step.',
      hint: expect.stringContaining('256 bytes'),
    })
    expect(nameInvalid('workflow', '2x').hint).toContain('a letter, then')
    expect(idInvalid('a b')).toMatchObject({
      code: 'ID_INVALID',
      message: '"a b" cannot be a run id.',
      hint: expect.stringContaining('128'),
    })
  })

  test('of refused options say what was expected', () => {
    expect(optionInvalid('retries', 'step "charge"', -1, 'a whole number')).toMatchObject({
      code: 'OPTION_INVALID',
      message: 'Option "retries" in step "charge" cannot be -1: it must be a whole number.',
      hint: 'give a whole number',
    })
  })
})

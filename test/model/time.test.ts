import { describe, expect, test } from 'vitest'
import { type Duration, duration, durationMs } from '../../src/model/time.js'

const DAY = 86_400_000

describe('[P19] a duration', () => {
  test.each([
    { value: 0, ms: 0, because: 'a number is milliseconds' },
    { value: 1_500, ms: 1_500, because: 'a number is milliseconds' },
    { value: '0s', ms: 0, because: 'nothing is a duration too' },
    { value: '500ms', ms: 500, because: 'ms is a millisecond' },
    { value: '1s', ms: 1_000, because: 's is a second' },
    { value: '2sec', ms: 2_000, because: 'sec is a second' },
    { value: '2secs', ms: 2_000, because: 'secs is its plural' },
    { value: '3m', ms: 180_000, because: 'm is a minute' },
    { value: '5min', ms: 300_000, because: 'min is a minute' },
    { value: '5mins', ms: 300_000, because: 'mins is its plural' },
    { value: '1h', ms: 3_600_000, because: 'h is an hour' },
    { value: '1hour', ms: 3_600_000, because: 'hour is an hour' },
    { value: '12 hours', ms: 43_200_000, because: 'hours is its plural, and one space is allowed' },
    { value: '7d', ms: 7 * DAY, because: 'd is a day' },
    { value: '1day', ms: DAY, because: 'day is a day' },
    { value: '2 days', ms: 2 * DAY, because: 'days is its plural' },
    { value: '1w', ms: 7 * DAY, because: 'w is a week' },
    { value: '1week', ms: 7 * DAY, because: 'week is a week' },
    { value: '2weeks', ms: 14 * DAY, because: 'weeks is its plural' },
    { value: '1y', ms: 365 * DAY, because: 'y is 365 days' },
    { value: '2years', ms: 730 * DAY, because: 'years is its plural' },
  ] as const)('of $value is $ms ms: $because', ({ value, ms }) => {
    expect(durationMs(value)).toBe(ms)
    if (typeof value === 'string') expect(duration(value)).toBe(ms)
  })

  test.each([
    { value: '1.5h', because: 'fractions are refused' },
    { value: '-5s', because: 'negatives are refused' },
    { value: '7 dayz', because: 'the unit is unknown' },
    { value: '', because: 'it is empty' },
    { value: '1h30m', because: 'compounds are refused' },
    { value: 'h', because: 'the number is missing' },
    { value: '5', because: 'the unit is missing' },
    { value: '5  s', because: 'one space is enough' },
    { value: ' 5s', because: 'spaces stand at no edge' },
    { value: '5s\n', because: 'line ends are no part of it' },
    { value: '5S', because: 'units are written small' },
    { value: '5constructor', because: 'what every object has is no unit' },
    { value: '٣s', because: 'digits are 0 to 9' },
    { value: '1e3s', because: 'exponents are refused' },
    { value: '999999999999999y', because: 'it is more than a number holds exactly' },
    { value: Number.NaN, because: 'it is no number' },
    { value: -1, because: 'negatives are refused' },
    { value: 1.5, because: 'fractions are refused' },
    { value: Infinity, because: 'for ever is not a duration' },
    { value: 2 ** 53, because: 'it is more than a number holds exactly' },
    { value: null, because: 'null is no duration' },
    { value: undefined, because: 'undefined is no duration' },
    { value: 5n, because: 'a bigint is no duration' },
    { value: ['5s'], because: 'a list is no duration' },
    { value: new Date(0), because: 'a moment is no duration' },
  ])('is not $value: $because', ({ value }) => {
    const shown = typeof value === 'string' ? JSON.stringify(value) : null
    expect(() => durationMs(value as Duration)).toThrow(
      expect.objectContaining({
        code: 'DURATION_INVALID',
        message: `${shown ?? (typeof value === 'object' && value ? JSON.stringify(value) : String(value))} is not a duration.`,
        hint: expect.stringContaining('5min'),
      }),
    )
  })

  test('that is a text of a mebibyte is refused at once, with a short message', () => {
    expect(() => duration('9'.repeat(2 ** 20))).toThrow(/^.{1,120}$/)
  })
})

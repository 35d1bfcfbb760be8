// The option `limits` of a definition.

import { atPath, type LimitRules, type Limits, type Rate } from '../model/admission.js'
import { checkOptions, optionInvalid } from '../model/errors.js'
import { type Duration, durationMs } from '../model/time.js'

type Given = Readonly<Record<string, unknown>>

const SLOTS_MAX = 1_000_000
const RATE_RUNS_MAX = 10_000

/** null: it has none. */
export function readLimits(limits: unknown, where: string): Limits | null {
  if (limits === undefined) return null
  const about = `limits of ${where}`
  const given = objectOf('limits', limits, where)
  checkOptions(given, about, ['concurrency', 'perWorkspace', 'perKey', 'rate'])
  const perKey = given.perKey === undefined ? null : objectOf('perKey', given.perKey, about)
  if (perKey) checkOptions(perKey, `perKey of ${about}`, ['key', 'concurrency', 'rate'])
  const rules: LimitRules = {
    concurrency: slots('concurrency', given.concurrency, about),
    perWorkspace: slots('perWorkspace', given.perWorkspace, about),
    perKey: perKey && slots('perKey.concurrency', perKey.concurrency, about),
    keyPath: typeof perKey?.key === 'string' ? perKey.key : null,
    rate: readRate('rate', given.rate, about),
    keyRate: perKey && readRate('perKey.rate', perKey.rate, about),
  }
  if (perKey && rules.perKey === null && rules.keyRate === null) {
    throw optionInvalid('perKey', about, perKey, '{ key, concurrency }, { key, rate }, or both')
  }
  const keyOf = perKey && readKey(perKey.key, about)
  const { keyPath, ...rest } = rules
  const isLimited = Object.values(rest).some((rule) => rule !== null)
  return isLimited ? { rules, keyOf } : null
}

function readKey(key: unknown, where: string): (input: unknown) => unknown {
  if (typeof key === 'function') return key as (input: unknown) => unknown
  if (typeof key === 'string' && key !== '') return (input) => atPath(input, key)
  throw optionInvalid(
    'perKey.key',
    where,
    key,
    "a path into the input ('customer.id') or a function",
  )
}

function readRate(option: string, rate: unknown, where: string): Rate | null {
  if (rate === undefined) return null
  const given = objectOf(option, rate, where)
  checkOptions(given, `${option} of ${where}`, ['runs', 'per'])
  const perMs = durationMs(given.per as Duration)
  if (perMs === 0) throw optionInvalid(`${option}.per`, where, given.per, 'longer than 0')
  return { runs: whole(`${option}.runs`, given.runs, where, RATE_RUNS_MAX), perMs }
}

function slots(option: string, value: unknown, where: string): number | null {
  return value === undefined ? null : whole(option, value, where, SLOTS_MAX)
}

function whole(option: string, value: unknown, where: string, most: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) {
    return value
  }
  throw optionInvalid(option, where, value, `a whole number from 1 to ${most}`)
}

function objectOf(option: string, value: unknown, where: string): Given {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Given
  throw optionInvalid(option, where, value, 'an object')
}

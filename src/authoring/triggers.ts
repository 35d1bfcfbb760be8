// The triggers of a definition: what starts runs of it by itself. Read where the definition is made, stored when an engine opens.

import { checkOptions, nameInvalid, optionInvalid } from '../model/errors.js'
import { matchKeys } from '../model/events.js'
import { isStepName } from '../model/ids.js'
import { cronProblems, type Missed, type Spec, scheduleInvalid } from '../model/schedule.js'

export type MadeTrigger =
  | { readonly type: 'manual' }
  | { readonly type: 'event'; readonly event: string; readonly match: readonly string[] }
  | {
      readonly type: 'cron'
      readonly spec: Spec
      readonly missed: Missed
      readonly input: unknown
    }

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  manual: ['type'],
  event: ['type', 'event', 'match'],
  cron: ['type', 'cron', 'timezone', 'missed', 'input'],
}

type Given = Readonly<Record<string, unknown>>

export function readTriggers(triggers: unknown, where: string): readonly MadeTrigger[] {
  if (triggers === undefined) return []
  if (!Array.isArray(triggers)) throw optionInvalid('triggers', where, triggers, 'a list')
  return triggers.map((one: unknown, i) => readTrigger(one, `triggers[${i}] of ${where}`))
}

function readTrigger(one: unknown, where: string): MadeTrigger {
  const given = (typeof one === 'object' && one !== null ? one : {}) as Given
  const { type } = given
  const fields = typeof type === 'string' && Object.hasOwn(FIELDS, type) ? FIELDS[type] : undefined
  if (!fields) throw optionInvalid('type', where, type, "'manual', 'event' or 'cron'")
  checkOptions(given, where, fields)
  if (type === 'event') return readEvent(given, where)
  return type === 'cron' ? readCron(given, where) : { type: 'manual' }
}

function readEvent({ event, match = {} }: Given, where: string): MadeTrigger {
  if (!isStepName(event)) throw nameInvalid('event', event)
  if (typeof match !== 'object' || match === null || Array.isArray(match)) {
    throw optionInvalid('match', where, match, 'an object of fields and their values')
  }
  return { type: 'event', event, match: matchKeys(match) }
}

function readCron({ cron, timezone = 'UTC', missed = 'once', input }: Given, where: string) {
  const problems = cronProblems(cron, timezone, 0)
  if (problems.length > 0) throw scheduleInvalid(where, problems)
  if (missed !== 'skip' && missed !== 'once') {
    throw optionInvalid('missed', where, missed, "'skip' or 'once'")
  }
  const spec = { cron: String(cron).trim(), timezone: String(timezone), jitterMs: 0 }
  return { type: 'cron', spec, missed, input } as const
}

// The triggers of a definition: what starts runs of it by itself. Read where the definition is made, stored when an engine opens.

import { checkOptions, nameInvalid, optionInvalid } from '../model/errors.js'
import { matchKeys } from '../model/events.js'
import { isStepName } from '../model/ids.js'
import { cronProblems, type Missed, type Spec, scheduleInvalid } from '../model/schedule.js'
import type { WebhookHmac, WebhookRules } from '../model/webhook.js'
import { compile } from './graph/expression.js'

export type MadeTrigger =
  | { readonly type: 'manual' }
  | { readonly type: 'event'; readonly event: string; readonly match: readonly string[] }
  | { readonly type: 'webhook'; readonly path: string; readonly rules: WebhookRules }
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
  webhook: ['type', 'path', 'hmac', 'dedupe', 'headers'],
}
/** What the expression of `dedupe` may speak of. */
const DEDUPE_NAMES = ['body', 'headers', 'query']
const PATH = /^[a-z0-9][a-z0-9_-]*(\/[a-z0-9][a-z0-9_-]*)*$/
const PATH_MAX = 60
const HEADER = /^[A-Za-z0-9-]{1,64}$/
/** They are for whoever stands between the sender and the run, and would be kept in its journal. */
const SECRET_HEADER = /^(authorization|cookie|set-cookie|proxy-.*|webhook-signature)$/

type Given = Readonly<Record<string, unknown>>

export function readTriggers(triggers: unknown, where: string): readonly MadeTrigger[] {
  if (triggers === undefined) return []
  if (!Array.isArray(triggers)) throw optionInvalid('triggers', where, triggers, 'a list')
  const read = triggers.map((one: unknown, i) => readTrigger(one, `triggers[${i}] of ${where}`))
  const paths = read.flatMap((one) => (one.type === 'webhook' ? [one.path] : []))
  const twice = paths.find((path, i) => path !== '' && paths.indexOf(path) < i)
  if (twice === undefined) return read
  throw optionInvalid('path', `triggers of ${where}`, twice, 'another one for each webhook')
}

function readTrigger(one: unknown, where: string): MadeTrigger {
  const given = (typeof one === 'object' && one !== null ? one : {}) as Given
  const { type } = given
  const fields = typeof type === 'string' && Object.hasOwn(FIELDS, type) ? FIELDS[type] : undefined
  if (!fields) throw optionInvalid('type', where, type, "'manual', 'event', 'cron' or 'webhook'")
  checkOptions(given, where, fields)
  if (type === 'event') return readEvent(given, where)
  if (type === 'webhook') return readWebhook(given, where)
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

function readWebhook({ path = '', hmac, dedupe, headers = [] }: Given, where: string): MadeTrigger {
  const isPath = typeof path === 'string' && path.length <= PATH_MAX && PATH.test(path)
  if (path !== '' && !isPath) {
    const expected = `small letters, digits, - and _, parted by /, at most ${PATH_MAX} of them`
    throw optionInvalid('path', where, path, expected)
  }
  const isList = Array.isArray(headers) && headers.every((one) => HEADER.test(String(one)))
  if (!isList) throw optionInvalid('headers', where, headers, 'a list of names of headers')
  const names = headers.map((one) => String(one).toLowerCase())
  const secret = names.find((one) => SECRET_HEADER.test(one))
  if (secret !== undefined) {
    throw optionInvalid('headers', where, secret, 'none that holds a secret: it would be stored')
  }
  const rules = {
    hmac: hmac === undefined ? null : readHmac(hmac, where),
    dedupe: dedupe === undefined ? null : readDedupe(dedupe, where),
    headers: names,
  }
  return { type: 'webhook', path: String(path), rules }
}

function readHmac(hmac: unknown, where: string): WebhookHmac {
  const expected = "an object: { secret: 'NAME' }, and for signatures of the body alone { header }"
  if (typeof hmac !== 'object' || hmac === null) throw optionInvalid('hmac', where, hmac, expected)
  checkOptions(hmac, `hmac of ${where}`, ['secret', 'header', 'prefix', 'encoding'])
  const { secret, header, prefix = 'sha256=', encoding = 'hex' } = hmac as Given
  if (typeof secret !== 'string' || secret === '') {
    throw optionInvalid('hmac.secret', where, typeof secret, 'the name of a secret')
  }
  if (header !== undefined && !HEADER.test(String(header))) {
    throw optionInvalid('hmac.header', where, header, 'the name of a header')
  }
  if (typeof prefix !== 'string') throw optionInvalid('hmac.prefix', where, prefix, 'a text')
  if (encoding !== 'hex' && encoding !== 'base64') {
    throw optionInvalid('hmac.encoding', where, encoding, "'hex' or 'base64'")
  }
  const name = header === undefined ? null : String(header).toLowerCase()
  return { secret, header: name, prefix, encoding }
}

function readDedupe(dedupe: unknown, where: string): NonNullable<WebhookRules['dedupe']> {
  const given = (typeof dedupe === 'object' && dedupe !== null ? dedupe : {}) as Given
  checkOptions(given, `dedupe of ${where}`, ['header', 'expression'])
  const { header, expression } = given
  if (expression === undefined && HEADER.test(String(header ?? ''))) {
    return { header: String(header).toLowerCase() }
  }
  if (typeof expression !== 'string' || header !== undefined) {
    throw optionInvalid('dedupe', where, dedupe, "{ header: 'name' } or { expression: 'body.id' }")
  }
  const { names } = compile(expression, `"dedupe" of ${where}`)
  const unknown = [...names].find((name) => !DEDUPE_NAMES.includes(name))
  if (unknown !== undefined) {
    const expected = `an expression of ${DEDUPE_NAMES.join(', ')}`
    throw optionInvalid('dedupe.expression', where, expression, expected)
  }
  return { expression }
}

// Standard Schema v1 at the doors: what a validator says becomes a value or a list of issues.

import { type Issue, PerdureError } from '../model/errors.js'
import type { Checked, Schema } from './types.js'

const ACCEPTS = '~perdure.accepts'

/** A type without a check: `signals: { go: typed<{ at: Date }>() }`. */
export function typed<T>(): Schema<T> {
  const standard = {
    version: 1 as const,
    vendor: 'perdure',
    validate: (value: unknown) => ({ value: value as T }),
    [ACCEPTS]: true,
  }
  return { '~standard': standard }
}

/** Whether the schema can say no at all; a typed() one needs no asking. */
export function checksSomething(schema: Schema): boolean {
  return !(ACCEPTS in schema['~standard'])
}

export function isSchema(value: unknown): value is Schema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  const standard = (value as Partial<Schema>)['~standard']
  return typeof standard === 'object' && typeof standard?.validate === 'function'
}

/** More help nobody, and a list of wrong values may have as many as it is long. */
const ISSUES_MAX = 100

type Door = 'INPUT_INVALID' | 'PAYLOAD_INVALID'

/** The parsed value; throws what the door says about it. Async validators are awaited. */
export async function parse(
  schema: Schema,
  value: unknown,
  door: Door,
  what: string,
): Promise<unknown> {
  return accepted(await schema['~standard'].validate(value), door, what)
}

/** The same where nothing may be awaited: in the body of a run. */
export function parseNow(schema: Schema, value: unknown, door: Door, what: string): unknown {
  const checked = schema['~standard'].validate(value)
  if (checked instanceof Promise) {
    // Its outcome would arrive at another moment on every replay.
    checked.catch(() => {})
    throw new PerdureError('OPTION_INVALID', `The schema of ${what} is asynchronous.`, {
      hint: "declare it in the definition (signals: { name: schema }): there it is checked when the signal is sent, and may be asynchronous; or check in a step of its own, wf.do('check', () => …)",
    })
  }
  return accepted(checked, door, what)
}

function accepted(checked: Checked<unknown>, door: Door, what: string): unknown {
  if (!checked.issues) return (checked as { value: unknown }).value
  const issues: Issue[] = checked.issues.slice(0, ISSUES_MAX).map((issue) => ({
    message: issue.message,
    path: issue.path?.map(pathKey),
  }))
  const all = checked.issues.length
  throw new PerdureError(door, `${what} does not fit its schema: ${listed(issues, all)}.`, {
    hint: 'correct the value, or the schema in the definition',
    details: { issues },
  })
}

function pathKey(segment: unknown): string | number {
  const key =
    typeof segment === 'object' && segment !== null && 'key' in segment ? segment.key : segment
  return typeof key === 'number' ? key : String(key)
}

/** Of `count` in all. */
function listed(issues: readonly Issue[], count: number): string {
  const shown = issues
    .slice(0, 3)
    .map(({ message, path }) => (path?.length ? `${path.join('.')}: ${message}` : message))
  return shown.join('; ') + (count > 3 ? `; and ${count - 3} more` : '')
}

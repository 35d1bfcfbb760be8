// Query and body against their schemas; the headers that mean something to every route.

import type { z } from '@hono/zod-openapi'
import { PerdureError, shown } from '../model/errors.js'
import { RUN_ID, WORKSPACE_NAME } from '../model/ids.js'
import { requestInvalid } from './errors.js'
import type { HeaderReader } from './headers.js'

export function checkQuery(url: URL, schema: z.ZodType | null): unknown {
  if (url.search === '') return schema ? checked(schema, {}, 'query') : undefined
  const given: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  for (const name of new Set(url.searchParams.keys())) {
    const values = url.searchParams.getAll(name)
    given[name] = values.length === 1 ? values[0] : values
  }
  if (schema) return checked(schema, { ...given }, 'query')
  const [name] = Object.keys(given)
  if (name === undefined) return undefined
  throw requestInvalid([{ path: `query.${shortened(name)}`, message: 'is not known here' }])
}

export function checked(schema: z.ZodType, value: unknown, where: string): unknown {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw requestInvalid(result.error.issues.flatMap((issue) => problemsOf(issue, where)))
}

function problemsOf(issue: z.core.$ZodIssue, where: string) {
  const path = [where, ...issue.path.map((part) => shortened(String(part)))].join('.')
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: `${path}.${shortened(key)}`,
      message: 'is not known here',
    }))
  }
  const message = issue.message.startsWith('Invalid input: ')
    ? issue.message.slice('Invalid input: '.length)
    : issue.message
  return [{ path, message: `is not valid: ${shortened(message, 200)}` }]
}

const shortened = (text: string, lengthMax = 80): string =>
  text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text

/** The id of the run that is started, or of the message that is sent: the second one with it changes nothing. */
export function keyOf(headers: HeaderReader): string | undefined {
  const key = headers.get('idempotency-key')
  if (key === null) return undefined
  if (RUN_ID.test(key)) return key
  throw new PerdureError('ID_INVALID', `${shown(key)} cannot be an idempotency key.`, {
    hint: 'use 1 to 128 of letters, digits and _ . : @ + = -, for example a UUID: it becomes the id of the run or message',
  })
}

/** null: none is named. */
export function askedWorkspace(headers: HeaderReader): string | null {
  const asked = headers.get('perdure-workspace')
  if (asked === null || WORKSPACE_NAME.test(asked)) return asked
  throw new PerdureError('NAME_INVALID', `${shown(asked)} cannot be the name of a workspace.`, {
    hint: 'use 1 to 128 of letters, digits and _ . : @ + = -',
  })
}

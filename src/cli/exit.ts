// How a command ends: a number for scripts, and for people what is wrong, once, with what to do.

import { PerdureError } from '../model/errors.js'
import type { Io } from './io.js'

export const EXIT = {
  /** It did what it was asked; a run that it followed has completed. */
  done: 0,
  /** The run failed, was cancelled or timed out; or a call was refused. */
  failed: 1,
  /** Wrong options, no server, no database. */
  setup: 2,
  /** The run waits for a person. */
  waiting: 3,
  /** Ctrl-C, as shells count it; what was followed goes on. */
  interrupted: 130,
} as const
export type Exit = (typeof EXIT)[keyof typeof EXIT]

const SETUP = new Set([
  'OPTION_INVALID',
  'PROJECT_INVALID',
  'OPTION_UNKNOWN',
  'DURATION_INVALID',
  'SCHEMA_NAME_INVALID',
  'SERVER_UNREACHABLE',
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'HOST_UNKNOWN',
  'PEER_MISSING',
  'DATABASE_UNAVAILABLE',
  'DATABASE_LOCKED',
  'DATABASE_NEWER',
  'DATABASE_VERSION',
  'DATABASE_UNSAFE',
  'DATABASE_OLDER',
  'EMBEDDED_IN_PRODUCTION',
])

/** What to do about it here, where the error itself speaks of calls and routes. */
const HINTS: Readonly<Record<string, string>> = {
  RUN_NOT_FOUND: 'perdure runs lists those of the workspace; --workspace names another one',
  DEFINITION_UNKNOWN: 'perdure workflows lists those that the server and its workers have',
  SCHEDULE_NOT_FOUND: 'perdure schedules lists those of the workspace',
  UNAUTHENTICATED: 'give a token: --token, or PERDURE_TOKEN',
}

export const exitOf = (error: unknown): Exit =>
  PerdureError.is(error) && !SETUP.has(error.code) ? EXIT.failed : EXIT.setup

export function printError(io: Io, error: unknown, isJson: boolean, isVerbose: boolean): void {
  const { code, message, hint, lines } = factsOf(error)
  if (isJson) return io.err(JSON.stringify({ error: { code, message, hint } }))
  const { paint } = io
  io.err(paint.red(`${message}${code ? ` [${code}]` : ''}`))
  for (const line of lines) io.err(`  ${line}`)
  if (hint) io.err(paint.dim(`  next: ${hint}`))
  if (code) io.err(paint.dim(`  more: docs/reference/errors.md#${code.toLowerCase()}`))
  if (isVerbose && error instanceof Error && error.stack) io.err(paint.dim(error.stack))
}

interface Facts {
  readonly code?: string
  readonly message: string
  readonly hint?: string
  /** Below the message: where in what was given. */
  readonly lines: readonly string[]
}

function factsOf(error: unknown): Facts {
  if (!PerdureError.is(error)) {
    return { message: error instanceof Error ? error.message : String(error), lines: [] }
  }
  const { code, message, details } = error
  const { lines = [] } = details as { readonly lines?: readonly string[] }
  return { code, message, hint: HINTS[code] ?? error.hint, lines }
}

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
} as const
export type Exit = (typeof EXIT)[keyof typeof EXIT]

const SETUP = new Set([
  'OPTION_INVALID',
  'SERVER_UNREACHABLE',
  'DATABASE_UNAVAILABLE',
  'DATABASE_LOCKED',
  'DATABASE_VERSION',
  'DATABASE_NEWER',
  'DATABASE_OLDER',
  'EMBEDDED_IN_PRODUCTION',
  'ANSWER_FOREIGN',
])

export const exitOf = (error: unknown): Exit =>
  error instanceof PerdureError && !SETUP.has(error.code) ? EXIT.failed : EXIT.setup

export function printError(io: Io, error: unknown, isJson: boolean, isVerbose: boolean): void {
  const { code, message, hint } = factsOf(error)
  if (isJson) return io.err(JSON.stringify({ error: { code, message, hint } }))
  io.err(io.paint.red(`${message}${code ? ` [${code}]` : ''}`))
  if (hint) io.err(io.paint.dim(`  next: ${hint}`))
  if (isVerbose && error instanceof Error && error.stack) io.err(io.paint.dim(error.stack))
}

function factsOf(error: unknown): { code?: string; message: string; hint?: string } {
  if (error instanceof PerdureError) {
    const { code, message, hint } = error
    return { code, message, ...(hint !== undefined && { hint }) }
  }
  return { message: error instanceof Error ? error.message : String(error) }
}

// Errors as people and programs get them: application/problem+json. No stack, no SQL, no names of files.

import type { Log } from '../index.js'
import { type ErrorCode, PerdureError } from '../model/errors.js'
import { internal } from './errors.js'
import { plainText } from './plain.js'

/** The one table. What a caller can change is 4xx; what stands here as 500 would be a fault of ours. */
export const STATUS_OF: Readonly<Record<ErrorCode, number>> = {
  // what was asked for has not come to its end, or not to a good one
  WORKFLOW_FAILED: 409,
  WORKFLOW_CANCELLED: 409,
  WORKFLOW_TIMED_OUT: 409,
  STEP_TIMED_OUT: 409,
  STEP_NESTED: 409,
  WAIT_TIMED_OUT: 504,
  // which run
  RUN_NOT_FOUND: 404,
  RUN_FINISHED: 409,
  NOT_AVAILABLE: 409,
  TRANSITION_UNAVAILABLE: 409,
  RUN_NOT_RETRYABLE: 409,
  ATTEMPT_CHANGED: 409,
  MAILBOX_FULL: 409,
  // what was given
  ID_INVALID: 400,
  ID_TAKEN: 409,
  NAME_INVALID: 400,
  SCHEMA_NAME_INVALID: 400,
  OPTION_UNKNOWN: 400,
  OPTION_INVALID: 400,
  INPUT_INVALID: 422,
  PAYLOAD_INVALID: 422,
  VALUE_UNSTORABLE: 422,
  VALUE_TOO_LARGE: 413,
  STREAM_FULL: 409,
  DURATION_INVALID: 400,
  SCHEDULE_INVALID: 422,
  SCHEDULE_NOT_FOUND: 404,
  DEFINITION_UNKNOWN: 404,
  DEFINITION_INVALID: 422,
  NAME_TAKEN: 409,
  VERSION_CHANGED: 409,
  DEFINITION_ARCHIVED: 409,
  WEBHOOK_NOT_FOUND: 404,
  WEBHOOK_SIGNATURE_INVALID: 401,
  WEBHOOK_INVALID: 400,
  SNAPSHOT_INVALID: 422,
  GRAPH_INVALID: 422,
  EXPRESSION_INVALID: 422,
  NODE_TYPE_UNKNOWN: 422,
  // what code of users did meanwhile, told by send and by stateless runs
  GUARD_INVALID: 409,
  EXPRESSION_FAILED: 409,
  HTTP_BLOCKED: 409,
  HTTP_FAILED: 409,
  HTTP_STATUS: 409,
  WEBHOOK_FAILED: 409,
  TRANSITION_TOO_DEEP: 409,
  NO_BRANCH: 409,
  LOOP_TOO_LONG: 409,
  DIVERGED: 409,
  FOREIGN_AWAIT: 409,
  HISTORY_TOO_LONG: 409,
  WORKER_CRASHED: 409,
  UNDO_FAILED: 409,
  LEASE_LOST: 409,
  TRANSACTION_INVALID: 409,
  INSIDE_TRANSACTION: 409,
  // the request itself
  REQUEST_INVALID: 400,
  REQUEST_TOO_LARGE: 413,
  CONTENT_TYPE_INVALID: 415,
  ROUTE_UNKNOWN: 404,
  METHOD_NOT_ALLOWED: 405,
  HOST_UNKNOWN: 421,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  RATE_LIMITED: 429,
  // not now
  OUTCOME_UNKNOWN: 503,
  OVERLOADED: 503,
  DATABASE_UNAVAILABLE: 503,
  ENGINE_CLOSED: 503,
  SERVER_UNREACHABLE: 503,
  PROJECT_INVALID: 500,
  // ours
  INTERNAL: 500,
  PEER_MISSING: 500,
  WEBHOOK_SECRET_MISSING: 500,
  DATABASE_NEWER: 500,
  DATABASE_OLDER: 500,
  RUNS_BUSY: 500,
  RUNS_EXIST: 500,
  EXPORT_INVALID: 500,
  FOLDER_TAKEN: 500,
  DATABASE_VERSION: 500,
  DATABASE_LOCKED: 500,
  DATABASE_UNSAFE: 500,
  EMBEDDED_IN_PRODUCTION: 500,
  NOT_SETTLED: 500,
  STEP_NOT_REACHED: 500,
  OUTCOME_CHANGED: 500,
  SIMULATION_FAILED: 500,
}

export const PROBLEM_TYPE = 'application/problem+json'
/** Each has a heading in docs/reference/errors.md. */
const TYPE = 'urn:perdure:error:'

export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly code: ErrorCode
  readonly hint: string
  readonly requestId: string
  readonly runId?: string
  readonly details?: unknown
}

/** Codes whose message may quote the database or the machine: it goes to the log alone. */
const TOLD_BRIEFLY: Partial<Record<ErrorCode, string>> = {
  DATABASE_UNAVAILABLE: 'The database does not answer.',
}

export function problemOf(error: unknown, requestId: string, log: Log): Problem {
  const known = PerdureError.is(error) && Object.hasOwn(STATUS_OF, error.code) ? error : null
  const status = known ? STATUS_OF[known.code] : 500
  if (status === 500) log.error('a request failed', { requestId, error })
  const told = known && status !== 500 ? known : internal()
  const { code, hint, runId } = told
  const details: unknown = JSON.parse(plainText(told.details))
  return {
    type: `${TYPE}${code}`,
    title: TOLD_BRIEFLY[code] ?? told.message,
    status,
    code,
    hint,
    requestId,
    ...(runId !== undefined && { runId }),
    ...(Object.keys(told.details).length > 0 && { details }),
  }
}

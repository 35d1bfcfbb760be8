// One error class. A code that is a word, a message that says what happened and where, a hint that says what
// to do, and a page per code in docs/reference/errors.md.

/** Every code, with whether trying the same again can help. A code is here only if something throws it. */
export const CODES = {
  WORKFLOW_FAILED: { retryable: false },
  WORKFLOW_CANCELLED: { retryable: false },
  WORKFLOW_TIMED_OUT: { retryable: false },
  STEP_TIMED_OUT: { retryable: true },
  STEP_NESTED: { retryable: false },
  WAIT_TIMED_OUT: { retryable: false },
  RUN_NOT_FOUND: { retryable: false },
  RUN_FINISHED: { retryable: false },
  NOT_AVAILABLE: { retryable: true },
  TRANSITION_UNAVAILABLE: { retryable: true },
  RUN_NOT_RETRYABLE: { retryable: false },
  ATTEMPT_CHANGED: { retryable: false },
  ID_INVALID: { retryable: false },
  ID_TAKEN: { retryable: false },
  NAME_INVALID: { retryable: false },
  NAME_TAKEN: { retryable: false },
  SCHEMA_NAME_INVALID: { retryable: false },
  OPTION_UNKNOWN: { retryable: false },
  OPTION_INVALID: { retryable: false },
  INPUT_INVALID: { retryable: false },
  PAYLOAD_INVALID: { retryable: false },
  VALUE_UNSTORABLE: { retryable: false },
  VALUE_TOO_LARGE: { retryable: false },
  STREAM_FULL: { retryable: false },
  DURATION_INVALID: { retryable: false },
  SCHEDULE_INVALID: { retryable: false },
  SCHEDULE_NOT_FOUND: { retryable: false },
  WEBHOOK_NOT_FOUND: { retryable: false },
  WEBHOOK_SIGNATURE_INVALID: { retryable: false },
  WEBHOOK_INVALID: { retryable: false },
  WEBHOOK_SECRET_MISSING: { retryable: true },
  WEBHOOK_FAILED: { retryable: true },
  DEFINITION_UNKNOWN: { retryable: false },
  DEFINITION_INVALID: { retryable: false },
  DEFINITION_ARCHIVED: { retryable: false },
  SNAPSHOT_INVALID: { retryable: false },
  GUARD_INVALID: { retryable: false },
  EXPRESSION_INVALID: { retryable: false },
  EXPRESSION_FAILED: { retryable: false },
  HTTP_BLOCKED: { retryable: false },
  HTTP_FAILED: { retryable: true },
  HTTP_STATUS: { retryable: true },
  TRANSITION_TOO_DEEP: { retryable: false },
  GRAPH_INVALID: { retryable: false },
  VERSION_CHANGED: { retryable: false },
  NODE_TYPE_UNKNOWN: { retryable: false },
  NO_BRANCH: { retryable: false },
  LOOP_TOO_LONG: { retryable: false },
  DIVERGED: { retryable: false },
  FOREIGN_AWAIT: { retryable: false },
  HISTORY_TOO_LONG: { retryable: false },
  WORKER_CRASHED: { retryable: true },
  UNDO_FAILED: { retryable: true },
  LEASE_LOST: { retryable: true },
  MAILBOX_FULL: { retryable: true },
  OUTCOME_UNKNOWN: { retryable: true },
  OVERLOADED: { retryable: true },
  INSIDE_TRANSACTION: { retryable: false },
  TRANSACTION_INVALID: { retryable: false },
  PEER_MISSING: { retryable: false },
  DATABASE_UNAVAILABLE: { retryable: true },
  DATABASE_NEWER: { retryable: false },
  DATABASE_OLDER: { retryable: false },
  RUNS_BUSY: { retryable: true },
  RUNS_EXIST: { retryable: false },
  EXPORT_INVALID: { retryable: false },
  FOLDER_TAKEN: { retryable: false },
  DATABASE_VERSION: { retryable: false },
  DATABASE_LOCKED: { retryable: false },
  DATABASE_UNSAFE: { retryable: false },
  EMBEDDED_IN_PRODUCTION: { retryable: false },
  ENGINE_CLOSED: { retryable: false },
  REQUEST_INVALID: { retryable: false },
  REQUEST_TOO_LARGE: { retryable: false },
  CONTENT_TYPE_INVALID: { retryable: false },
  ROUTE_UNKNOWN: { retryable: false },
  METHOD_NOT_ALLOWED: { retryable: false },
  HOST_UNKNOWN: { retryable: false },
  UNAUTHENTICATED: { retryable: false },
  FORBIDDEN: { retryable: false },
  RATE_LIMITED: { retryable: true },
  INTERNAL: { retryable: false },
  SERVER_UNREACHABLE: { retryable: true },
  PROJECT_INVALID: { retryable: false },
  NOT_SETTLED: { retryable: false },
  STEP_NOT_REACHED: { retryable: false },
  OUTCOME_CHANGED: { retryable: false },
  SIMULATION_FAILED: { retryable: false },
} as const

export type ErrorCode = keyof typeof CODES

export interface Issue {
  readonly message: string
  readonly path?: readonly unknown[] | undefined
}

/** Where in the text of an expression. `position` counts from 0, line and column from 1. */
interface ExpressionPlace {
  readonly text: string
  readonly position?: number
  readonly line?: number
  readonly column?: number
}

interface Details {
  INPUT_INVALID: { readonly issues: readonly Issue[] }
  PAYLOAD_INVALID: { readonly issues: readonly Issue[] }
  VALUE_UNSTORABLE: { readonly path: string }
  VALUE_TOO_LARGE: { readonly bytes: number; readonly bytesMax: number }
  DIVERGED: { readonly position: number; readonly recorded: string; readonly found: string }
  GRAPH_INVALID: {
    readonly problems: readonly { readonly path: string; readonly message: string }[]
  }
  /** null: there is no such graph. */
  VERSION_CHANGED: { readonly version: number | null }
  TRANSITION_TOO_DEEP: { readonly depth: number; readonly limit: number }
  NOT_AVAILABLE: { readonly available: readonly string[] }
  TRANSITION_UNAVAILABLE: { readonly place: string; readonly available: readonly string[] }
  ID_TAKEN: { readonly workflow: string }
  EXPRESSION_INVALID: ExpressionPlace
  EXPRESSION_FAILED: ExpressionPlace
  SCHEDULE_INVALID: { readonly problems: readonly string[] }
  /** `stale`: its time is more than five minutes away. */
  WEBHOOK_SIGNATURE_INVALID: { readonly problem: 'missing' | 'stale' | 'wrong' }
  WEBHOOK_INVALID: { readonly problem: 'type' | 'json' | 'dedupe' }
  WEBHOOK_FAILED: { readonly status: number | null }
  REQUEST_INVALID: {
    readonly problems: readonly { readonly path: string; readonly message: string }[]
  }
}
export type DetailsOf<C extends ErrorCode> = C extends keyof Details
  ? Details[C]
  : Readonly<Record<string, unknown>>

interface More {
  readonly hint: string
  readonly runId?: string | undefined
  readonly step?: string | undefined
  readonly details?: object | undefined
  readonly cause?: unknown
}

/** On every PerdureError, also of another copy of the package. */
export const ERROR_BRAND = Symbol.for('perdure.error')

export class PerdureError<C extends ErrorCode = ErrorCode> extends Error {
  override readonly name = 'PerdureError'
  readonly code: C
  readonly hint: string
  readonly retryable: boolean
  readonly runId?: string
  readonly step?: string
  readonly details: DetailsOf<C>

  constructor(code: C, message: string, more: More) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.code = code
    this.hint = more.hint
    this.retryable = CODES[code].retryable
    if (more.runId !== undefined) this.runId = more.runId
    if (more.step !== undefined) this.step = more.step
    this.details = (more.details ?? {}) as DetailsOf<C>
    Object.defineProperty(this, ERROR_BRAND, { value: true })
  }

  /** Narrows an unknown error, also one of another copy of the package. */
  static is<C extends ErrorCode>(error: unknown, ...codes: readonly C[]): error is PerdureError<C> {
    if (typeof error !== 'object' || error === null || !(ERROR_BRAND in error)) return false
    const code = (error as { code?: unknown }).code
    return codes.length === 0 || (codes as readonly unknown[]).includes(code)
  }
}

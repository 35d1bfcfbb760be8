// One error class. A code that is a word, a message that says what happened and where, a hint that says what
// to do, and a page per code in docs/reference/errors.md. Factories keep each wording in one place.

/** Every code, with whether trying the same again can help. A code is here only if something throws it. */
export const CODES = {
  WORKFLOW_FAILED: { retryable: false },
  WORKFLOW_CANCELLED: { retryable: false },
  WORKFLOW_TIMED_OUT: { retryable: false },
  STEP_TIMED_OUT: { retryable: true },
  WAIT_TIMED_OUT: { retryable: false },
  RUN_NOT_FOUND: { retryable: false },
  RUN_FINISHED: { retryable: false },
  RUN_NOT_RETRYABLE: { retryable: false },
  ATTEMPT_CHANGED: { retryable: false },
  ID_INVALID: { retryable: false },
  ID_TAKEN: { retryable: false },
  NAME_INVALID: { retryable: false },
  SCHEMA_NAME_INVALID: { retryable: false },
  OPTION_UNKNOWN: { retryable: false },
  OPTION_INVALID: { retryable: false },
  INPUT_INVALID: { retryable: false },
  PAYLOAD_INVALID: { retryable: false },
  VALUE_UNSTORABLE: { retryable: false },
  VALUE_TOO_LARGE: { retryable: false },
  DURATION_INVALID: { retryable: false },
  DEFINITION_UNKNOWN: { retryable: false },
  DEFINITION_INVALID: { retryable: false },
  DIVERGED: { retryable: false },
  FOREIGN_AWAIT: { retryable: false },
  HISTORY_TOO_LONG: { retryable: false },
  WORKER_CRASHED: { retryable: true },
  LEASE_LOST: { retryable: true },
  MAILBOX_FULL: { retryable: true },
  OUTCOME_UNKNOWN: { retryable: true },
  OVERLOADED: { retryable: true },
  INSIDE_TRANSACTION: { retryable: false },
  TRANSACTION_INVALID: { retryable: false },
  PEER_MISSING: { retryable: false },
  DATABASE_UNAVAILABLE: { retryable: true },
  DATABASE_NEWER: { retryable: false },
  DATABASE_VERSION: { retryable: false },
  DATABASE_LOCKED: { retryable: false },
  EMBEDDED_IN_PRODUCTION: { retryable: false },
  ENGINE_CLOSED: { retryable: false },
} as const

export type ErrorCode = keyof typeof CODES

export interface Issue {
  readonly message: string
  readonly path?: readonly unknown[] | undefined
}

interface Details {
  INPUT_INVALID: { readonly issues: readonly Issue[] }
  PAYLOAD_INVALID: { readonly issues: readonly Issue[] }
  VALUE_UNSTORABLE: { readonly path: string }
  DIVERGED: { readonly position: number; readonly recorded: string; readonly found: string }
  ID_TAKEN: { readonly workflow: string }
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

const BRAND = Symbol.for('perdure.error')

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
    Object.defineProperty(this, BRAND, { value: true })
  }

  /** Narrows an unknown error, also one of another copy of the package. */
  static is<C extends ErrorCode>(error: unknown, ...codes: readonly C[]): error is PerdureError<C> {
    if (typeof error !== 'object' || error === null || !(BRAND in error)) return false
    const code = (error as { code?: unknown }).code
    return codes.length === 0 || (codes as readonly unknown[]).includes(code)
  }
}

/** A value in a message: short, and never more than one line. */
export function shown(value: unknown): string {
  let text: string
  try {
    text =
      typeof value === 'string'
        ? JSON.stringify(value)
        : typeof value === 'function'
          ? `function ${value.name || '(anonymous)'}`
          : typeof value === 'object' && value !== null
            ? (JSON.stringify(value) ?? String(value))
            : String(value)
  } catch {
    text = Object.prototype.toString.call(value)
  }
  return text.length > 80 ? `${text.slice(0, 77)}…` : text
}

/** The nearest known word, if one is near enough to be a slip of the fingers. */
export function didYouMean(word: string, known: readonly string[]): string | null {
  let best: string | null = null
  let bestDistance = Math.min(3, Math.ceil(word.length / 3) + 1)
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase())
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance]
  }
  return best
}

/** Edits, with two neighbours swapped counting as one. */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let cost = Math.min(
        (rows[i - 1]?.[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (rows[i - 1]?.[j - 1] ?? 0) + same,
      )
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (rows[i - 2]?.[j - 2] ?? 0) + 1)
      }
      row.push(cost)
    }
    rows.push(row)
  }
  return rows[a.length]?.[b.length] ?? 0
}

// ── factories, in the order of CODES ────────────────────────────────────────────────────────────────────────

export const durationInvalid = (value: unknown): PerdureError =>
  new PerdureError('DURATION_INVALID', `${shown(value)} is not a duration.`, {
    hint: "write a whole number and one unit: ms, s, min, h, day, week, y ('500ms', '5min', '2 days'), or milliseconds as a number",
  })

export const nameInvalid = (what: string, value: unknown): PerdureError =>
  new PerdureError('NAME_INVALID', `${shown(value)} cannot be the name of a ${what}.`, {
    hint:
      what === 'step' || what === 'signal'
        ? 'use a text of 1 to 256 bytes without control characters and without spaces at its ends'
        : 'use a letter, then up to 127 of letters, digits, _ . -',
  })

export const idInvalid = (value: unknown): PerdureError =>
  new PerdureError('ID_INVALID', `${shown(value)} cannot be a run id.`, {
    hint: 'use 1 to 128 of letters, digits and _ . : @ + = -',
  })

export const optionUnknown = (
  option: string,
  where: string,
  known: readonly string[],
): PerdureError => {
  const near = didYouMean(option, known)
  return new PerdureError('OPTION_UNKNOWN', `Unknown option "${option}" in ${where}.`, {
    hint: near ? `did you mean "${near}"?` : `known options: ${known.join(', ')}`,
    details: { option, known },
  })
}

export const optionInvalid = (
  option: string,
  where: string,
  value: unknown,
  expected: string,
): PerdureError =>
  new PerdureError(
    'OPTION_INVALID',
    `Option "${option}" in ${where} cannot be ${shown(value)}: it must be ${expected}.`,
    {
      hint: `give ${expected}`,
    },
  )

/** Refuses keys that are not known, with the nearest one that is. */
export function checkOptions(options: object, where: string, known: readonly string[]): void {
  for (const key of Object.keys(options)) {
    if (!known.includes(key)) throw optionUnknown(key, where, known)
  }
}

export const insideTransaction = (what: string): PerdureError =>
  new PerdureError('INSIDE_TRANSACTION', `${what} was called inside an open transaction.`, {
    hint: 'await it after the transaction, or pass { transaction }',
  })

/** `pid` is null where the lock file does not say; `self` when it is the caller's own process. */
export const databaseLocked = (
  directory: string,
  lockPath: string,
  holder: { readonly pid: number | null; readonly self: boolean },
): PerdureError => {
  const { pid, self } = holder
  const who = pid === null ? 'another process' : `${self ? 'this process, ' : ''}process ${pid}`
  return new PerdureError(
    'DATABASE_LOCKED',
    `The embedded database in ${directory} is already open in ${who}.`,
    {
      hint: self
        ? 'share one engine or close the first one; set DATABASE_URL for PostgreSQL to run several'
        : `stop ${who}, use another directory, or set DATABASE_URL for PostgreSQL; if it surely runs no more, delete ${lockPath}`,
      details: { directory, pid },
    },
  )
}

export const databaseLockLost = (directory: string, pid: number | null): PerdureError =>
  new PerdureError(
    'DATABASE_LOCKED',
    `This process lost the embedded database in ${directory}: ${
      pid === null ? 'its lock file is gone' : `process ${pid} has taken it over`
    }. Nothing is written any more.`,
    {
      hint: 'restart this process; one that stops for longer than 10 s gives a shared directory away: set DATABASE_URL for PostgreSQL to run several',
      details: { directory, pid },
    },
  )

export const databaseVersion = (directory: string, found: string, runs: number): PerdureError =>
  new PerdureError(
    'DATABASE_VERSION',
    `The embedded database in ${directory} was written by PostgreSQL ${found}, and this version of Perdure embeds PostgreSQL ${runs}.`,
    {
      hint: 'use the version of Perdure that wrote it, or another directory',
      details: { directory, found, runs },
    },
  )

export const embeddedFailed = (directory: string, doing: string, cause: unknown): PerdureError =>
  new PerdureError(
    'DATABASE_UNAVAILABLE',
    `The embedded database in ${directory} could not be ${doing}: ${cause instanceof Error ? cause.message : String(cause)}`,
    {
      hint: 'look at free space and permissions of the directory, then start again; DATABASE_URL selects PostgreSQL instead',
      details: { directory },
      cause,
    },
  )

export const embeddedInProduction = (): PerdureError =>
  new PerdureError(
    'EMBEDDED_IN_PRODUCTION',
    'The embedded database is not used in production: it survives crashes, but not power cuts, and serves one process.',
    { hint: 'set DATABASE_URL for PostgreSQL, or allow it with allowEmbeddedInProduction: true' },
  )

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
  VALUE_TOO_LARGE: { readonly bytes: number; readonly bytesMax: number }
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

export const valueUnstorable = (what: {
  /** 'the result of step "charge"' */
  readonly where: string
  /** From the value to what is refused: '.user.orders[3].save'; '' is the value itself. */
  readonly path: string
  readonly found: string
  readonly hint?: string | undefined
}): PerdureError<'VALUE_UNSTORABLE'> => {
  const path = what.path.length > 200 ? `…${what.path.slice(-200)}` : what.path
  return new PerdureError(
    'VALUE_UNSTORABLE',
    `Cannot store ${what.where}: ${path === '' ? 'it' : path} is ${what.found}.`,
    {
      hint:
        what.hint ??
        'return what you need, such as { id: order.id }, or use braces to return nothing: () => { … }',
      details: { path: what.path },
    },
  )
}

/** A text that encode did not write. Its content is not shown: it may be anybody's. */
export const textForeign = (cause: unknown): PerdureError<'VALUE_UNSTORABLE'> =>
  new PerdureError('VALUE_UNSTORABLE', 'A stored text is not a value that Perdure wrote.', {
    hint: 'the row was changed from outside, or written by a newer version: use that version to read it',
    details: { path: '' },
    cause,
  })

export const valueTooLarge = (what: {
  readonly where: string
  readonly bytes: number
  readonly bytesMax: number
  /** False: it was given up at `bytes`. */
  readonly exact: boolean
}): PerdureError<'VALUE_TOO_LARGE'> =>
  new PerdureError(
    'VALUE_TOO_LARGE',
    `Cannot store ${what.where}: it takes ${what.exact ? '' : 'more than '}${what.bytes} bytes, and the limit is ${what.bytesMax}.`,
    {
      hint: 'keep large data elsewhere (a file store, a table of yours) and store a reference to it',
      details: { bytes: what.bytes, bytesMax: what.bytesMax },
    },
  )

/** Refuses keys that are not known, with the nearest one that is. */
export function checkOptions(options: object, where: string, known: readonly string[]): void {
  for (const key of Object.keys(options)) {
    if (!known.includes(key)) throw optionUnknown(key, where, known)
  }
}

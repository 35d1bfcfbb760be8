// Every error that is raised: factories keep each wording in one place.

import { PerdureError } from './error.js'

export * from './error.js'
export * from './operating-errors.js'
export * from './run-errors.js'

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

const optionUnknown = (option: string, where: string, known: readonly string[]): PerdureError => {
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

export const diverged = (
  runId: string,
  definition: string,
  difference: { readonly position: number; readonly recorded: string; readonly found: string },
): PerdureError<'DIVERGED'> =>
  new PerdureError(
    'DIVERGED',
    `Run ${runId} stopped: the code of "${definition}" no longer matches its history. At question ${difference.position} the history has ${difference.recorded}, the code now asks ${difference.found}.`,
    {
      hint: 'deploy the code it was started with, or guard the change with wf.patched(); the run is kept, nothing ran in its place',
      runId,
      details: difference,
    },
  )

export const foreignAwait = (runId: string, definition: string): PerdureError =>
  new PerdureError(
    'FOREIGN_AWAIT',
    `Run ${runId}: the function of "${definition}" awaits something that is not a step of it.`,
    {
      hint: 'wrap what it awaits in wf.do, so that its result is recorded; use wf.sleep instead of a timer',
      runId,
    },
  )

export const historyTooLong = (runId: string, entries: number): PerdureError =>
  new PerdureError('HISTORY_TOO_LONG', `Run ${runId} has ${entries} entries in its journal.`, {
    hint: 'split the work into child runs: each has a journal of its own',
    runId,
  })

export const databaseRefused = (runId: string, sqlState: string): PerdureError =>
  new PerdureError(
    'VALUE_UNSTORABLE',
    `The database refused what run ${runId} wanted to record (SQLSTATE ${sqlState}).`,
    {
      hint: 'look at the last step of the run: what it returned cannot be stored',
      details: { path: '', sqlState },
    },
  )

export const valueRefused = (runId: string, sqlState: string): PerdureError =>
  new PerdureError(
    'VALUE_UNSTORABLE',
    `The database refused the value sent to run ${runId} (SQLSTATE ${sqlState}). Nothing was changed.`,
    { hint: 'look at the input or payload: it cannot be stored', runId, details: { path: '' } },
  )

export const idTaken = (id: string, owner: string, wanted: string): PerdureError<'ID_TAKEN'> =>
  new PerdureError(
    'ID_TAKEN',
    owner === wanted
      ? `Run id "${id}" belongs to a run of "${owner}" that was started with another input.`
      : `Run id "${id}" belongs to a run of "${owner}".`,
    {
      hint:
        owner === wanted
          ? 'the same id with the same input is the same run; use another id for other work'
          : `ids are shared by all workflows of a workspace; use for example "${wanted}:${id}"`,
      runId: id,
      details: { workflow: owner },
    },
  )

export const runNotFound = (id: string): PerdureError =>
  new PerdureError('RUN_NOT_FOUND', `There is no run "${id}".`, {
    hint: 'check the id and the workspace',
    runId: id,
  })

export const runUndone = (id: string): PerdureError =>
  new PerdureError(
    'RUN_NOT_RETRYABLE',
    `Run ${id} was undone: what it had done is not there any more.`,
    {
      hint: 'start a new run to do the work again',
      runId: id,
      details: { status: 'failed' },
    },
  )

export const runNotRetryable = (id: string, status: string): PerdureError =>
  new PerdureError(
    'RUN_NOT_RETRYABLE',
    `Run ${id} is ${status}: only a failed run can be retried.`,
    {
      hint: 'start a new run to do the work again',
      runId: id,
      details: { status },
    },
  )

export const attemptChanged = (id: string, expected: number, found: number): PerdureError =>
  new PerdureError('ATTEMPT_CHANGED', `Run ${id} is at attempt ${found}, not ${expected}.`, {
    hint: 'somebody else has retried it; look at it again before you do',
    runId: id,
    details: { expected, found },
  })

export const mailboxFull = (id: string): PerdureError =>
  new PerdureError('MAILBOX_FULL', `Run ${id} has too many messages that it has not taken.`, {
    hint: 'let it take some first, or find out why it does not',
    runId: id,
  })

export const outcomeUnknown = (id: string): PerdureError =>
  new PerdureError(
    'OUTCOME_UNKNOWN',
    `The database did not say whether it has stored this for run "${id}".`,
    {
      hint: 'repeat it with the same id when the database is back: it is applied once',
      runId: id,
    },
  )

export const overloaded = (): PerdureError =>
  new PerdureError('OVERLOADED', 'Too much is waiting to be written to the database.', {
    hint: 'slow down and try again; nothing was changed',
  })

export const engineClosed = (): PerdureError =>
  new PerdureError('ENGINE_CLOSED', 'The engine is closed.', { hint: 'create a new one' })

export const insideTransaction = (what: string): PerdureError =>
  new PerdureError('INSIDE_TRANSACTION', `${what} was called inside an open transaction.`, {
    hint: 'await it after the transaction',
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

export const databaseAway = (cause: Error): PerdureError =>
  new PerdureError('DATABASE_UNAVAILABLE', `The database does not answer: ${cause.message}`, {
    hint: 'ask again when it is back; runs wait for it and go on by themselves',
    cause,
  })

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

/** `hint`: what to do about it. */
export const databaseUnsafe = (directory: string, problem: string, hint: string): PerdureError =>
  new PerdureError(
    'DATABASE_UNSAFE',
    `The embedded database in ${directory} is not opened: ${problem}.`,
    { hint, details: { directory } },
  )

export const embeddedInProduction = (): PerdureError =>
  new PerdureError(
    'EMBEDDED_IN_PRODUCTION',
    'The embedded database is not used in production: it survives crashes, but not power cuts, and serves one process.',
    { hint: 'set DATABASE_URL for PostgreSQL, or allow it with allowEmbeddedInProduction: true' },
  )

// One example of each error, made by the very code that throws it. docs/reference/errors.md shows them.

import { waitFor } from '../../src/authoring/function/wait.js'
import {
  httpRefused,
  loopTooLong,
  noBranch,
  nodeTypeUnknown,
} from '../../src/authoring/graph/errors.js'
import { compile } from '../../src/authoring/graph/expression.js'
import { graphInvalid } from '../../src/authoring/graph/problems.js'
import { transitionTooDeep } from '../../src/authoring/machine/dispatch.js'
import { snapshotInvalid } from '../../src/authoring/machine/errors.js'
import { asBoolean } from '../../src/authoring/machine/guard.js'
import { parse } from '../../src/authoring/schema.js'
import { codeBroken } from '../../src/cli/project-errors.js'
import { serverUnreachable } from '../../src/client/errors.js'
import { makeHttpCaller } from '../../src/egress/http-call.js'
import * as engine from '../../src/engine/errors.js'
import { runsBusy } from '../../src/engine/moving-errors.js'
import { readSpec } from '../../src/engine/schedule-options.js'
import * as webhooks from '../../src/engine/webhook-errors.js'
import { keyOf } from '../../src/engine/webhook-signature.js'
import * as http from '../../src/http/errors.js'
import { createEngine, duration, workflow } from '../../src/index.js'
import type { TurnDelta, Worker } from '../../src/kernel/store.js'
import * as errors from '../../src/model/errors.js'
import { checkOptions, type ErrorCode, PerdureError } from '../../src/model/errors.js'
import { PUBLISHED_BYTES_MAX, PUBLISHED_MAX } from '../../src/model/limits.js'
import type { Driver } from '../../src/store/driver.js'
import { migrate } from '../../src/store/migrate.js'
import { sqlOf } from '../../src/store/sql.js'
import { openStepTransaction } from '../../src/store/step-transaction.js'
import * as testing from '../../src/testing/errors.js'
import { simulate } from '../../src/testing/index.js'
import * as tools from '../../src/tools/errors.js'

const schema = {
  '~standard': {
    version: 1,
    vendor: 'example',
    validate: () => ({ issues: [{ message: 'must be positive', path: ['amount'] }] }),
  },
} as const

const newerDatabase = {
  description: 'postgresql://db:5432/app',
  query: async () => [{ standby: false, migrated: true, number: 99 }],
} as unknown as Driver

async function endedTransaction() {
  const fence = { uid: UID, owner: UID, epoch: 1, seq: 1 }
  const delta = {
    kind: 'turn',
    fence,
    notBefore: null,
    entries: [],
    taken: [],
    refused: [],
    events: [],
    waits: null,
    starts: [],
    shown: null,
    documents: [],
    answers: [],
  }
  const next = { messages: [], next: { kind: 'go' } }
  const by = { id: UID, build: 'b', leaseMs: 1, definitions: [] } as unknown as Worker
  let statements = 0
  const transaction = {
    query: async () => {
      statements += 1
      if (statements > 1) throw Object.assign(new Error('ended'), { code: 'PD001' })
      return { rows: [{ xact: '1' }], rowCount: 1 }
    },
    commit: async () => {},
    rollback: async () => {},
  }
  const opened = { transaction, sql: sqlOf('perdure'), by, mailboxMax: 1, now: async () => 0 }
  const step = await openStepTransaction(opened)
  return step.close({ ...delta, ...next } as unknown as TurnDelta, { feed: false })
}
const UID = '01a1e11a-7a4e-74ce-981f-2d11f382304b'

/** A wait whose answer is that nobody has sent anything. */
function lateWait() {
  const turn = { receive: async () => null }
  const context = { turn, around: {}, executing: 0, waits: new Map() }
  return waitFor(context as never, 'approval', { timeout: '24h' })
}

/** Of a name that nobody knows. */
function call(url: string) {
  const unknown = Object.assign(new Error('unknown'), { code: 'ENOTFOUND' })
  const caller = makeHttpCaller({ lookup: () => Promise.reject(unknown) })
  const { signal } = new AbortController()
  return caller({ method: 'GET', url, headers: {}, body: null, timeoutMs: 60_000, signal })
}

/** One step, and nothing that would tell its second execution from a new one. */
function failingSimulation() {
  const order = workflow('order', (wf) => wf.do('charge', () => 'charged'))
  return simulate(order, { seeds: 0 })
}

const inRun = (id: string) => ({ node: { id }, turn: { run: { id: 'o-1' } } })

const EXAMPLES: Record<ErrorCode, () => unknown> = {
  WORKFLOW_FAILED: () =>
    engine.endedBadly('o-1', 'failed', 'card network down', new Error('card network down')),
  WORKFLOW_CANCELLED: () => engine.endedBadly('o-1', 'cancelled', 'refused by ada', undefined),
  WORKFLOW_TIMED_OUT: () =>
    engine.endedBadly(
      'o-1',
      'timed_out',
      errors.workflowTimedOut('o-1', 60_000).message,
      undefined,
    ),
  UNDO_FAILED: () => errors.undoFailed('o-1', 'undo:charge', 'the bank is closed', ''),
  STEP_TIMED_OUT: () => errors.stepTimedOut('charge', 5_000, 'o-1'),
  STEP_NESTED: () => errors.stepNested('wf.do("reserve")'),
  WAIT_TIMED_OUT: lateWait,
  RUN_NOT_FOUND: () => errors.runNotFound('o-1'),
  RUN_FINISHED: () => errors.runFinished('o-1', 'completed'),
  NOT_AVAILABLE: () => errors.notAvailable('o-1', 'change', ['approval']),
  SNAPSHOT_INVALID: () =>
    snapshotInvalid('the machine has no state "pickin"', 'did you mean "picking"?'),
  TRANSITION_UNAVAILABLE: () =>
    engine.transitionUnavailable(
      { id: 'r-7', name: 'aprove', place: 'reviewing', isGuarded: false },
      ['approve', 'reject'],
    ),
  RUN_NOT_RETRYABLE: () => errors.runNotRetryable('o-1', 'completed'),
  NAME_TAKEN: () => engine.nameTaken('invoices', 'stored'),
  DEFINITION_ARCHIVED: () => engine.definitionArchived('invoices'),
  VERSION_CHANGED: () => engine.versionChanged('invoices', 2, 3),
  ATTEMPT_CHANGED: () => errors.attemptChanged('o-1', 1, 2),
  ID_INVALID: () => errors.idInvalid('order 1'),
  ID_TAKEN: () => errors.idTaken('o-1', 'order', 'order'),
  NAME_INVALID: () => errors.nameInvalid('workflow', '1st order'),
  SCHEMA_NAME_INVALID: () => engine.schemaNameInvalid('My-Schema'),
  OPTION_UNKNOWN: () => checkOptions({ retires: 3 }, 'wf.do("charge")', ['retry', 'retries']),
  OPTION_INVALID: () =>
    errors.optionInvalid('priority', 'engine.start("order")', 11, 'a whole number from 0 to 9'),
  INPUT_INVALID: () => parse(schema, {}, 'INPUT_INVALID', 'The input of workflow "order"'),
  PAYLOAD_INVALID: () => parse(schema, {}, 'PAYLOAD_INVALID', 'The payload of signal "approval"'),
  VALUE_UNSTORABLE: () =>
    errors.valueUnstorable({
      where: 'the result of step "charge"',
      path: '.client.send',
      found: 'a function',
    }),
  VALUE_TOO_LARGE: () =>
    errors.valueTooLarge({
      where: 'the result of step "export"',
      bytes: 3_145_728,
      bytesMax: 2_097_152,
      exact: true,
    }),
  STREAM_FULL: () => errors.streamFull('export', PUBLISHED_MAX, PUBLISHED_BYTES_MAX),
  DURATION_INVALID: () => duration('1.5h' as '1h'),
  DEFINITION_UNKNOWN: () => engine.targetUnknown('start', undefined),
  DEFINITION_INVALID: () => {
    const order = workflow('order', async () => {})
    return createEngine({ database: 'memory:', workflows: [order, order] })
  },
  GUARD_INVALID: () =>
    asBoolean(3, 'The guard of rule 1 of event "ASSIGN" in state "picking" of machine "picking"'),
  EXPRESSION_INVALID: () => compile('size(input.items > 0', 'the condition of edge "full"'),
  EXPRESSION_FAILED: () =>
    compile('input.totl > 100', 'the condition of edge "large"').evaluate(
      new Map([['input', { total: 120 }]]),
    ),
  HTTP_BLOCKED: () => call('http://169.254.169.254/latest/meta-data'),
  HTTP_FAILED: () => call('https://api.example.com/orders'),
  GRAPH_INVALID: () =>
    graphInvalid('routing', [
      { path: 'nodes[2].config.if', message: 'is missing: write an expression, { "cel": "…" }' },
      { path: 'edges[1].to', message: '"scor" is no node: did you mean "score"?' },
    ]),
  NODE_TYPE_UNKNOWN: () => nodeTypeUnknown(inRun('score'), 'acme.score'),
  HTTP_STATUS: () =>
    httpRefused(
      inRun('notify'),
      { method: 'POST', url: 'https://api.example.com/v1' },
      { status: 503, body: '' },
    ),
  NO_BRANCH: () => noBranch(inRun('kind'), 'parcel'),
  LOOP_TOO_LONG: () => loopTooLong(inRun('each'), 10_000),
  TRANSITION_TOO_DEEP: () =>
    transitionTooDeep('o-1', { event: 'GO', state: 'checking', limit: 100 }),
  DIVERGED: () =>
    errors.diverged('o-1', 'order', {
      position: 2,
      recorded: 'step "charge" (inline)',
      found: 'step "reserve" (inline)',
    }),
  FOREIGN_AWAIT: () => errors.foreignAwait('o-1', 'order'),
  HISTORY_TOO_LONG: () => errors.historyTooLong('o-1', 50_000),
  WORKER_CRASHED: () => errors.workerCrashed('o-1', 5),
  LEASE_LOST: () => errors.leaseLost('o-1'),
  MAILBOX_FULL: () => errors.mailboxFull('o-1'),
  SCHEDULE_INVALID: () =>
    readSpec({ cron: '0 9 30 2 *', timezone: 'Europe/Berln' }, 'Schedule "daily"'),
  SCHEDULE_NOT_FOUND: () => engine.scheduleNotFound('daily'),
  WEBHOOK_NOT_FOUND: () => webhooks.webhookNotFound(),
  WEBHOOK_SIGNATURE_INVALID: () => webhooks.signatureInvalid('wrong'),
  WEBHOOK_INVALID: () => webhooks.bodyNotJson('it is not UTF-8'),
  WEBHOOK_SECRET_MISSING: () => keyOf(undefined, 'SHOP'),
  WEBHOOK_FAILED: () => webhooks.webhookFailed('ops', 'its receiver answered 503', 503),
  OUTCOME_UNKNOWN: () => errors.outcomeUnknown('o-1'),
  OVERLOADED: () => errors.overloaded(),
  INSIDE_TRANSACTION: () => engine.insideTransactionError('start'),
  TRANSACTION_INVALID: endedTransaction,
  PEER_MISSING: () => engine.peerMissing('pg', 'A PostgreSQL database', undefined),
  DATABASE_UNAVAILABLE: () =>
    createEngine({ database: 'postgres://app:secret@127.0.0.1:1/app', worker: false }),
  DATABASE_NEWER: () => migrate(newerDatabase, 'perdure'),
  DATABASE_OLDER: () => tools.databaseOlder(newerDatabase, 'perdure', 8, 2),
  RUNS_BUSY: () => runsBusy(['o-1', 'o-2']),
  RUNS_EXIST: () => tools.runsExist(['o-1']),
  EXPORT_INVALID: () => tools.exportInvalid(7, 'the end is missing'),
  FOLDER_TAKEN: () => tools.folderTaken('orders', ['package.json']),
  DATABASE_VERSION: () => errors.databaseVersion('.perdure/data', '17', 18),
  DATABASE_LOCKED: () =>
    errors.databaseLocked('.perdure/data', '.perdure/data/lock', { pid: 4711, self: false }),
  DATABASE_UNSAFE: () =>
    errors.databaseUnsafe(
      '.perdure/data',
      'everybody on this machine may write to the directory (mode 777)',
      'chmod o-w .perdure/data, or name a directory inside it (it is made), then start again',
    ),
  EMBEDDED_IN_PRODUCTION: () => errors.embeddedInProduction(),
  ENGINE_CLOSED: () => errors.engineClosed(),
  REQUEST_INVALID: () =>
    http.requestInvalid([
      {
        path: 'query.limit',
        message: 'is not valid: expected a whole number from 1 to 500',
      },
    ]),
  REQUEST_TOO_LARGE: () =>
    http.requestTooLarge('its body has more than 4194304 bytes', '4194304 bytes'),
  CONTENT_TYPE_INVALID: () => http.contentTypeInvalid('text/plain'),
  ROUTE_UNKNOWN: () => http.routeUnknown('GET'),
  METHOD_NOT_ALLOWED: () => http.methodNotAllowed('PATCH', ['GET', 'PUT', 'DELETE']),
  HOST_UNKNOWN: () => http.hostUnknown(),
  UNAUTHENTICATED: () => http.unauthenticated(),
  FORBIDDEN: () => http.roleTooLow('operator', 'viewer'),
  RATE_LIMITED: () => http.rateLimited(1_200),
  INTERNAL: () => http.internal(),
  SERVER_UNREACHABLE: () =>
    serverUnreachable('http://127.0.0.1:4114', new TypeError('fetch failed')),
  PROJECT_INVALID: () => codeBroken('workflows/order.ts:12:7', 'Expected ";" but found "wf"', 0),
  NOT_SETTLED: () =>
    testing.stepUnsettled({ id: 'o-1', definition: 'order' }, 'call the bank', 2_000),
  STEP_NOT_REACHED: () => testing.stepNotReached('chrage', 'after', ['charge'], 'charge'),
  OUTCOME_CHANGED: () =>
    testing.outcomeChanged('before commit 2 of 3 (step.completed "charge")', {
      expected: "'charged once'",
      found: "'charged twice'",
      cause: undefined,
    }),
  SIMULATION_FAILED: async () => (await failingSimulation()).orThrow(),
}

/** As people see it: what happened, and what to do next. */
export async function exampleOf(code: ErrorCode): Promise<string> {
  const error = await made(EXAMPLES[code])
  if (!PerdureError.is(error, code)) throw new Error(`${code}: made ${String(error)} instead`)
  const newest = /this version knows \d+/
  return `${error.message.replace(newest, 'this version knows 3')} [${code}]\n  next: ${error.hint}`
}

async function made(make: () => unknown): Promise<unknown> {
  try {
    return await make()
  } catch (error) {
    return error
  }
}

// Webhooks to others: who is told of the ends of runs, and the task that tells them. The database starts one run of it for each
// end and target, in the transaction of that end (deliver_v1).

import { madeOf, refName } from '../authoring/definition.js'
import type { HttpCaller } from '../authoring/graph/http-call.js'
import { task } from '../authoring/task/task.js'
import type { Definition, Step } from '../authoring/types.js'
import type { WebhookStore, WebhookTarget } from '../kernel/store.js'
import { decode } from '../model/codec.js'
import { errorRecord } from '../model/error-record.js'
import { checkOptions, optionInvalid, PerdureError } from '../model/errors.js'
import { DEFINITION_NAME, WEBHOOK_RUN, WORKSPACE_NAME } from '../model/ids.js'
import { fatal } from '../model/marks.js'
import { DELIVERED_EVENTS, DELIVERY, type DeliveryInput } from '../model/webhook.js'
import type { HttpOptions } from './engine-options.js'
import { webhookFailed } from './webhook-errors.js'
import { keyOf, signatureOf } from './webhook-signature.js'

const WHERE = 'createEngine'
const FIELDS = ['id', 'url', 'events', 'secret', 'workflows', 'workspace', 'output']
const ID = /^[A-Za-z0-9_-]{1,60}$/
const TIMEOUT_MS = 30_000
/** 1 s, 2 s, 4 s … 2 h: a day in all. */
const RETRY = { attempts: 24, delay: '1s', maxDelay: '2h', jitter: true } as const

type Given = Readonly<Record<string, unknown>>

/** null: this process has nothing to do with them. An empty list takes away those that are stored. */
export function readTargets(given: unknown): readonly WebhookTarget[] | null {
  if (given === undefined) return null
  if (!Array.isArray(given)) throw optionInvalid('webhooks', WHERE, given, 'a list')
  const targets = given.map((one: unknown, i) => readTarget(one, `webhooks[${i}] of ${WHERE}`))
  const ids = targets.map(({ id }) => id)
  const twice = ids.find((id, i) => ids.indexOf(id) < i)
  if (twice === undefined) return targets
  throw optionInvalid('id', `webhooks of ${WHERE}`, twice, 'another one for each')
}

function readTarget(one: unknown, where: string): WebhookTarget {
  const given = (typeof one === 'object' && one !== null ? one : {}) as Given
  checkOptions(given, where, FIELDS)
  const { id, url, events, secret, workflows, workspace = null, output = false } = given
  if (typeof id !== 'string' || !ID.test(id)) {
    throw optionInvalid('id', where, id, '1 to 60 of letters, digits, - and _')
  }
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : null
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.username + parsed.password !== '') {
    // Not shown: it may hold what only the two of them know.
    throw optionInvalid('url', where, typeof url, 'an http or https URL without a password')
  }
  const known: readonly unknown[] = DELIVERED_EVENTS
  const isTold =
    Array.isArray(events) && events.length > 0 && events.every((e) => known.includes(e))
  if (!isTold) {
    throw optionInvalid('events', where, events, `a list of ${DELIVERED_EVENTS.join(', ')}`)
  }
  if (typeof secret !== 'string' || secret === '') {
    throw optionInvalid('secret', where, typeof secret, 'the name of a secret')
  }
  if (workspace !== null && !WORKSPACE_NAME.test(String(workspace))) {
    throw optionInvalid('workspace', where, workspace, 'the name of a workspace')
  }
  if (typeof output !== 'boolean') throw optionInvalid('output', where, output, 'true or false')
  return {
    id,
    url: parsed.href,
    secret,
    events: [...new Set(events as string[])].sort(),
    workflows: workflows === undefined ? null : readNames(workflows, where),
    workspace: workspace as string | null,
    withOutput: output,
  }
}

function readNames(workflows: unknown, where: string): readonly string[] {
  const names = Array.isArray(workflows)
    ? workflows.map((one: unknown) => madeOf(one)?.name ?? refName(one) ?? one)
    : [null]
  const isName = (one: unknown) => typeof one === 'string' && DEFINITION_NAME.test(one)
  if (names.every(isName)) return [...new Set(names as string[])].sort()
  throw optionInvalid('workflows', where, workflows, 'a list of definitions or their names')
}

interface DeliveryDeps {
  readonly webhooks: Pick<WebhookStore, 'webhookTargets'>
  readonly secrets: HttpOptions['secrets']
  /** Follows no redirects. */
  readonly http: HttpCaller
}

/** What its target says is asked at each attempt: a corrected URL reaches deliveries that are waiting. */
export function deliveryTask(deps: DeliveryDeps): Definition {
  return task(DELIVERY, { retry: RETRY }, async (input: DeliveryInput, step) => {
    // Only the database gives a run such an id: nobody can have something signed that has not happened.
    const { target: id, uid, seq } = input
    if (step.run.id !== `${WEBHOOK_RUN}${id}:${uid}:${seq}`) {
      throw fatal(webhookFailed(id, 'it is not of an end of a run', null))
    }
    const target = (await deps.webhooks.webhookTargets()).find((one) => one.id === id)
    if (!target) return { delivered: false, why: 'the webhook was removed' }
    return { delivered: true, status: await send(deps, target, input, step) }
  })
}

async function send(deps: DeliveryDeps, target: WebhookTarget, input: DeliveryInput, step: Step) {
  const body = JSON.stringify(bodyOf(input, target), plainly)
  const id = step.run.id
  const timestamp = Math.floor(Date.now() / 1000)
  const key = await keyOf(deps.secrets, target.secret)
  const signature = signatureOf(key, { id, timestamp, body: Buffer.from(body) })
  const status = await call(deps.http, target, {
    body,
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signature,
    },
    signal: step.signal,
  })
  if (status >= 200 && status < 300) return status
  const failed = webhookFailed(target.id, `its receiver answered ${status}`, status)
  // Gone: it wants no more of them.
  throw status === 410 ? fatal(failed) : failed
}

/** What goes wrong is told without the URL, which can be a secret: the run is read by others than those who gave it. */
async function call(
  http: HttpCaller,
  { id, url }: WebhookTarget,
  request: Pick<Parameters<HttpCaller>[0], 'body' | 'headers' | 'signal'>,
): Promise<number> {
  try {
    return (await http({ method: 'POST', url, timeoutMs: TIMEOUT_MS, ...request })).status
  } catch (error) {
    if (!PerdureError.is(error)) throw error
    const [, why = 'the call failed'] = /(?:failed|blocked): (.*)\.$/s.exec(error.message) ?? []
    const failed = webhookFailed(id, why, null)
    throw error.retryable ? failed : fatal(failed)
  }
}

/** Small, as Standard Webhooks has it. The same at every attempt. */
function bodyOf(input: DeliveryInput, { withOutput }: WebhookTarget): object {
  const { runId, workflow, version, workspace, parentId, status, attempt, event, stored } = input
  const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString())
  const times = {
    createdAt: iso(input.createdAt),
    startedAt: iso(input.startedAt),
    endedAt: iso(input.endedAt),
  }
  const data = { runId, workflow, version, workspace, parentId, status, attempt, ...times }
  return { type: event, timestamp: times.endedAt, data: { ...data, ...endOf() } }

  function endOf(): object {
    if (event === 'run.cancelled') return { reason: input.reason ?? '' }
    if (stored === null) return {}
    if (event === 'run.completed') return withOutput ? { output: decode(stored) } : {}
    const { name, message, code } = errorRecord(stored)
    return { error: { name, message, code } }
  }
}

/** What JSON does not have, as near to it as can be. */
function plainly(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  return value instanceof Map || value instanceof Set ? [...value] : value
}

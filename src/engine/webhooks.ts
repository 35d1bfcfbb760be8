// engine.webhooks: requests of others that start runs. Whoever is told of ends is in webhook-delivery.ts.

import { createHash, randomBytes } from 'node:crypto'
import type { Made } from '../authoring/definition.js'
import { parse } from '../authoring/schema.js'
import type { NewWebhook, Webhook, WebhookKey } from '../kernel/store.js'
import { encode } from '../model/codec.js'
import type { DeliveredEvent } from '../model/webhook.js'
import { beforeRead, beforeWrite, type Core } from './core.js'
import { webhookNotFound, webhookUnknown } from './webhook-errors.js'
import { dedupeKey, inputOf, readRequest, runIdOf } from './webhook-request.js'
import { checkSignature, keyOf } from './webhook-signature.js'
import type { WebhookInfo, WebhookInput, Webhooks } from './webhook-types.js'

const KEY_BYTES = 16
const PATH = /^[A-Za-z0-9_/-]{1,128}$/

export function webhookCalls(core: Core): Webhooks {
  const { webhooks } = core.kernel
  return {
    list: async () => {
      beforeRead(core)
      return (await webhooks.webhooks()).map(infoOf)
    },
    rotate: async (id) => {
      beforeWrite(core, 'webhooks.rotate')
      const known = (await webhooks.webhooks()).find((one) => one.id === id)
      const rotated = known && (await webhooks.rotateWebhook(known.id, newKey(known.label)))
      if (!rotated) throw webhookUnknown(String(id))
      return infoOf(rotated)
    },
    receive: (path, request) => receive(core, path, request),
    targets: async () => {
      beforeRead(core)
      const targets = await webhooks.webhookTargets()
      return targets.map(({ id, url, events, workflows, workspace, withOutput: output }) => {
        const told = events as readonly DeliveredEvent[]
        return { id, url, events: told, workflows, workspace, output }
      })
    },
  }
}

async function receive(core: Core, path: unknown, given: unknown) {
  beforeWrite(core, 'webhooks.receive')
  const request = readRequest(given, core.valueBytesMax)
  const webhook = await found(core, path)
  const { rules, definition, workspace, timeoutMs } = webhook
  if (rules.hmac) {
    const key = await keyOf(core.secrets, rules.hmac.secret)
    checkSignature(rules.hmac, key, request.headers, request.body, core.kernel.now())
  }
  const input = inputOf(request, rules)
  const known = dedupeKey(rules, request, input)
  await checkInput(core.definitions.get(definition), input)
  const id = runIdOf(webhook, known ?? randomBytes(KEY_BYTES).toString('hex'))
  const started = await core.kernel.operations.startOnce({
    id,
    workspace,
    definition,
    version: null,
    input: encode(input, `the input of "${definition}"`, core.valueBytesMax),
    tags: { webhook: webhook.id },
    priority: 5,
    delayMs: 0,
    timeoutMs,
  })
  return { runId: id as string, started }
}

async function found(core: Core, path: unknown): Promise<Webhook> {
  const text = typeof path === 'string' ? path.replace(/^\//, '') : ''
  const webhook = PATH.test(text) ? await core.kernel.webhooks.webhookAt(digestOf(text)) : null
  if (webhook === null) throw webhookNotFound()
  return webhook
}

/**
 * Who sends what the code cannot take hears of it, if the code is here. What is stored is what was sent: the first step of the run
 * checks it again, wherever that is.
 */
async function checkInput(made: Made | undefined, input: WebhookInput): Promise<void> {
  if (made?.input) {
    await parse(made.input, input, 'INPUT_INVALID', `The input of ${made.kind} "${made.name}"`)
  }
}

/** The webhooks of a definition, for runs in that workspace; each with a key for the case that it is new. */
export function webhooksOf(made: Made, workspace: string): readonly NewWebhook[] {
  const { name, triggers, kind, timeoutMs } = made
  let unnamed = 0
  return triggers.flatMap((trigger) => {
    if (trigger.type !== 'webhook') return []
    const { path: label, rules } = trigger
    if (label === '') unnamed += 1
    const id = `${name}:${label === '' ? unnamed : label}`
    const ownMs = kind === 'task' ? null : timeoutMs
    const names = { id, label, definition: name, workspace }
    return [{ ...names, timeoutMs: ownMs, rules, ...newKey(label) }]
  })
}

function newKey(label: string): WebhookKey {
  const key = randomBytes(KEY_BYTES).toString('base64url')
  return { key, digest: digestOf(pathOf(label, key)) }
}

const pathOf = (label: string, key: string): string => (label === '' ? key : `${label}/${key}`)

const digestOf = (path: string): string => createHash('sha256').update(path).digest('base64url')

function infoOf({ label, key, rules, createdAt, rotatedAt, ...names }: Webhook): WebhookInfo {
  return {
    id: names.id,
    workflow: names.definition,
    workspace: names.workspace,
    path: pathOf(label, key),
    isSigned: rules.hmac !== null,
    createdAt: new Date(createdAt),
    rotatedAt: rotatedAt === null ? null : new Date(rotatedAt),
  }
}

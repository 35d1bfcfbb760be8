// The program that delivers webhooks, composed: it has the store, the secrets and calls to the outside, and nothing of the user's code.

import { madeOf } from './authoring/definition.js'
import { programOf } from './authoring/program.js'
import { throwRecordedAs } from './authoring/recorded.js'
import { makeHttpCaller } from './egress/http-call.js'
import type { Settings } from './engine/options.js'
import { deliveryTask } from './engine/webhook-delivery.js'
import type { Log } from './kernel/ports.js'
import { webhooksFor } from './kernel/scheduling.js'
import type { WebhookStore } from './kernel/store.js'
import type { Program } from './model/program.js'

/** Whoever has the option delivers, for all: it knows the secrets. None without it. */
export function deliveryPrograms(
  { webhooks, http: options, valueBytesMax, errors, tx }: Settings,
  store: WebhookStore,
  log: Log,
): readonly Program[] {
  if (webhooks === null) return []
  const http = makeHttpCaller({ ...options, maxRedirects: 0 })
  const { secrets } = options
  const made = madeOf(deliveryTask({ webhooks: webhooksFor(store), secrets, http }))
  if (!made) return []
  const around = {
    log,
    valueBytesMax,
    throwRecorded: throwRecordedAs(errors),
    tx,
    http,
    find: () => undefined,
    events: null,
    nodeTypes: new Map(),
    transitionTimeoutMs: null,
    isStateless: false,
  }
  return [programOf(made, around)]
}

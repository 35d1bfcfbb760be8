// Webhooks: what is said of one that starts runs, and what a delivery tells.

import type { Instant, Stored } from './run.js'

/** The definition that delivers. Nobody else may have this name. */
export const DELIVERY = 'perdure.webhook'

/** Of which somebody may be told. */
export const DELIVERED_EVENTS = [
  'run.completed',
  'run.failed',
  'run.cancelled',
  'run.timed_out',
] as const
export type DeliveredEvent = (typeof DELIVERED_EVENTS)[number]

/** What a trigger says of the requests it takes. Stored, so that every process can take them. */
export interface WebhookRules {
  readonly hmac: WebhookHmac | null
  readonly dedupe: { readonly header: string } | { readonly expression: string } | null
  /** Headers that the run gets beside the usual ones, in small letters. */
  readonly headers: readonly string[]
}

/** `header` null: the Standard Webhooks scheme. Else that header holds the HMAC of the body, behind `prefix`. */
export interface WebhookHmac {
  /** The name of the secret. */
  readonly secret: string
  readonly header: string | null
  readonly prefix: string
  readonly encoding: 'hex' | 'base64'
}

/** The input of a delivery, as deliver_v1 writes it. */
export interface DeliveryInput {
  readonly target: string
  readonly uid: string
  readonly seq: number
  readonly event: DeliveredEvent
  readonly runId: string
  readonly workflow: string
  readonly version: string | null
  readonly workspace: string
  readonly parentId: string | null
  readonly status: string
  readonly attempt: number
  readonly createdAt: Instant
  readonly startedAt: Instant | null
  readonly endedAt: Instant
  /** Of a cancel. */
  readonly reason: string | null
  /** The error of a failed run; the output, if it is asked for. */
  readonly stored: Stored | null
}

// The store port for webhooks: addresses at which runs are started, and targets that are told how runs have ended. Part of store.ts.

import type { Instant } from '../model/run.js'
import type { WebhookRules } from '../model/webhook.js'
import type { NewRun } from './rows.js'

export interface WebhookStore {
  /**
   * What these definitions have, in the place of what they had. A webhook keeps the key with which it was stored first, also if its
   * definition was without it for a while.
   */
  putWebhooks(definitions: readonly string[], webhooks: readonly NewWebhook[]): Promise<void>
  /** Those that their definitions have, in the order of their ids. */
  webhooks(): Promise<readonly Webhook[]>
  /** The one with this digest of its path. */
  webhookAt(digest: string): Promise<Webhook | null>
  /** Another key instead; null: there is none of that id. */
  rotateWebhook(id: string, to: WebhookKey): Promise<Webhook | null>
  /**
   * A lone start, counted where the run says, else where the limits of its definition say. `known`: there is a run with this id,
   * whatever it was started with.
   */
  startByWebhook(run: NewRun): Promise<'started' | 'known'>
  /** All targets. The same again changes nothing. */
  putWebhookTargets(targets: readonly WebhookTarget[]): Promise<void>
  /**
   * In the order of their ids. When a run ends, a run of DELIVERY is inserted for each that is to be told, in the same transaction; its
   * input is a DeliveryInput. Deliveries themselves are not told of.
   */
  webhookTargets(): Promise<readonly WebhookTarget[]>
}

export interface WebhookKey {
  readonly key: string
  /** Of the whole path. */
  readonly digest: string
}

export interface NewWebhook extends WebhookKey {
  readonly id: string
  /** '': none. */
  readonly label: string
  readonly definition: string
  /** Of its runs. */
  readonly workspace: string
  readonly timeoutMs: number | null
  readonly rules: WebhookRules
}

export interface Webhook extends Omit<NewWebhook, 'digest'> {
  readonly createdAt: Instant
  readonly rotatedAt: Instant | null
}

export interface WebhookTarget {
  readonly id: string
  readonly url: string
  /** The name of the secret that signs. */
  readonly secret: string
  readonly events: readonly string[]
  /** null: every one, of runs that are no children. */
  readonly workflows: readonly string[] | null
  readonly workspace: string | null
  readonly withOutput: boolean
}

// The public types of webhooks.

import type { Definition, Dict, Opt } from '../authoring/types.js'
import type { DeliveredEvent } from '../model/webhook.js'

/** A webhook trigger of a definition. */
export type WebhookInfo = Readonly<{
  /** `<definition>:<path>`, or `<definition>:<number>` of one without a path. */
  id: string
  workflow: string
  /** Of its runs. */
  workspace: string
  /** What is behind the address of the server: whoever knows it may start runs, unless it is signed. */
  path: string
  isSigned: boolean
  createdAt: Date
  /** When its path was made anew. */
  rotatedAt: Date | null
}>

/** As the server has got it. */
export type WebhookRequest = Readonly<{
  method: string
  headers:
    | Iterable<[string, string]>
    | Readonly<Record<string, string | readonly string[] | undefined>>
  /** Untouched: signatures are of these bytes. */
  body: Uint8Array | string
  query?: Iterable<[string, string]> | Readonly<Record<string, string>> | undefined
}>

/** The input of a run that a webhook has started. */
export type WebhookInput<B = unknown> = Readonly<{
  body: B
  headers: Dict<string>
  query: Dict<string>
  method: string
}>

/** Told of the ends of runs. */
export type WebhookTargetInfo = Readonly<{
  id: string
  url: string
  events: readonly DeliveredEvent[]
  /** null: every one, of runs that are no children. */
  workflows: readonly string[] | null
  workspace: string | null
  output: boolean
}>

export type WebhookTargetOptions = Readonly<{
  id: string
  url: string
  events: readonly DeliveredEvent[]
  /** The name of the secret that signs: http.secrets has its value. */
  secret: string
}> &
  Opt<{
    /** Of these alone, children as well. Left out: of every run that is no child. */
    workflows: readonly (Definition | string)[]
    workspace: string
    /** Also what the run has given back. */
    output: boolean
  }>

export interface Webhooks {
  /** Those of triggers, in the order of their ids. */
  list(): Promise<WebhookInfo[]>
  /** A new path; the old one is gone at once. Throws WEBHOOK_NOT_FOUND. */
  rotate(id: string): Promise<WebhookInfo>
  /**
   * Starts the run of a request. `started: false`: it is known, and has that run. Throws WEBHOOK_NOT_FOUND, WEBHOOK_SIGNATURE_INVALID,
   * WEBHOOK_INVALID, WEBHOOK_SECRET_MISSING, VALUE_TOO_LARGE, INPUT_INVALID.
   */
  receive(
    path: string,
    request: WebhookRequest,
  ): Promise<{ readonly runId: string; readonly started: boolean }>
  /** Who is told of the ends of runs: the option `webhooks` of the engine that opened last with one. */
  targets(): Promise<WebhookTargetInfo[]>
}

// The port through which a node calls a service. Code of this layer touches no network: the engine gives it a caller,
// which is src/egress/http-call.ts.

/** The value of a header that is kept outside of the definition: the name of a secret. */
export interface SecretReference {
  readonly secret: string
}

export interface HttpRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string | SecretReference>>
  /** A text is sent as it is, null and undefined are no body, everything else is sent as JSON. */
  readonly body: unknown
  /** For all of it: resolving, connecting, redirects, and the last byte of the answer. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

export interface HttpAnswer {
  readonly status: number
  /** Names in small letters. Cookies are left out. */
  readonly headers: Readonly<Record<string, string>>
  /** Of JSON its value (null if it is empty), else the text. */
  readonly body: unknown
}

/**
 * Whatever status the service answers with is an answer. Throws HTTP_BLOCKED for what is not sent or not taken, HTTP_FAILED for
 * what may go better another time, and the reason of `signal`.
 */
export type HttpCaller = (request: HttpRequest) => Promise<HttpAnswer>

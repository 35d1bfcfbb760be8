// One address of the API: what it takes, who may ask, what it gives. The table of these is the contract: the OpenAPI document,
// the checks of requests and the tests of access are all made from it.

import type { z } from '@hono/zod-openapi'
import type { Client, Engine } from '../index.js'
import type { Caller, Role } from './access.js'
import type { Problem } from './problems.js'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** What a handler is given: checked, and confined to a workspace. */
export interface Call<Q = unknown, B = unknown> {
  /** Confined to `workspace`: what a handler does with runs it does with this. */
  readonly client: Client
  /** Of all workspaces. A handler that uses it confines what it tells by itself. */
  readonly engine: Engine
  readonly caller: Caller
  readonly workspace: string
  readonly params: Readonly<Record<string, string>>
  readonly query: Q
  readonly body: B
  /** The header idempotency-key, if there is one. */
  readonly key: string | undefined
  readonly request: Request
  /** What was thrown, as it is told: for answers that have several outcomes. */
  readonly problem: (error: unknown) => Problem
  /** The Studio is served beside the API. */
  readonly hasStudio: boolean
  /** An answer that goes on: server-sent events, until they end, or nobody listens. */
  readonly stream: (events: (signal: AbortSignal) => AsyncIterable<StreamEvent>) => Response
}

export interface StreamEvent {
  readonly id: string
  readonly event: string
  readonly data: unknown
}

/** A value, and what the answer says beside it. */
export class Answer {
  readonly value: unknown
  readonly more: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> }

  constructor(value: unknown, more: Answer['more']) {
    this.value = value
    this.more = more
  }
}

export interface Route {
  readonly method: Method
  /** As OpenAPI writes it, behind /api/v1 unless `isAtRoot`: '/runs/{id}'. */
  readonly path: string
  readonly isAtRoot: boolean
  readonly role: Role | 'anyone'
  readonly tag: string
  readonly summary: string
  readonly query: z.ZodType | null
  readonly body: z.ZodType | null
  /** As it is documented, where the handler checks its parts. */
  readonly shownBody: z.ZodType | null
  /** It may be left out. */
  readonly isBodyOptional: boolean
  readonly status: number
  /** Of the answer; null: it has none of its own, and is { ok: true }. */
  readonly answer: z.ZodType | null
  readonly contentType: string
  readonly handle: (call: Call<never, never>) => unknown
}

type Out<S> = S extends z.ZodType ? z.output<S> : undefined

interface Spec<Q, B> {
  readonly method: Method
  readonly path: string
  readonly role: Route['role']
  readonly tag: string
  readonly summary: string
  readonly query?: Q
  readonly body?: B
  readonly shownBody?: z.ZodType
  readonly answer?: z.ZodType
  readonly status?: number
  readonly isAtRoot?: boolean
  readonly isBodyOptional?: boolean
  readonly contentType?: string
  handle(call: Call<Out<Q>, Out<B>>): unknown
}

export function route<Q extends z.ZodType | undefined, B extends z.ZodType | undefined>(
  spec: Spec<Q, B>,
): Route {
  return {
    isAtRoot: false,
    status: 200,
    contentType: 'application/json',
    isBodyOptional: false,
    ...spec,
    query: spec.query ?? null,
    body: spec.body ?? null,
    shownBody: spec.shownBody ?? spec.body ?? null,
    answer: spec.answer ?? null,
    handle: (call) => spec.handle(call as unknown as Call<Out<Q>, Out<B>>),
  }
}

export const API = '/api/v1'

export const fullPath = ({ path, isAtRoot }: Pick<Route, 'path' | 'isAtRoot'>): string =>
  isAtRoot ? path : `${API}${path}`

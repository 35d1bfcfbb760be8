// Who asks, and what that allows. Deny by default: without a token nobody is anybody, unless the server is open.

import { createHash, timingSafeEqual } from 'node:crypto'

/** Each may do what those before it may. */
export const ROLES = ['viewer', 'operator', 'author', 'admin'] as const
export type Role = (typeof ROLES)[number]

export interface Caller {
  /** Counts requests, and is told to the log. Never the token. */
  readonly name: string
  readonly role: Role
  readonly workspaces: '*' | readonly string[]
}

/** A token, as the options name it: `hash` is the SHA-256 of one, in hex, so that the token itself need not be in the settings. */
export type TokenOption = ({ readonly token: string } | { readonly hash: string }) & {
  readonly role: Role
  /** Those that it may act in; the first is meant where a request names none. '*': all. */
  readonly workspaces?: '*' | readonly string[] | undefined
  /** For the log. */
  readonly name?: string | undefined
}

export interface Known {
  readonly digest: Buffer
  readonly caller: Caller
}

export const OPEN: Caller = { name: 'open', role: 'admin', workspaces: '*' }

export const isAtLeast = (role: Role, needed: Role): boolean =>
  ROLES.indexOf(role) >= ROLES.indexOf(needed)

export const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest()

/** Digests have one length, and all of them are compared: the time says nothing about a token. */
export function callerOf(known: readonly Known[], header: string | null): Caller | null {
  if (known.length === 0) return null
  const token = /^Bearer ([\x21-\x7e]{1,1024})$/i.exec(header ?? '')?.[1] ?? ''
  const digest = digestOf(token)
  let found: Caller | null = null
  for (const one of known) if (timingSafeEqual(one.digest, digest)) found = one.caller
  return token === '' ? null : found
}

export const DEFAULT_WORKSPACE = 'default'

/** The workspace that a request acts in; null: it may not. `asked`: what its header says. */
export function workspaceFor({ workspaces }: Caller, asked: string | null): string | null {
  if (workspaces === '*') return asked ?? DEFAULT_WORKSPACE
  if (asked !== null) return workspaces.includes(asked) ? asked : null
  return workspaces.includes(DEFAULT_WORKSPACE) ? DEFAULT_WORKSPACE : (workspaces[0] ?? null)
}

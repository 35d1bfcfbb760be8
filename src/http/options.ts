// The options of createHandler and serve, read before anything is served.

import type { Log } from '../index.js'
import { checkOptions, optionInvalid } from '../model/errors.js'
import { WORKSPACE_NAME } from '../model/ids.js'
import { type Caller, digestOf, type Known, ROLES, type TokenOption } from './access.js'
import { isStudio, STUDIO_FOLDER, Studio } from './studio.js'

export interface HandlerOptions {
  /** Who may do what. Without tokens, `authenticate` and `open` nobody may do anything. */
  readonly tokens?: readonly TokenOption[] | undefined
  /** Who asks, by the application's own means; asked before the tokens. null: nobody it knows. */
  readonly authenticate?: ((request: Request) => Caller | null | Promise<Caller | null>) | undefined
  /** Everybody who reaches it is an admin: for behind an application that has checked who asks. */
  readonly open?: boolean | undefined
  /** Host names it is called by, beside localhost, 127.0.0.1 and [::1]: 'api.example.com', with or without a port. */
  readonly hosts?: readonly string[] | undefined
  /** Pages of these origins may call it, beside its own: 'https://app.example.com'. */
  readonly origins?: readonly string[] | undefined
  /** What stands before /api/v1 in the address of a request, where whatever mounts it leaves it there. */
  readonly basePath?: string | undefined
  /** Requests of one caller: so many at once, and so many in a second. Default 200 and 100; false: no limit. */
  readonly rateLimit?: { readonly burst: number; readonly perSecond: number } | false | undefined
  /** Serves the Studio at /: true is the one that comes with the package, a text the folder of another build. */
  readonly studio?: boolean | string | undefined
  readonly log?: Log | undefined
}

export interface Settings {
  readonly known: readonly Known[]
  readonly authenticate: (request: Request) => Caller | null | Promise<Caller | null>
  readonly isOpen: boolean
  readonly hosts: readonly string[]
  readonly origins: readonly string[]
  readonly basePath: string
  readonly rate: { readonly burst: number; readonly perSecond: number } | null
  readonly studio: Studio | null
  readonly log: Log
}

const OPTIONS = [
  'tokens',
  'authenticate',
  'open',
  'hosts',
  'origins',
  'basePath',
  'rateLimit',
  'studio',
  'log',
]
const RATE = { burst: 200, perSecond: 100 }
const TOKEN_LENGTH_MIN = 16

type Given = Readonly<Record<string, unknown>>

export function readOptions(options: unknown, where: string, more: readonly string[]): Settings {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw optionInvalid('options', where, options, 'an object')
  }
  checkOptions(options, where, [...OPTIONS, ...more])
  const given = options as HandlerOptions
  const { authenticate, open, basePath = '' } = given
  if (authenticate !== undefined && typeof authenticate !== 'function') {
    throw optionInvalid('authenticate', where, authenticate, 'a function: (request) => caller')
  }
  if (open !== undefined && typeof open !== 'boolean') {
    throw optionInvalid('open', where, open, 'true or false')
  }
  if (open === true && (authenticate !== undefined || given.tokens !== undefined)) {
    throw optionInvalid(
      'open',
      where,
      open,
      'left out where "tokens" or "authenticate" say who asks',
    )
  }
  if (typeof basePath !== 'string' || !/^(\/[\w.-]+)*$/.test(basePath)) {
    throw optionInvalid('basePath', where, basePath, "the beginning of a path: '/perdure'")
  }
  return {
    known: readTokens(given.tokens, where),
    authenticate: authenticate ?? (() => null),
    isOpen: open ?? false,
    hosts: readTexts(given.hosts, 'hosts', where).map((host) => host.toLowerCase()),
    origins: readTexts(given.origins, 'origins', where),
    basePath,
    rate: readRate(given.rateLimit, where),
    studio: readStudio(given.studio, basePath, where),
    log: given.log ?? consoleLog,
  }
}

function readTokens(tokens: unknown, where: string): readonly Known[] {
  if (tokens === undefined) return []
  if (!Array.isArray(tokens)) throw optionInvalid('tokens', where, typeof tokens, 'a list')
  return tokens.map((one: unknown, i) => readToken(one, `tokens[${i}] of ${where}`, i))
}

/** No message quotes a token. */
function readToken(one: unknown, where: string, i: number): Known {
  if (typeof one !== 'object' || one === null) {
    throw optionInvalid('token', where, typeof one, '{ token, role, workspaces }')
  }
  checkOptions(one, where, ['token', 'hash', 'role', 'workspaces', 'name'])
  const { token, hash, role, workspaces = '*', name = `token ${i + 1}` } = one as Given
  const known = ROLES.find((word) => word === role)
  if (!known) throw optionInvalid('role', where, role, `one of ${ROLES.join(', ')}`)
  const isList = Array.isArray(workspaces) && workspaces.length > 0
  const fits = isList && workspaces.every((w) => typeof w === 'string' && WORKSPACE_NAME.test(w))
  if (workspaces !== '*' && !fits) {
    throw optionInvalid('workspaces', where, workspaces, "'*' or a list of names of workspaces")
  }
  if (typeof name !== 'string') throw optionInvalid('name', where, name, 'a text')
  const caller = { name, role: known, workspaces: workspaces as Caller['workspaces'] }
  return { caller, digest: readDigest(token, hash, where) }
}

function readDigest(token: unknown, hash: unknown, where: string): Buffer {
  if (token !== undefined && hash !== undefined) {
    throw optionInvalid('hash', where, '…', 'given without "token"')
  }
  if (hash !== undefined) {
    if (typeof hash === 'string' && /^[0-9a-f]{64}$/i.test(hash)) return Buffer.from(hash, 'hex')
    throw optionInvalid('hash', where, '…', 'the SHA-256 of a token in hex')
  }
  const fits = typeof token === 'string' && /^[\x21-\x7e]{1,1024}$/.test(token)
  if (fits && token.length >= TOKEN_LENGTH_MIN) return digestOf(token)
  const expected = `a text of at least ${TOKEN_LENGTH_MIN} visible characters, better 32 random bytes`
  throw optionInvalid('token', where, '…', expected)
}

function readTexts(list: unknown, option: string, where: string): readonly string[] {
  if (list === undefined) return []
  const fits = Array.isArray(list) && list.every((one) => typeof one === 'string' && one !== '')
  if (!fits) throw optionInvalid(option, where, list, 'a list of texts')
  return list as readonly string[]
}

function readRate(rate: unknown, where: string): Settings['rate'] {
  if (rate === undefined) return RATE
  if (rate === false) return null
  const { burst, perSecond } = (rate ?? {}) as Given
  const isPositive = (n: unknown): n is number => typeof n === 'number' && n > 0 && n < 1e9
  if (isPositive(burst) && isPositive(perSecond)) return { burst, perSecond }
  throw optionInvalid('rateLimit', where, rate, 'false, or { burst, perSecond }, both above 0')
}

function readStudio(studio: unknown, basePath: string, where: string): Studio | null {
  if (studio === undefined || studio === false) return null
  const folder = studio === true ? STUDIO_FOLDER : studio
  if (typeof folder === 'string' && isStudio(folder)) return new Studio(folder, basePath)
  throw optionInvalid(
    'studio',
    where,
    studio,
    'true, or the folder of a Studio with its index.html',
  )
}

const consoleLog: Log = {
  debug: () => {},
  info: () => {},
  warn: (message, data) => console.warn(message, data ?? ''),
  error: (message, data) => console.error(message, data ?? ''),
}

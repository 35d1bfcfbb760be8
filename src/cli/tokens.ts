// Who may use a server that perdure serve starts.

import type { HandlerOptions, TokenOption } from '../http/index.js'
import { optionInvalid } from '../model/errors.js'

/** PERDURE_TOKENS='admin:<token>,viewer:<token>'. A token of the option --token is an admin's. */
export function tokensOf(
  configured: HandlerOptions['tokens'],
  option: string | undefined,
  variable: string | undefined,
): readonly TokenOption[] | undefined {
  const all: TokenOption[] = [
    ...(configured ?? []),
    ...(option ? [{ token: option, role: 'admin' as const, name: '--token' }] : []),
    ...(variable ?? '').split(',').filter(Boolean).map(tokenOf),
  ]
  return all.length > 0 ? all : undefined
}

/** The role is checked where all tokens are; no message quotes a token. */
function tokenOf(text: string, i: number): TokenOption {
  const at = text.indexOf(':')
  if (at < 0) {
    throw optionInvalid('PERDURE_TOKENS', 'the environment', '…', "'role:token', commas between")
  }
  const role = text.slice(0, at).trim() as TokenOption['role']
  return { role, token: text.slice(at + 1).trim(), name: `PERDURE_TOKENS ${i + 1}` }
}

/** What the other commands of this machine use. Nothing where it is open, or only hashes are known. */
export function ownToken(tokens: HandlerOptions['tokens']): { readonly token?: string } {
  const plain = (tokens ?? []).filter((one) => 'token' in one)
  const best = plain.find(({ role }) => role === 'admin') ?? plain[0]
  return best ? { token: best.token } : {}
}

// Who asks, and of which workspace: the token of this tab, and the address.

const KEY = 'perdure.token'

export const tokenOf = (): string | undefined => sessionStorage.getItem(KEY) ?? undefined

export function keepToken(token: string): void {
  if (token === '') sessionStorage.removeItem(KEY)
  else sessionStorage.setItem(KEY, token)
}

/** undefined: the first that the token may see, or `default`. */
export const workspaceOf = (search: string = location.search): string | undefined =>
  new URLSearchParams(search).get('workspace') ?? undefined

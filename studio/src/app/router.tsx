// Where the person is, is the address and nothing else: filters, tabs and moments can be sent to a colleague.

import { type ComponentProps, type MouseEvent, useCallback, useSyncExternalStore } from 'react'

/** Behind what <base> says: '/runs/o-1?tab=journal'. */
const BASE = new URL(document.baseURI).pathname.replace(/\/$/, '')
/** Kept from page to page. */
const STICKY = ['workspace']

const listeners = new Set<() => void>()
const tell = (): void => {
  for (const listener of listeners) listener()
}
addEventListener('popstate', tell)

const current = (): string => location.pathname.slice(BASE.length) + location.search

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** With what is kept from page to page, unless it says so itself. */
function hrefOf(to: string): string {
  const url = new URL(to, 'http://studio')
  const now = new URLSearchParams(location.search)
  for (const name of STICKY) {
    const kept = now.get(name)
    if (kept !== null && !url.searchParams.has(name)) url.searchParams.set(name, kept)
  }
  return `${BASE}${url.pathname}${url.search}`
}

export function navigate(to: string, { replace = false } = {}): void {
  const href = hrefOf(to)
  if (href === location.pathname + location.search) return
  const isOtherPage = new URL(href, location.href).pathname !== location.pathname
  history[replace ? 'replaceState' : 'pushState'](null, '', href)
  if (isOtherPage) scrollTo(0, 0)
  tell()
}

export function usePath(): string {
  const at = useSyncExternalStore(subscribe, current)
  return at.split('?', 1)[0] || '/'
}

export type Search = readonly [
  URLSearchParams,
  (changes: Readonly<Record<string, string | null>>, options?: { replace?: boolean }) => void,
]

/** The part behind the question mark, and the way to change some of it; null takes a name away. */
export function useSearch(): Search {
  const at = useSyncExternalStore(subscribe, current)
  const set = useCallback<Search[1]>((changes, options) => {
    const params = new URLSearchParams(location.search)
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === '') params.delete(name)
      else params.set(name, value)
    }
    const path = location.pathname.slice(BASE.length)
    navigate(`${path}?${params}`, options ?? { replace: true })
  }, [])
  return [new URLSearchParams(at.split('?', 2)[1] ?? ''), set]
}

/** An ordinary link to the browser (a new tab, copy the address), without loading the page again. */
export function Link({ to, onClick, ...rest }: ComponentProps<'a'> & { readonly to: string }) {
  useSyncExternalStore(subscribe, () => location.search)
  const click = (event: MouseEvent<HTMLAnchorElement>): void => {
    onClick?.(event)
    const isOther = event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0
    if (isOther || event.defaultPrevented) return
    event.preventDefault()
    navigate(to)
  }
  return <a {...rest} href={hrefOf(to)} onClick={click} />
}

/** The parts of a path that a pattern names; null if it is another path. '/runs/:id' */
export function matched(pattern: string, path: string): Readonly<Record<string, string>> | null {
  const names = pattern.split('/')
  const parts = path.replace(/(.)\/$/, '$1').split('/')
  if (names.length !== parts.length) return null
  const found: Record<string, string> = {}
  for (const [index, name] of names.entries()) {
    const part = parts[index] ?? ''
    if (name.startsWith(':')) found[name.slice(1)] = decoded(part)
    else if (name !== part) return null
  }
  return found
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export const runPath = (id: string): string => `/runs/${encodeURIComponent(id)}`

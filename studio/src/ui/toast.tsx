// What has just been done, or was refused: said once, at the edge, also to those who hear the page.

import { useSyncExternalStore } from 'react'
import { IconButton } from './button.js'
import './toast.css'

interface Toast {
  readonly no: number
  readonly text: string
  readonly hint: string | null
  readonly isProblem: boolean
}
const SHOWN_MS = 6_000

let toasts: readonly Toast[] = []
let last = 0
const listeners = new Set<() => void>()

function become(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}
const drop = (no: number): void => become(toasts.filter((toast) => toast.no !== no))

function show(text: string, hint: string | null, isProblem: boolean): void {
  last += 1
  const no = last
  become([...toasts.slice(-3), { no, text, hint, isProblem }])
  setTimeout(drop, isProblem ? 2 * SHOWN_MS : SHOWN_MS, no)
}

export const said = (text: string): void => show(text, null, false)

/** In the server's words, with what to do. */
export function refused(error: unknown): void {
  const { message, hint } = (error ?? {}) as { message?: string; hint?: string }
  show(message ?? String(error), hint ?? null, true)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts)
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ no, text, hint, isProblem }) => (
        <div key={no} className={isProblem ? 'toast problem-toast' : 'toast'}>
          <div className="grow">
            <p>{text}</p>
            {hint !== null && <p className="muted">{hint}</p>}
          </div>
          <IconButton label="Dismiss" icon="close" onClick={() => drop(no)} />
        </div>
      ))}
    </div>
  )
}

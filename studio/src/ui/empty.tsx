import type { ReactNode } from 'react'
import { Command } from './copy.js'
import './empty.css'

/** A page without anything says what will be here, and how. */
export function Empty({
  title,
  children,
  command,
}: {
  readonly title: string
  readonly children?: ReactNode
  readonly command?: string | undefined
}) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children && <p className="muted">{children}</p>}
      {command !== undefined && <Command text={command} />}
    </div>
  )
}

/** What was refused, in the server's words. */
export function Problem({ error, what }: { readonly error: unknown; readonly what: string }) {
  const { message, hint, code } = (error ?? {}) as {
    message?: string
    hint?: string
    code?: string
  }
  return (
    <div className="problem" role="alert">
      <strong>{what}</strong>
      <p>
        {message ?? String(error)} {code !== undefined && <code className="faint">[{code}]</code>}
      </p>
      {hint !== undefined && <p className="muted">{hint}</p>}
    </div>
  )
}

/** The shape of what is being loaded. */
export function Skeleton({ lines = 6 }: { readonly lines?: number }) {
  return (
    <div className="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines are all the same
        <div key={line} className="skeleton-line" />
      ))}
    </div>
  )
}

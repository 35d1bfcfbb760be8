// The browser's own dialog: it keeps the focus inside, and Escape closes it, unless nothing can be done without it.

import { type ReactNode, useEffect, useRef } from 'react'
import { IconButton } from './button.js'
import './dialog.css'

export function Dialog({
  title,
  onClose,
  children,
  width = 480,
}: {
  readonly title: string
  /** Left out: it stays until it is answered. */
  readonly onClose?: () => void
  readonly children: ReactNode
  readonly width?: number
}) {
  const ref = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = ref.current
    if (!dialog || dialog.open) return
    dialog.showModal()
    // The browser would take the first button, which closes it.
    dialog.querySelector<HTMLElement>('input, select, textarea')?.focus()
  }, [])
  return (
    <dialog
      ref={ref}
      className="dialog"
      aria-label={title}
      style={{ width }}
      onClose={onClose ?? (() => ref.current?.showModal())}
      onPointerDown={(event) => onClose && event.target === ref.current && ref.current?.close()}
    >
      <div className="dialog-inside">
        <header className="dialog-head">
          <h2>{title}</h2>
          {onClose && (
            <IconButton label="Close" icon="close" onClick={() => ref.current?.close()} />
          )}
        </header>
        {children}
      </div>
    </dialog>
  )
}

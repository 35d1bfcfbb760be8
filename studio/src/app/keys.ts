// Keys of the page. A key does nothing while somebody types, or while a dialog is open.

import { useEffect, useRef } from 'react'

export type Keys = Readonly<Record<string, (event: KeyboardEvent) => void>>

const FIELDS = ['INPUT', 'TEXTAREA', 'SELECT']

function isTyping({ target }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return false
  return FIELDS.includes(target.tagName) || target.isContentEditable
}

/** 'j', '/', '?', 'mod+k' (⌘ or Ctrl), 'ArrowLeft'. */
export function useKeys(keys: Keys): void {
  const latest = useRef(keys)
  latest.current = keys
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const isMod = event.metaKey || event.ctrlKey
      const act = latest.current[isMod ? `mod+${event.key.toLowerCase()}` : event.key]
      if (act === undefined || event.altKey) return
      if (!isMod && (isTyping(event) || document.querySelector('dialog[open]'))) return
      event.preventDefault()
      act(event)
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  }, [])
}

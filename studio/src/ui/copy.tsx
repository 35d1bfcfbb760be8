import { useState } from 'react'
import { IconButton } from './button.js'
import './copy.css'
import { Icon } from './icon.js'

function useCopy(text: string) {
  const [isCopied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(setCopied, 1_200, false)
  }
  return [isCopied, () => void copy().catch(() => {})] as const
}

/** An id that one click copies. */
export function CopyId({ id, label = 'id' }: { readonly id: string; readonly label?: string }) {
  const [isCopied, copy] = useCopy(id)
  return (
    <button type="button" className="copy-id" title={`Copy the ${label}: ${id}`} onClick={copy}>
      <code className="truncate">{id}</code>
      <Icon name={isCopied ? 'check' : 'copy'} size={12} />
      <span className="hidden" aria-live="polite">
        {isCopied ? 'copied' : ''}
      </span>
    </button>
  )
}

/** A command of the terminal or a call, to be taken along. */
export function Command({ text }: { readonly text: string }) {
  const [isCopied, copy] = useCopy(text)
  return (
    <button type="button" className="command" title="Copy" onClick={copy}>
      <code>{text}</code>
      <Icon name={isCopied ? 'check' : 'copy'} size={12} />
      <span className="hidden" aria-live="polite">
        {isCopied ? 'copied' : ''}
      </span>
    </button>
  )
}

export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [isCopied, copy] = useCopy(text)
  return <IconButton label={label} icon={isCopied ? 'check' : 'copy'} onClick={copy} />
}

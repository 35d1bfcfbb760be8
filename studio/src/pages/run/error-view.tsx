import type { StoredError } from 'perdure'
import { useState } from 'react'
import { Button } from '../../ui/button.js'

/** What happened, where, what to do next. The stack only for who asks. */
export function ErrorView({ error }: { readonly error: StoredError & { readonly hint?: string } }) {
  const [isOpen, setOpen] = useState(false)
  const { name, message, code, hint, stack } = error
  return (
    <div className="error-view">
      <p>
        <strong>{name}</strong> {message} {code !== undefined && <code>[{code}]</code>}
      </p>
      {hint !== undefined && <p className="muted">{hint}</p>}
      {stack !== undefined && (
        <Button look="quiet" icon={isOpen ? 'down' : 'right'} onClick={() => setOpen(!isOpen)}>
          Stack
        </Button>
      )}
      {isOpen && <pre className="stack-text">{stack}</pre>}
    </div>
  )
}

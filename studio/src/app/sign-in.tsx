import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { keepToken } from '../api/session.js'
import { Button } from '../ui/button.js'
import { Dialog } from '../ui/dialog.js'

/** The server wants a token. It is kept for this tab only. */
export function SignIn() {
  const [token, setToken] = useState('')
  const queries = useQueryClient()
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    keepToken(token.trim())
    void queries.resetQueries()
  }
  return (
    <Dialog title="Who asks?" onClose={() => {}} width={420}>
      <form className="stack" onSubmit={submit}>
        <p className="muted">
          This server lets in who has a token. It is kept until this tab is closed.
        </p>
        <label className="field">
          <span>Token</span>
          <input
            type="password"
            autoComplete="off"
            value={token}
            onChange={(event) => setToken(event.target.value)}
          />
        </label>
        <div className="dialog-foot">
          <Button type="submit" look="primary" disabled={token.trim() === ''}>
            Go on
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

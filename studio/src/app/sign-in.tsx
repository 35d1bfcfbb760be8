import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { PerdureError } from '#errors'
import { api } from '../api/api.js'
import { keepToken } from '../api/session.js'
import { Button } from '../ui/button.js'
import { Dialog } from '../ui/dialog.js'
import { Problem } from '../ui/empty.js'

/** The server wants a token. It is kept for this tab only. */
export function SignIn() {
  const [token, setToken] = useState('')
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const queries = useQueryClient()
  const signIn = async (): Promise<void> => {
    setBusy(true)
    setError(null)
    keepToken(token.trim())
    try {
      // With an answer to it this dialog is gone.
      await api().ask({ path: '/me' })
      await queries.resetQueries()
    } catch (refusal) {
      // What did not reach the server says nothing about the token.
      if (!PerdureError.is(refusal, 'SERVER_UNREACHABLE')) keepToken('')
      setError(refusal)
    } finally {
      setBusy(false)
    }
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    void signIn()
  }
  return (
    <Dialog title="Who asks?" width={420}>
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
        {error !== null && <Problem error={error} what="You are not signed in." />}
        <div className="dialog-foot">
          <Button type="submit" look="primary" disabled={isBusy || token.trim() === ''}>
            Go on
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

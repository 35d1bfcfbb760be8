// Who asks, what answers, and how the pages look.

import { type FormEvent, type ReactNode, useState } from 'react'
import { type Me, useMe } from '../../api/insight.js'
import { keepToken, tokenOf } from '../../api/session.js'
import { KeyList } from '../../app/help.js'
import { Link } from '../../app/router.js'
import { setTheme, type Theme, useTheme } from '../../app/theme.js'
import { useTitle } from '../../app/title.js'
import { count } from '../../lib/format.js'
import { Button } from '../../ui/button.js'
import { Problem, Skeleton } from '../../ui/empty.js'
import '../../ui/table.css'
import './settings.css'

export function Page() {
  useTitle('Settings')
  const me = useMe()
  return (
    <div className="page">
      <div className="page-head">
        <h1>Settings</h1>
      </div>
      {me.isError && <Problem error={me.error} what="The server could not be asked." />}
      <div className="settings">
        <Part title="You">
          {me.isPending && <Skeleton lines={3} />}
          {me.data && <Who me={me.data} />}
          <Token />
        </Part>
        <Part title="Server">
          {me.isPending && <Skeleton lines={3} />}
          {me.data && <Server me={me.data} />}
          {me.data === null && <p className="faint">This server does not tell about itself.</p>}
        </Part>
        <Part title="Theme">
          <ThemeChoice />
        </Part>
        <Part title="Keys">
          <KeyList />
        </Part>
      </div>
    </div>
  )
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="panel" aria-label={title}>
      <div className="panel-head">
        <h2>{title}</h2>
      </div>
      <div className="settings-part">{children}</div>
    </section>
  )
}

const MAY: Readonly<Record<Me['role'], string>> = {
  viewer: 'looks at everything, changes nothing',
  operator: 'starts, answers, retries and cancels runs',
  author: 'saves graphs too',
  admin: 'may do everything',
}

function Who({ me: { name, role, workspace, workspaces } }: { readonly me: Me }) {
  return (
    <dl className="facts">
      <Fact name="Name">{name}</Fact>
      <Fact name="Role">
        <strong>{role}</strong> <span className="muted">{MAY[role]}</span>
      </Fact>
      <Fact name="Workspace">{workspace}</Fact>
      <Fact name="May see">
        {workspaces === '*' ? (
          'all workspaces'
        ) : (
          <span className="chips">
            {workspaces.map((one) => (
              <Link key={one} to={`/?workspace=${encodeURIComponent(one)}`} className="chip">
                {one}
              </Link>
            ))}
          </span>
        )}
      </Fact>
    </dl>
  )
}

const DATABASES: Readonly<Record<Me['features']['database'], string>> = {
  postgresql: 'PostgreSQL',
  redis: 'Redis',
  embedded: 'embedded, in this process',
  memory: 'memory: gone when the process ends',
}

function Server({ me: { version, features } }: { readonly me: Me }) {
  const { database, isWorker, retentionDays } = features
  const days = retentionDays === null ? null : Math.round(retentionDays * 100) / 100
  return (
    <dl className="facts">
      <Fact name="Perdure">{version}</Fact>
      <Fact name="Database">{DATABASES[database]}</Fact>
      <Fact name="Finished runs">
        {days === null ? 'are kept for ever' : `are kept for ${count(days)} days`}
      </Fact>
      <Fact name="This process">
        {isWorker ? 'executes runs' : 'executes none: other workers do'}
      </Fact>
    </dl>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** It is kept for this tab only. */
function Token() {
  const [token, setToken] = useState('')
  const isSignedIn = tokenOf() !== undefined
  const become = (next: string): void => {
    keepToken(next)
    // Nothing of what was read as somebody else stays in the page, and no stream of theirs goes on.
    location.reload()
  }
  if (isSignedIn) {
    return (
      <div className="settings-token">
        <span className="muted grow">Signed in with a token, until this tab is closed.</span>
        <Button onClick={() => become('')}>Sign out</Button>
      </div>
    )
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (token.trim() !== '') become(token.trim())
  }
  return (
    <form className="settings-token" onSubmit={submit}>
      <label className="field grow">
        <span>Token</span>
        <input
          type="password"
          autoComplete="off"
          value={token}
          onChange={({ target }) => setToken(target.value)}
        />
      </label>
      <Button type="submit" disabled={token.trim() === ''}>
        Sign in
      </Button>
    </form>
  )
}

const THEMES: Readonly<Record<Theme, string>> = {
  system: 'As the system',
  light: 'Light',
  dark: 'Dark',
}

function ThemeChoice() {
  const theme = useTheme()
  return (
    <fieldset className="settings-themes">
      <legend className="hidden">Theme</legend>
      {(Object.keys(THEMES) as Theme[]).map((one) => (
        <label key={one}>
          <input type="radio" name="theme" checked={theme === one} onChange={() => setTheme(one)} />
          {THEMES[one]}
        </label>
      ))}
    </fieldset>
  )
}

import { useMe } from '../api/insight.js'
import { workspaceOf } from '../api/session.js'
import { IconButton } from '../ui/button.js'
import { Icon } from '../ui/icon.js'
import { Link, navigate } from './router.js'
import { nextTheme, useTheme } from './theme.js'

const ICONS = { system: 'system', light: 'sun', dark: 'moon' } as const

export function TopBar({
  onPalette,
  onHelp,
}: {
  readonly onPalette: () => void
  readonly onHelp: () => void
}) {
  const theme = useTheme()
  const workspace = workspaceOf()
  const { workspaces = [], role } = useMe().data ?? {}
  return (
    <header className="top-bar">
      <Link to="/" className="brand">
        Perdure
      </Link>
      {Array.isArray(workspaces) && workspaces.length > 1 && (
        <select
          className="input workspaces"
          aria-label="Workspace"
          value={workspace ?? workspaces[0]}
          onChange={(event) => navigate(`/?workspace=${encodeURIComponent(event.target.value)}`)}
        >
          {workspaces.map((name: string) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
      {workspaces === '*' && workspace !== undefined && (
        <span className="workspace" title="The workspace whose runs you see">
          {workspace}
        </span>
      )}
      {role === 'viewer' && (
        <span
          className="workspace"
          title="Your token lets you look at everything and change nothing"
        >
          viewer
        </span>
      )}
      <span className="grow" />
      <button type="button" className="palette-button" aria-label="Go to…" onClick={onPalette}>
        <Icon name="search" size={14} />
        <span>Go to…</span>
        <kbd>⌘K</kbd>
      </button>
      <IconButton label={`Theme: ${theme}`} icon={ICONS[theme]} onClick={nextTheme} />
      <button type="button" className="icon-button" aria-label="Keys" title="Keys" onClick={onHelp}>
        ?
      </button>
    </header>
  )
}

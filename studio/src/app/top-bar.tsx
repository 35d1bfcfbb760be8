import { workspaceOf } from '../api/session.js'
import { IconButton } from '../ui/button.js'
import { Icon } from '../ui/icon.js'
import { Link } from './router.js'
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
  return (
    <header className="top-bar">
      <Link to="/" className="brand">
        Perdure
      </Link>
      {workspace !== undefined && (
        <span className="workspace" title="The workspace whose runs you see">
          {workspace}
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

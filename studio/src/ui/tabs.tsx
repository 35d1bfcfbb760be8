import { count as grouped } from '../lib/format.js'
import './tabs.css'

export interface Tab<N extends string> {
  readonly name: N
  readonly label: string
  readonly count?: number | undefined
}

/** `panel`: the id of what they change. */
export function Tabs<N extends string>({
  tabs,
  at,
  onChange,
  panel,
}: {
  readonly tabs: readonly Tab<N>[]
  readonly at: N
  readonly onChange: (name: N) => void
  readonly panel: string
}) {
  const move = (event: React.KeyboardEvent): void => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (by === undefined) return
    const index = tabs.findIndex(({ name }) => name === at)
    const next = tabs[(index + by + tabs.length) % tabs.length]
    if (!next) return
    onChange(next.name)
    document.getElementById(`tab-${next.name}`)?.focus()
  }
  return (
    <div className="tabs" role="tablist" onKeyDown={move}>
      {tabs.map(({ name, label, count = 0 }) => (
        <button
          type="button"
          key={name}
          id={`tab-${name}`}
          role="tab"
          aria-selected={name === at}
          aria-controls={panel}
          tabIndex={name === at ? 0 : -1}
          onClick={() => onChange(name)}
        >
          {label} {count > 0 && <span className="tab-count">{grouped(count)}</span>}
        </button>
      ))}
    </div>
  )
}

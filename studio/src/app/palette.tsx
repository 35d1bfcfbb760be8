// ⌘K: a page, a workflow, or a run by a part of its id.

import { useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useState } from 'react'
import { api } from '../api/api.js'
import { useDefinitions } from '../api/queries.js'
import { ROUTES } from '../routes.js'
import { Dialog } from '../ui/dialog.js'
import { Icon, type IconName } from '../ui/icon.js'
import { StatusMark } from '../ui/status.js'
import { navigate, runPath } from './router.js'

interface Choice {
  readonly to: string
  readonly label: string
  readonly about: React.ReactNode
  readonly icon: IconName
}

function useChoices(text: string): readonly Choice[] {
  const definitions = useDefinitions()
  const runs = useQuery({
    queryKey: ['palette', text],
    queryFn: async () =>
      (await api().client.list({ limit: 8, ...(text !== '' && { text }) })).items,
  })
  const matches = (label: string): boolean => label.toLowerCase().includes(text.toLowerCase())
  return [
    ...ROUTES.flatMap(({ path, nav }) =>
      nav && matches(nav.label)
        ? [{ to: path, label: nav.label, about: 'page', icon: nav.icon }]
        : [],
    ),
    ...(definitions.data ?? []).flatMap(({ name, kind }) =>
      matches(name)
        ? [
            {
              to: `/runs?workflow=${encodeURIComponent(name)}`,
              label: name,
              about: `runs of this ${kind}`,
              icon: 'workflows' as const,
            },
          ]
        : [],
    ),
    ...(runs.data ?? []).map(({ id, status }) => ({
      to: runPath(id),
      label: id,
      about: <StatusMark status={status} />,
      icon: 'runs' as const,
    })),
  ].slice(0, 12)
}

export function Palette({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const choices = useChoices(text)
  const chosen = Math.min(at, choices.length - 1)
  const go = (choice: Choice | undefined): void => {
    if (!choice) return
    onClose()
    navigate(choice.to)
  }
  const pressed = (event: KeyboardEvent): void => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (move !== undefined) {
      event.preventDefault()
      setAt((chosen + move + choices.length) % Math.max(1, choices.length))
    }
    if (event.key === 'Enter') go(choices[chosen])
  }
  return (
    <Dialog title="Go to" onClose={onClose} width={520}>
      <input
        className="palette-input"
        aria-label="A page, a workflow, or part of the id of a run"
        placeholder="A page, a workflow, or part of the id of a run"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={choices[chosen] ? `palette-${chosen}` : undefined}
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setAt(0)
        }}
        onKeyDown={pressed}
      />
      <div id="palette-list" role="listbox" aria-label="What was found" className="palette-list">
        {choices.map((choice, index) => (
          <button
            type="button"
            role="option"
            id={`palette-${index}`}
            key={choice.to}
            tabIndex={-1}
            aria-selected={index === chosen}
            className="palette-choice"
            onClick={() => go(choice)}
          >
            <Icon name={choice.icon} size={14} />
            <span className="grow truncate">{choice.label}</span>
            <span className="faint small">{choice.about}</span>
          </button>
        ))}
      </div>
    </Dialog>
  )
}

// The graph itself: what it is, what starts it, what its runs give back.

import type { Dict, Graph } from '../../diagram/graph.js'
import { TRIGGER } from '../../diagram/index.js'
import { Button, IconButton } from '../../ui/button.js'
import { NextWays } from './next-ways.js'
import { useEditing } from './use-editor.js'
import { JsonField, ValueField } from './value-field.js'

export function GraphForm({ isTrigger }: { readonly isTrigger: boolean }) {
  const { graph, change } = useEditing()
  const set = (changes: Partial<Graph>, about: string): void =>
    change((now) => {
      const entries = Object.entries({ ...now, ...changes })
      return Object.fromEntries(entries.filter(([, one]) => one !== undefined)) as unknown as Graph
    }, `graph ${about}`)
  return (
    <div className="properties">
      <h2>{isTrigger ? 'What starts it' : graph.id}</h2>
      {!isTrigger && (
        <label className="field">
          <span>Description</span>
          <input
            value={graph.description ?? ''}
            placeholder="What it is for"
            onChange={({ target }) =>
              set({ description: target.value || undefined }, 'description')
            }
          />
        </label>
      )}
      <Triggers
        triggers={graph.triggers ?? []}
        onChange={(triggers) =>
          set({ triggers: triggers.length > 0 ? triggers : undefined }, 'triggers')
        }
      />
      {isTrigger ? (
        <NextWays node={{ id: TRIGGER, type: TRIGGER }} />
      ) : (
        <>
          <ValueField
            label="Output of a run"
            value={graph.output}
            onChange={(output) => set({ output }, 'output')}
            node={null}
            kinds={['fields', 'expression', 'json']}
          />
          {graph.output === undefined && (
            <p className="faint small">Without one a run gives back all its variables.</p>
          )}
          <div className="value-field">
            <span className="value-label">Settings</span>
            <JsonField
              label="Settings, as JSON"
              value={graph.settings}
              onChange={(settings) => set({ settings: settings as Dict | undefined }, 'settings')}
            />
          </div>
        </>
      )}
    </div>
  )
}

/** The field that says which one it is. */
const MAIN: Readonly<Record<string, { readonly field: string; readonly words: string }>> = {
  event: { field: 'event', words: 'order.placed' },
  cron: { field: 'cron', words: '0 9 * * 1-5' },
  webhook: { field: 'path', words: 'shop/orders' },
}

function Triggers({
  triggers,
  onChange,
}: {
  readonly triggers: readonly Dict[]
  readonly onChange: (triggers: readonly Dict[]) => void
}) {
  return (
    <fieldset className="field-group">
      <legend>Started by hand, and by</legend>
      {triggers.map((trigger, index) => {
        const type = String(trigger.type)
        const main = MAIN[type]
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: triggers have no other name
          <div key={index} className="row">
            <span className="next-name">{type}</span>
            {main && (
              <input
                className="input"
                aria-label={`${type} ${main.field}`}
                placeholder={main.words}
                value={String(trigger[main.field] ?? '')}
                onChange={({ target }) =>
                  onChange(triggers.with(index, { ...trigger, [main.field]: target.value }))
                }
              />
            )}
            <IconButton
              label={`Not by ${type} any more`}
              icon="close"
              onClick={() => onChange(triggers.toSpliced(index, 1))}
            />
          </div>
        )
      })}
      <div className="row wrap">
        {Object.keys(MAIN).map((type) => (
          <Button
            key={type}
            look="quiet"
            icon="plus"
            onClick={() =>
              onChange([
                ...triggers,
                type === 'webhook' ? { type } : { type, [MAIN[type]?.field ?? '']: '' },
              ])
            }
          >
            {type}
          </Button>
        ))}
      </div>
    </fieldset>
  )
}

// Any value that a config may have: a text, a number, an expression, fields with values of their own, or JSON.

import { useState } from 'react'
import { type Dict, isCel, isDict } from '../../diagram/graph.js'
import { Button, IconButton } from '../../ui/button.js'
import { ExpressionField } from './expression-field.js'

export type ValueKind = 'text' | 'number' | 'flag' | 'expression' | 'fields' | 'json'

const WORDS: Readonly<Record<ValueKind, string>> = {
  text: 'Text',
  number: 'Number',
  flag: 'True/false',
  expression: 'Expression',
  fields: 'Fields',
  json: 'JSON',
}

export interface ValueProps {
  readonly label: string
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly node: string | null
  /** Left out: all of them. */
  readonly kinds?: readonly ValueKind[] | undefined
}

function kindOf(value: unknown, kinds: readonly ValueKind[]): ValueKind {
  if (isCel(value)) return 'expression'
  if (typeof value === 'string') return 'text'
  if (typeof value === 'number') return 'number'
  if (typeof value === 'boolean') return 'flag'
  if (isDict(value)) return 'fields'
  return value === undefined ? (kinds[0] ?? 'json') : 'json'
}

const ALL: readonly ValueKind[] = ['text', 'expression', 'number', 'flag', 'fields', 'json']

export function ValueField({ label, value, onChange, node, kinds = ALL }: ValueProps) {
  const [chosen, setChosen] = useState<ValueKind | null>(null)
  const own = kindOf(value, kinds)
  // Somebody may have undone it since.
  const kind = chosen === 'json' || (chosen !== null && value === undefined) ? chosen : own
  const choose = (next: ValueKind): void => {
    setChosen(next)
    onChange(turned(value, next))
  }
  return (
    <div className="value-field">
      <div className="value-head">
        <span className="value-label">{label}</span>
        {kinds.length > 1 && (
          <select
            aria-label={`${label}: kind of value`}
            value={kind}
            onChange={(event) => choose(event.target.value as ValueKind)}
          >
            {(kinds.includes(kind) ? kinds : [...kinds, kind]).map((one) => (
              <option key={one} value={one}>
                {WORDS[one]}
              </option>
            ))}
          </select>
        )}
      </div>
      <Control
        kind={kind}
        label={label}
        value={value}
        onChange={onChange}
        node={node}
        kinds={kinds}
      />
    </div>
  )
}

function turned(value: unknown, kind: ValueKind): unknown {
  const text = isCel(value) ? value.cel : typeof value === 'object' ? '' : String(value ?? '')
  switch (kind) {
    case 'expression':
      return { cel: text }
    case 'text':
      return text
    case 'number':
      return Number(text) || 0
    case 'flag':
      return text === 'true'
    case 'fields':
      return isDict(value) && !isCel(value) ? value : {}
    default:
      return value
  }
}

function Control({ kind, ...props }: ValueProps & { readonly kind: ValueKind }) {
  const { label, value, onChange, node } = props
  switch (kind) {
    case 'expression': {
      const cel = isCel(value) ? value.cel : ''
      const change = (next: string): void => onChange({ cel: next })
      return <ExpressionField label={label} value={cel} onChange={change} node={node} />
    }
    case 'number':
      return (
        <input
          className="input"
          type="number"
          step="any"
          aria-label={label}
          value={typeof value === 'number' ? value : ''}
          onChange={({ target }) =>
            onChange(Number.isNaN(target.valueAsNumber) ? undefined : target.valueAsNumber)
          }
        />
      )
    case 'flag':
      return (
        <label className="flag">
          <input
            type="checkbox"
            checked={value === true}
            onChange={({ target }) => onChange(target.checked)}
          />
          <span>{value === true ? 'true' : 'false'}</span>
        </label>
      )
    case 'fields':
      return <FieldsField {...props} value={isDict(value) ? value : {}} />
    case 'json':
      return <JsonField {...props} />
    default:
      return (
        <input
          className="input"
          aria-label={label}
          value={typeof value === 'string' ? value : ''}
          onChange={({ target }) => onChange(target.value)}
        />
      )
  }
}

/** Names, each with a value. */
export function FieldsField({
  label,
  value,
  onChange,
  node,
  kinds,
}: Omit<ValueProps, 'value'> & { readonly value: Dict }) {
  const entries = Object.entries(value)
  const write = (next: readonly (readonly [string, unknown])[]): void =>
    onChange(Object.fromEntries(next))
  const add = (): void => {
    let no = entries.length + 1
    while (Object.hasOwn(value, `field${no}`)) no += 1
    write([...entries, [`field${no}`, '']])
  }
  return (
    <div className="fields-field">
      {entries.map(([name, one], index) => (
        // The name changes while it is typed.
        // biome-ignore lint/suspicious/noArrayIndexKey: their order is all they have
        <div key={index} className="fields-row">
          <div className="row">
            <NameInput
              label={`${label}: name ${index + 1}`}
              name={name}
              onChange={(next) => {
                const isTaken = next !== name && Object.hasOwn(value, next)
                if (!isTaken) write(entries.with(index, [next, one]))
              }}
            />
            <IconButton
              label={`Remove ${name}`}
              icon="close"
              onClick={() => write(entries.toSpliced(index, 1))}
            />
          </div>
          <ValueField
            label={name}
            value={one}
            onChange={(next) => write(entries.with(index, [name, next]))}
            node={node}
            kinds={kinds}
          />
        </div>
      ))}
      <div>
        <Button icon="plus" look="quiet" onClick={add}>
          Add a field
        </Button>
      </div>
    </div>
  )
}

/** Taken when it is left: half a name is no name. */
export function NameInput({
  label,
  name,
  onChange,
}: {
  readonly label: string
  readonly name: string
  readonly onChange: (name: string) => void
}) {
  const [typed, setTyped] = useState<string | null>(null)
  const leave = (): void => {
    if (typed !== null && typed !== '' && typed !== name) onChange(typed)
    setTyped(null)
  }
  return (
    <input
      className="input name-input"
      aria-label={label}
      spellCheck={false}
      value={typed ?? name}
      onChange={({ target }) => setTyped(target.value)}
      onBlur={leave}
      onKeyDown={({ key }) => {
        if (key === 'Enter') leave()
        if (key === 'Escape') setTyped(null)
      }}
    />
  )
}

export function JsonField({
  label,
  value,
  onChange,
}: Pick<ValueProps, 'label' | 'value' | 'onChange'>) {
  const own = value === undefined ? '' : JSON.stringify(value, null, 2)
  const [typed, setTyped] = useState<string | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const text = typed ?? own
  const change = (next: string): void => {
    setTyped(next)
    try {
      onChange(next.trim() === '' ? undefined : JSON.parse(next))
      setProblem(null)
    } catch (error) {
      setProblem((error as Error).message)
    }
  }
  return (
    <div className="field">
      <textarea
        aria-label={label}
        rows={Math.min(14, Math.max(2, text.split('\n').length))}
        spellCheck={false}
        aria-invalid={problem !== null}
        value={text}
        onChange={({ target }) => change(target.value)}
        onBlur={() => {
          if (problem === null) setTyped(null)
        }}
      />
      {problem !== null && <small className="field-problem">{problem}</small>}
    </div>
  )
}

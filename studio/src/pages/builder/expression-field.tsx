// An expression: checked while it is typed, what is wrong underlined, and the names that are there at this node offered.

import { type KeyboardEvent, type RefObject, useId, useRef, useState } from 'react'
import { type ExpressionCheck, useExpression } from './queries.js'
import { useEditing } from './use-editor.js'

export interface ExpressionProps {
  /** For those who hear the page. */
  readonly label: string
  readonly value: string
  readonly onChange: (cel: string) => void
  /** The node that it is of; null: of the whole graph. */
  readonly node: string | null
}

const OFFERED = 8

export function ExpressionField(props: ExpressionProps) {
  const { label, value, onChange } = props
  const id = useId()
  const field = useRef<HTMLTextAreaElement>(null)
  const { error, offers, at, take, pressed, typed, setCaret, setFocused } = useOffers(props, field)
  return (
    <div className={error ? 'expression is-wrong' : 'expression'}>
      <div className="expression-back" aria-hidden="true">
        <Underlined text={value} position={error?.position ?? null} />
      </div>
      <textarea
        ref={field}
        rows={1}
        spellCheck={false}
        autoComplete="off"
        autoCapitalize="off"
        role="combobox"
        aria-label={label}
        aria-expanded={offers.length > 0}
        aria-controls={`${id}-offers`}
        aria-activedescendant={at >= 0 ? `${id}-${at}` : undefined}
        aria-invalid={error !== null}
        aria-describedby={error ? `${id}-error` : undefined}
        placeholder="input.amount > 100"
        value={value}
        onChange={({ target }) => {
          onChange(target.value.replaceAll('\n', ' '))
          typed(target.selectionStart)
        }}
        onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
        onKeyDown={pressed}
        onFocus={() => setFocused(true)}
        onBlur={() => setFocused(false)}
      />
      <Offers id={id} offers={offers} at={at} onTake={take} />
      {error && (
        <p id={`${id}-error`} className="expression-error">
          {error.message}
        </p>
      )}
    </div>
  )
}

/** The names that fit what is typed before the caret, and the keys that choose one of them. */
function useOffers(
  { value, onChange, node }: ExpressionProps,
  field: RefObject<HTMLTextAreaElement | null>,
) {
  const { graph } = useEditing()
  const [isFocused, setFocused] = useState(false)
  const [caret, setCaret] = useState(value.length)
  const [at, setAt] = useState(-1)
  const [isClosed, setClosed] = useState(false)
  const { check, isCurrent } = useExpression(value, graph, node, isFocused || value !== '')
  const error = isCurrent && value !== '' ? (check?.error ?? null) : null
  const word = /(?<![\w.])[A-Za-z_]\w*$/.exec(value.slice(0, caret))?.[0] ?? ''
  const isOffering = isFocused && !isClosed && (word !== '' || value === '')
  const offers = isOffering ? offersOf(check, word) : []
  const take = (name: string): void => {
    const before = value.slice(0, caret - word.length)
    onChange(before + name + value.slice(caret))
    const next = before.length + name.length
    setCaret(next)
    setAt(-1)
    setClosed(true)
    requestAnimationFrame(() => field.current?.setSelectionRange(next, next))
  }
  const typed = (caretNow: number): void => {
    setCaret(caretNow)
    setClosed(false)
    setAt(-1)
  }
  const pressed = (event: KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const chosen = offers[at]
    if (event.key === 'Escape' && offers.length > 0) {
      event.preventDefault()
      setClosed(true)
    } else if (by !== undefined && offers.length > 0) {
      event.preventDefault()
      setAt((at + by + offers.length) % offers.length)
    } else if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault()
      if (chosen) take(chosen.name)
    }
  }
  return { error, offers, at, take, typed, pressed, setCaret, setFocused }
}

function Offers({
  id,
  offers,
  at,
  onTake,
}: {
  readonly id: string
  readonly offers: ExpressionCheck['known']
  readonly at: number
  readonly onTake: (name: string) => void
}) {
  return (
    <div
      id={`${id}-offers`}
      role="listbox"
      aria-label="Names"
      className="expression-offers"
      hidden={offers.length === 0}
    >
      {offers.map(({ name, from }, index) => (
        <div
          key={name}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === at}
          onPointerDown={(event) => {
            event.preventDefault()
            onTake(name)
          }}
        >
          <code>{name}</code>
          <span className="faint">{FROM[from] ?? from}</span>
        </div>
      ))}
    </div>
  )
}

const FROM: Readonly<Record<string, string>> = {
  run: 'always there',
  node: 'what a node gave',
  variable: 'a variable',
  around: 'of this place',
}

function offersOf(check: ExpressionCheck | null, word: string): ExpressionCheck['known'] {
  const seen = new Set<string>()
  return (check?.known ?? [])
    .filter(({ name }) => {
      const isNew = !seen.has(name)
      seen.add(name)
      return isNew && name !== word && name.toLowerCase().startsWith(word.toLowerCase())
    })
    .slice(0, OFFERED)
}

/** From where it is wrong to the end of the word there. */
function Underlined({
  text,
  position,
}: {
  readonly text: string
  readonly position: number | null
}) {
  if (position === null) return text
  const from = Math.min(position, Math.max(0, text.length - 1))
  const length = /^\w+|^./.exec(text.slice(from))?.[0].length ?? 1
  return (
    <>
      {text.slice(0, from)}
      <mark>{text.slice(from, from + length)}</mark>
      {text.slice(from + length)}
    </>
  )
}

import { useEffect, useState } from 'react'
import { useDefinitions } from '../../api/queries.js'
import type { Search } from '../../app/router.js'
import { IconButton } from '../../ui/button.js'
import { StatusShape } from '../../ui/status.js'
import { STATUS_WORDS, STATUSES, type Status } from '../../ui/statuses.js'
import { type Filters, isFiltered, SPANS, STYLES } from './filters.js'

const CLEARED = {
  status: null,
  workflow: null,
  style: null,
  reason: null,
  tag: null,
  time: null,
  text: null,
}

export function FilterBar({
  filters,
  onChange,
}: {
  readonly filters: Filters
  readonly onChange: Search[1]
}) {
  const definitions = useDefinitions()
  const names = (definitions.data ?? []).map(({ name }) => name)
  const options = (pairs: readonly (readonly [string, string])[]) =>
    pairs.map(([value, label]) => (
      <option key={value} value={value}>
        {label}
      </option>
    ))
  return (
    <search className="filters">
      <Typed
        id="runs-text"
        label="Part of the id"
        hint="Part of an id  /"
        value={filters.text ?? ''}
        onSettled={(text) => onChange({ text })}
      />
      <StatusFilter statuses={filters.statuses} onChange={(status) => onChange({ status })} />
      <Choice
        label="Workflow"
        value={filters.workflow}
        onChange={(workflow) => onChange({ workflow })}
      >
        {options(
          [...new Set([...names, ...(filters.workflow === null ? [] : [filters.workflow])])].map(
            (name) => [name, name],
          ),
        )}
      </Choice>
      <Choice label="Style" value={filters.style} onChange={(style) => onChange({ style })}>
        {options(Object.entries(STYLES))}
      </Choice>
      <Choice label="Time" value={filters.span} onChange={(time) => onChange({ time })}>
        {options(Object.entries(SPANS).map(([value, { label }]) => [value, label]))}
      </Choice>
      <Typed
        id="runs-tag"
        label="Tag, as name:value"
        hint="tag:value"
        value={filters.tag ?? ''}
        onSettled={(tag) => onChange({ tag })}
      />
      {isFiltered(filters) && (
        <IconButton label="Take all filters away" icon="close" onClick={() => onChange(CLEARED)} />
      )}
    </search>
  )
}

function Choice({
  label,
  value,
  onChange,
  children,
}: {
  readonly label: string
  readonly value: string | null
  readonly onChange: (value: string) => void
  readonly children: React.ReactNode
}) {
  return (
    <select
      className="input filter-choice"
      aria-label={label}
      value={value ?? ''}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">{label}: any</option>
      {children}
    </select>
  )
}

function StatusFilter({
  statuses,
  onChange,
}: {
  readonly statuses: readonly Status[]
  readonly onChange: (status: string) => void
}) {
  const toggle = (status: Status): void => {
    const isOn = statuses.includes(status)
    onChange((isOn ? statuses.filter((one) => one !== status) : [...statuses, status]).join(','))
  }
  return (
    <fieldset className="status-filter">
      <legend className="hidden">Status</legend>
      {STATUSES.map((status) => (
        <button
          type="button"
          key={status}
          aria-pressed={statuses.includes(status)}
          title={STATUS_WORDS[status]}
          onClick={() => toggle(status)}
        >
          <StatusShape status={status} />
          <span className="hidden">{STATUS_WORDS[status]}</span>
        </button>
      ))}
    </fieldset>
  )
}

const SETTLE_MS = 250

/** What is typed goes into the address when the typing rests. */
function Typed({
  id,
  label,
  hint,
  value,
  onSettled,
}: {
  readonly id: string
  readonly label: string
  readonly hint: string
  readonly value: string
  readonly onSettled: (text: string) => void
}) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  useEffect(() => {
    if (text === value) return
    const timer = setTimeout(onSettled, SETTLE_MS, text)
    return () => clearTimeout(timer)
  }, [text, value, onSettled])
  return (
    <input
      id={id}
      className="input filter-text"
      type="search"
      aria-label={label}
      placeholder={hint}
      value={text}
      onChange={(event) => setText(event.target.value)}
      onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
    />
  )
}

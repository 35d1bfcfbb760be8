// One field of a form, and those inside of it.

import { useId, useState } from 'react'
import { Button, IconButton } from '../ui/button.js'
import { initialOf, inputTypeOf, kindOf, resolved, type Schema, titleOf } from './schema.js'

export interface FieldProps {
  readonly name: string
  /** Where it stands in the whole. */
  readonly path: string
  readonly schema: Schema
  readonly root: Schema
  readonly isRequired: boolean
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly onInvalid: (path: string, isInvalid: boolean) => void
}

export function Field(props: FieldProps) {
  const schema = resolved(props.schema, props.root)
  const kind = kindOf(schema)
  const inner = { ...props, schema }
  if (kind === 'object') return <ObjectField {...inner} />
  if (kind === 'list') return <ListField {...inner} />
  if (kind === 'flag') return <FlagField {...inner} />
  return (
    <label className="field">
      <span>{labelOf(inner)}</span>
      {schema.description !== undefined && <small>{schema.description}</small>}
      <Control {...inner} kind={kind} />
    </label>
  )
}

function labelOf({ name, path, schema, isRequired }: FieldProps): string {
  const title = path === '' ? (schema.title ?? 'Value, as JSON') : titleOf(name, schema)
  return isRequired || path === '' ? title : `${title} (optional)`
}

function Control({ kind, ...props }: FieldProps & { readonly kind: ReturnType<typeof kindOf> }) {
  const { schema, value, onChange, isRequired } = props
  const text = typeof value === 'string' ? value : ''
  const change = (given: string): void => onChange(given === '' ? undefined : given)
  if (kind === 'const') return <code>{JSON.stringify(schema.const)}</code>
  if (kind === 'choice') return <ChoiceControl {...props} />
  if (kind === 'number') return <NumberControl {...props} />
  if (kind === 'json') return <JsonControl {...props} />
  if (kind === 'long-text') {
    return <textarea rows={4} value={text} onChange={(event) => change(event.target.value)} />
  }
  return (
    <input
      type={inputTypeOf(schema)}
      value={text}
      required={isRequired}
      onChange={(event) => change(event.target.value)}
    />
  )
}

function ChoiceControl({ schema, value, onChange, isRequired }: FieldProps) {
  const options = schema.enum ?? []
  const index = options.indexOf(value)
  return (
    <select
      value={String(index)}
      onChange={(event) => onChange(options[Number(event.target.value)])}
    >
      {(!isRequired || index < 0) && <option value="-1">–</option>}
      {options.map((option, at) => (
        <option key={String(option)} value={at}>
          {String(option)}
        </option>
      ))}
    </select>
  )
}

/** What is half typed is no number yet, and stays as it is. */
function NumberControl({ schema, value, onChange }: FieldProps) {
  const [text, setText] = useState(typeof value === 'number' ? String(value) : '')
  return (
    <input
      type="number"
      inputMode="decimal"
      step={schema.type === 'integer' ? 1 : 'any'}
      min={schema.minimum}
      max={schema.maximum}
      value={text}
      onChange={(event) => {
        setText(event.target.value)
        const { valueAsNumber } = event.target
        onChange(Number.isNaN(valueAsNumber) ? undefined : valueAsNumber)
      }}
    />
  )
}

function JsonControl({ value, onChange, onInvalid, path }: FieldProps) {
  const [text, setText] = useState(value === undefined ? '' : JSON.stringify(value, null, 2))
  const [problem, setProblem] = useState<string | null>(null)
  const change = (given: string): void => {
    setText(given)
    try {
      onChange(given.trim() === '' ? undefined : JSON.parse(given))
      setProblem(null)
      onInvalid(path, false)
    } catch (error) {
      setProblem((error as Error).message)
      onInvalid(path, true)
    }
  }
  const rows = Math.min(16, Math.max(3, text.split('\n').length))
  return (
    <>
      <textarea
        rows={rows}
        spellCheck={false}
        aria-invalid={problem !== null}
        value={text}
        placeholder="null, 1, &quot;text&quot;, { … }"
        onChange={(event) => change(event.target.value)}
      />
      {problem !== null && <small className="field-problem">{problem}</small>}
    </>
  )
}

function FlagField({ name, schema, isRequired, value, onChange }: FieldProps) {
  return (
    <label className="flag">
      <input
        type="checkbox"
        checked={value === true}
        onChange={(event) =>
          onChange(event.target.checked || isRequired ? event.target.checked : undefined)
        }
      />
      <span>
        {titleOf(name, schema)}
        {schema.description !== undefined && <small>{schema.description}</small>}
      </span>
    </label>
  )
}

function ObjectField(props: FieldProps) {
  const { schema, path, root, value, onChange, onInvalid, isRequired } = props
  const object = (value ?? {}) as Readonly<Record<string, unknown>>
  const change = (name: string, given: unknown): void => {
    const { [name]: _, ...rest } = object
    const next = given === undefined ? rest : { ...object, [name]: given }
    onChange(!isRequired && Object.keys(next).length === 0 ? undefined : next)
  }
  const fields = Object.entries(schema.properties ?? {}).map(([name, property]) => (
    <Field
      key={name}
      name={name}
      path={path === '' ? name : `${path}.${name}`}
      schema={property}
      root={root}
      isRequired={schema.required?.includes(name) ?? false}
      value={Object.hasOwn(object, name) ? object[name] : undefined}
      onChange={(given) => change(name, given)}
      onInvalid={onInvalid}
    />
  ))
  if (path === '') return <div className="fields">{fields}</div>
  return (
    <fieldset className="field-group">
      <legend>{labelOf(props)}</legend>
      {fields}
    </fieldset>
  )
}

function ListField(props: FieldProps) {
  const { schema, path, root, value, onChange, onInvalid } = props
  const id = useId()
  const list = Array.isArray(value) ? (value as readonly unknown[]) : []
  const items = schema.items ?? {}
  return (
    <fieldset className="field-group">
      <legend>{labelOf(props)}</legend>
      {list.map((one, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: values of a list have no other name
        <div key={`${id}-${list.length}-${index}`} className="field-item">
          <Field
            name={String(index + 1)}
            path={`${path}.${index}`}
            schema={items}
            root={root}
            isRequired={true}
            value={one}
            onChange={(given) => onChange(list.with(index, given))}
            onInvalid={onInvalid}
          />
          <IconButton
            label={`Take ${index + 1} away`}
            icon="close"
            onClick={() => onChange(list.toSpliced(index, 1))}
          />
        </div>
      ))}
      <div>
        <Button icon="plus" onClick={() => onChange([...list, initialOf(items, root, true)])}>
          Add
        </Button>
      </div>
    </fieldset>
  )
}

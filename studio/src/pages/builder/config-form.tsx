// The config of a node as a form, made of the JSON Schema of its type. Expressions are allowed where the type allows them.

import { useId } from 'react'
import { useDefinitions } from '../../api/queries.js'
import { type Dict, isCel, isDict } from '../../diagram/graph.js'
import { kindOf, resolved, type Schema, titleOf } from '../../forms/schema.js'
import { Button, IconButton } from '../../ui/button.js'
import { ExpressionField } from './expression-field.js'
import { isExpression } from './model/edit.js'
import type { TypeInfo } from './model/types.js'
import { FieldsField, ValueField, type ValueKind } from './value-field.js'

interface FormProps {
  readonly node: string
  readonly value: unknown
  readonly onChange: (value: unknown, path: string) => void
}

type Open = Schema & { readonly additionalProperties?: unknown }

/** Of some types only those fields count that belong to another one. */
const COUNTS: Readonly<Record<string, (config: Dict) => readonly string[]>> = {
  'wait-for-event': ({ mode }) => {
    if (mode === 'time') return ['mode', 'for', 'until']
    if (mode === 'condition') return ['mode', 'if', 'every', 'poll']
    return ['mode', 'event', 'match']
  },
}

export function ConfigForm({ type, ...props }: FormProps & { readonly type: TypeInfo }) {
  const schema = type.config as Open | null
  const value = isDict(props.value) ? props.value : {}
  if (schema === null || schema.properties === undefined) {
    const isFree = schema === null || schema.additionalProperties !== false
    if (!isFree) return null
    return (
      <FieldsField
        label={type.name === 'set' ? 'Variables' : 'Config'}
        value={value}
        onChange={(next) => props.onChange(next, '')}
        node={props.node}
      />
    )
  }
  const counts = COUNTS[type.name]?.(value)
  const names = Object.keys(schema.properties).filter((name) => counts?.includes(name) ?? true)
  return names.map((name) => (
    <Property
      key={name}
      {...props}
      name={name}
      path={name}
      schema={schema.properties?.[name] ?? {}}
      root={schema}
      isRequired={schema.required?.includes(name) ?? false}
      isOpen={!type.isBuiltIn}
      value={value[name]}
      onChange={(next, path) => props.onChange(withField(value, name, next), path)}
    />
  ))
}

function withField(value: Dict, name: string, next: unknown): Dict {
  const { [name]: _, ...rest } = value
  if (next === undefined) return rest
  return Object.hasOwn(value, name) ? { ...value, [name]: next } : { ...rest, [name]: next }
}

interface PropertyProps extends FormProps {
  readonly name: string
  readonly path: string
  readonly schema: Schema
  readonly root: Schema
  readonly isRequired: boolean
  /** Expressions may stand everywhere: a type of a user. */
  readonly isOpen: boolean
}

const labelOf = ({ name, schema, isRequired }: PropertyProps): string =>
  isRequired ? titleOf(name, schema) : `${titleOf(name, schema)} (optional)`

function Property(props: PropertyProps) {
  const { schema, root, path, value, node, isOpen } = props
  const change = (next: unknown): void => props.onChange(next, path)
  const label = labelOf(props)
  if (isExpression(schema)) {
    return (
      <div className="value-field">
        <span className="value-label">{label}</span>
        <ExpressionField
          label={label}
          value={isCel(value) ? value.cel : ''}
          onChange={(cel) => change(cel === '' && !props.isRequired ? undefined : { cel })}
          node={node}
        />
      </div>
    )
  }
  const { base, canBeCel } = withoutCel(schema)
  if (isAnything(base)) {
    return <ValueField label={label} value={value} onChange={change} node={node} />
  }
  const kind = base.$ref === '#/$defs/duration' ? 'text' : kindOf(resolved(base, root))
  if (kind === 'object' || kind === 'list') return <Nested {...props} schema={base} kind={kind} />
  if (kind === 'json') {
    const open = resolved(base, root) as Open
    if (open.type === 'object') {
      const dict = isDict(value) ? value : {}
      return (
        <div className="value-field">
          <span className="value-label">{label}</span>
          <FieldsField label={label} value={dict} onChange={change} node={node} />
        </div>
      )
    }
    const kinds: readonly ValueKind[] = ['expression', 'json']
    return (
      <ValueField
        label={label}
        value={value}
        onChange={change}
        node={node}
        kinds={canBeCel || isOpen ? kinds : ['json']}
      />
    )
  }
  if (!canBeCel && !isOpen) return <Plain {...props} schema={base} label={label} />
  const plain: ValueKind = kind === 'number' ? 'number' : kind === 'flag' ? 'flag' : 'text'
  return (
    <ValueField
      label={label}
      value={value}
      onChange={(next) => change(next === '' && !props.isRequired ? undefined : next)}
      node={node}
      kinds={[plain, 'expression']}
    />
  )
}

function withoutCel(schema: Schema): { readonly base: Schema; readonly canBeCel: boolean } {
  const { anyOf } = schema
  if (!anyOf?.some(isExpression)) return { base: schema, canBeCel: false }
  const rest = anyOf.filter((one) => !isExpression(one))
  const [only] = rest
  return { base: rest.length === 1 && only ? only : { ...schema, anyOf: rest }, canBeCel: true }
}

const isAnything = ({ type, anyOf, oneOf, enum: choices, $ref, properties, ...rest }: Schema) =>
  [type, anyOf, oneOf, choices, $ref, properties, rest.const].every((one) => one === undefined)

/** Names of definitions are offered where one is meant. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  task: ['task'],
  workflow: ['workflow', 'machine', 'graph', 'task'],
  machine: ['machine'],
}

function Plain({ label, ...props }: PropertyProps & { readonly label: string }) {
  const { name, root, value, path, isRequired } = props
  const schema = resolved(props.schema, root)
  const isDuration = props.schema.$ref === '#/$defs/duration'
  const kind = isDuration ? 'duration' : kindOf(schema)
  const change = (next: unknown): void => props.onChange(next, path)
  const id = useId()
  const definitions = useDefinitions()
  const kinds = KINDS[name]
  if (kind === 'choice') {
    return (
      <label className="field">
        <span>{label}</span>
        <select
          value={String(value ?? '')}
          onChange={({ target }) => change(target.value === '' ? undefined : target.value)}
        >
          {(!isRequired || value === undefined) && <option value="">–</option>}
          {(schema.enum ?? []).map((one) => (
            <option key={String(one)}>{String(one)}</option>
          ))}
        </select>
      </label>
    )
  }
  if (kind === 'flag' || kind === 'number') {
    const kindOfValue: ValueKind = kind
    return (
      <ValueField label={label} value={value} onChange={change} node={null} kinds={[kindOfValue]} />
    )
  }
  const text = typeof value === 'number' ? String(value) : typeof value === 'string' ? value : ''
  const read = (given: string): unknown => {
    if (given === '' && !isRequired) return undefined
    return isDuration && /^\d+$/.test(given) ? Number(given) : given
  }
  return (
    <label className="field">
      <span>{label}</span>
      <input
        list={kinds ? id : undefined}
        spellCheck={false}
        placeholder={isDuration ? '30 s, 5 min, 2 days' : undefined}
        value={text}
        onChange={({ target }) => change(read(target.value))}
      />
      {kinds && (
        <datalist id={id}>
          {(definitions.data ?? [])
            .filter((one) => kinds.includes(one.kind))
            .map((one) => (
              <option key={one.name} value={one.name} />
            ))}
        </datalist>
      )}
    </label>
  )
}

function Nested(props: PropertyProps & { readonly kind: 'object' | 'list' }) {
  const { kind, root, path, value } = props
  const schema = resolved(props.schema, root)
  const label = labelOf(props)
  const change = (next: unknown): void => props.onChange(next, path)
  if (kind === 'object') {
    const dict = isDict(value) ? value : {}
    const write = (next: Dict): void =>
      change(Object.keys(next).length === 0 && !props.isRequired ? undefined : next)
    return (
      <fieldset className="field-group">
        <legend>{label}</legend>
        {Object.entries(schema.properties ?? {}).map(([name, property]) => (
          <Property
            key={name}
            {...props}
            name={name}
            path={`${path}.${name}`}
            schema={property}
            isRequired={schema.required?.includes(name) ?? false}
            value={dict[name]}
            onChange={(next) => write(withField(dict, name, next))}
          />
        ))}
      </fieldset>
    )
  }
  const list = Array.isArray(value) ? (value as readonly unknown[]) : []
  const items = schema.items ?? {}
  const first = resolved(items, root).properties ? {} : ''
  return (
    <fieldset className="field-group">
      <legend>{label}</legend>
      {list.map((one, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: values of a list have no other name
        <div key={index} className="field-item">
          <Property
            {...props}
            name={String(index + 1)}
            path={`${path}.${index}`}
            schema={items}
            isRequired={true}
            value={one}
            onChange={(next) => change(list.with(index, next))}
          />
          <IconButton
            label={`Remove ${index + 1}`}
            icon="close"
            onClick={() => change(list.toSpliced(index, 1))}
          />
        </div>
      ))}
      <div>
        <Button icon="plus" look="quiet" onClick={() => change([...list, first])}>
          Add
        </Button>
      </div>
    </fieldset>
  )
}

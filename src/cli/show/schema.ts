// JSON Schemas, as far as a question at the terminal can be made of them.

export type Field =
  | { readonly kind: 'boolean' }
  | { readonly kind: 'choice'; readonly values: readonly unknown[] }
  | { readonly kind: 'number'; readonly isWhole: boolean }
  | { readonly kind: 'text' }
  | { readonly kind: 'object'; readonly fields: readonly NamedField[] }
  /** Anything else. */
  | { readonly kind: 'json' }

export interface NamedField {
  readonly name: string
  /** What a person is asked: its title or description, else its name. */
  readonly label: string
  readonly isRequired: boolean
  readonly usual: unknown
  readonly field: Field
}

type Dict = Readonly<Record<string, unknown>>
const isDict = (value: unknown): value is Dict =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export function fieldOf(schema: unknown): Field {
  if (!isDict(schema)) return { kind: 'json' }
  if (Array.isArray(schema.enum)) return { kind: 'choice', values: schema.enum }
  if ('const' in schema) return { kind: 'choice', values: [schema.const] }
  switch (schema.type) {
    case 'boolean':
      return { kind: 'boolean' }
    case 'string':
      return { kind: 'text' }
    case 'number':
    case 'integer':
      return { kind: 'number', isWhole: schema.type === 'integer' }
    case 'object':
      return isDict(schema.properties)
        ? { kind: 'object', fields: fieldsOf(schema.properties, schema.required) }
        : { kind: 'json' }
    default:
      return { kind: 'json' }
  }
}

function fieldsOf(properties: Dict, required: unknown): NamedField[] {
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    label: labelOf(schema) ?? name,
    isRequired: Array.isArray(required) && required.includes(name),
    usual: isDict(schema) ? schema.default : undefined,
    field: fieldOf(schema),
  }))
}

export function labelOf(schema: unknown): string | null {
  if (!isDict(schema)) return null
  const { title, description } = schema
  return typeof title === 'string' ? title : typeof description === 'string' ? description : null
}

/** A value that shows what is meant. */
export function exampleOf(schema: unknown): unknown {
  if (isDict(schema) && Array.isArray(schema.examples) && schema.examples.length > 0) {
    return schema.examples[0]
  }
  return exampleOfField(fieldOf(schema))
}

function exampleOfField(field: Field): unknown {
  switch (field.kind) {
    case 'boolean':
      return true
    case 'choice':
      return field.values[0]
    case 'number':
      return 1
    case 'text':
      return '…'
    case 'object':
      return Object.fromEntries(
        field.fields
          .filter(({ isRequired }) => isRequired)
          .map(({ name, usual, field: inner }) => [name, usual ?? exampleOfField(inner)]),
      )
    case 'json':
      return {}
  }
}

export type Read = { readonly value: unknown } | { readonly problem: string }

/** What somebody typed, as the field wants it. Not for objects: those are asked field by field. */
export function readAnswer(field: Field, typed: string): Read {
  const text = typed.trim()
  switch (field.kind) {
    case 'boolean':
      if (/^(y|yes|true)$/i.test(text)) return { value: true }
      return /^(n|no|false)$/i.test(text) ? { value: false } : { problem: 'y or n' }
    case 'choice': {
      const named = field.values.find((value) => String(value) === text)
      const chosen = named ?? (/^\d+$/.test(text) ? field.values[Number(text) - 1] : undefined)
      return chosen === undefined ? { problem: 'one of them, or its number' } : { value: chosen }
    }
    case 'number': {
      const number = text === '' ? Number.NaN : Number(text)
      const fits = Number.isFinite(number) && (!field.isWhole || Number.isInteger(number))
      return fits ? { value: number } : { problem: field.isWhole ? 'a whole number' : 'a number' }
    }
    case 'text':
      return { value: typed }
    default:
      try {
        return { value: text === '' ? undefined : (JSON.parse(text) as unknown) }
      } catch {
        return { problem: 'JSON, as {"ok":true} or "text"' }
      }
  }
}

/** What stands behind the question. */
export function shapeOf(field: Field): string {
  switch (field.kind) {
    case 'boolean':
      return '(y/n)'
    case 'choice':
      return `(${field.values.map((value, i) => `${i + 1} ${String(value)}`).join(', ')})`
    case 'number':
      return field.isWhole ? '(a whole number)' : '(a number)'
    case 'text':
      return ''
    default:
      return '(JSON, or nothing)'
  }
}

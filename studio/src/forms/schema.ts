// The part of JSON Schema that forms are made of. What is not understood is typed as JSON; the server checks everything. Pure.

export type Schema = Readonly<{
  type?: string | readonly string[]
  title?: string
  description?: string
  default?: unknown
  const?: unknown
  enum?: readonly unknown[]
  format?: string
  properties?: Readonly<Record<string, Schema>>
  required?: readonly string[]
  items?: Schema
  anyOf?: readonly Schema[]
  oneOf?: readonly Schema[]
  $ref?: string
  $defs?: Readonly<Record<string, Schema>>
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  multipleOf?: number
}>

export type FieldKind =
  | 'object'
  | 'list'
  | 'text'
  | 'long-text'
  | 'number'
  | 'flag'
  | 'choice'
  | 'const'
  | 'json'

/** `root` has what `$ref` points to. Without references that lead nowhere, and without the null of an optional one. */
export function resolved(schema: Schema, root: Schema, depth = 0): Schema {
  if (depth > 8) return {}
  if (schema.$ref !== undefined) {
    const target = at(root, schema.$ref)
    return target ? resolved(target, root, depth + 1) : {}
  }
  const variants = schema.anyOf ?? schema.oneOf
  if (!variants) return schema
  const real = variants.map((one) => resolved(one, root, depth + 1)).filter(isNotNull)
  const [only] = real
  if (real.length === 1 && only) return { ...only, ...texts(schema) }
  if (real.length > 0 && real.every((one) => one.const !== undefined)) {
    return { ...texts(schema), enum: real.map((one) => one.const) }
  }
  return texts(schema)
}

const isNotNull = ({ type }: Schema): boolean => type !== 'null'

function texts({ title, description }: Schema): Schema {
  return {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
  }
}

function at(root: Schema, ref: string): Schema | null {
  if (!ref.startsWith('#')) return null
  let here: unknown = root
  for (const part of ref.slice(1).split('/').filter(Boolean)) {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, name)) return null
    here = (here as Record<string, unknown>)[name]
  }
  return typeof here === 'object' && here !== null ? (here as Schema) : null
}

const LONG_FORMATS = ['markdown', 'multiline', 'textarea']

export function kindOf(schema: Schema): FieldKind {
  if (schema.const !== undefined) return 'const'
  if (schema.enum) return 'choice'
  const type = typeof schema.type === 'string' ? schema.type : typeOf(schema)
  if (type === 'object' && schema.properties) return 'object'
  if (type === 'array' && schema.items) return 'list'
  if (type === 'boolean') return 'flag'
  if (type === 'number' || type === 'integer') return 'number'
  if (type !== 'string') return 'json'
  const isLong = LONG_FORMATS.includes(schema.format ?? '') || (schema.maxLength ?? 0) > 200
  return isLong ? 'long-text' : 'text'
}

/** `type: ['string', 'null']` is an optional text. */
function typeOf({ type }: Schema): string | undefined {
  const real = (Array.isArray(type) ? type : []).filter((one) => one !== 'null')
  return real.length === 1 ? real[0] : undefined
}

const INPUT_TYPES: Readonly<Record<string, string>> = {
  email: 'email',
  uri: 'url',
  url: 'url',
  date: 'date',
  time: 'time',
}
export const inputTypeOf = ({ format }: Schema): string => INPUT_TYPES[format ?? ''] ?? 'text'

/** What stands in the form at first. undefined: nothing is sent. */
export function initialOf(given: Schema, root: Schema, isRequired: boolean): unknown {
  const schema = resolved(given, root)
  if (schema.default !== undefined) return schema.default
  const kind = kindOf(schema)
  if (kind === 'const') return schema.const
  if (!isRequired) return undefined
  if (kind === 'flag') return false
  if (kind === 'list') return []
  if (kind === 'choice') return schema.enum?.[0]
  if (kind !== 'object') return undefined
  const properties = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const isNeeded = schema.required?.includes(name) ?? false
    return [name, initialOf(property, root, isNeeded)] as const
  })
  return Object.fromEntries(properties.filter(([, value]) => value !== undefined))
}

/** What would be refused for being empty, as paths; the rest is for the server. */
export function missingIn(given: Schema, root: Schema, value: unknown, path = ''): string[] {
  const schema = resolved(given, root)
  if (kindOf(schema) !== 'object') return []
  const object = (value ?? {}) as Readonly<Record<string, unknown>>
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const here = path === '' ? name : `${path}.${name}`
    const isNeeded = schema.required?.includes(name) ?? false
    const isKnown = kindOf(resolved(property, root)) !== 'json'
    if (object[name] === undefined) return isNeeded && isKnown ? [here] : []
    return missingIn(property, root, object[name], here)
  })
}

/** 'approvedBy' → 'Approved by' */
export function titleOf(name: string, schema: Schema): string {
  if (schema.title !== undefined) return schema.title
  const words = name.replace(/([a-z\d])([A-Z])/g, '$1 $2').replaceAll(/[_-]+/g, ' ')
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase()
}

// The shape of a graph as JSON Schema (draft 2020-12), for editors and forms. What a schema cannot say (cycles, names, what comes
// before what) is said by graph().

type Schema = Readonly<Record<string, unknown>>

const text = { type: 'string' } as const
const cel: Schema = { $ref: '#/$defs/expression' }
const anything: Schema = { description: 'A value, with expressions { "cel": "…" } at any depth.' }
const textOrCel: Schema = { anyOf: [text, cel] }
const duration: Schema = { $ref: '#/$defs/duration' }
const durationOrCel: Schema = { anyOf: [duration, cel] }
const definition: Schema = { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_.-]{0,127}$' }
const count = (maximum: number): Schema => ({ type: 'integer', minimum: 1, maximum })

const object = (properties: Schema, required: readonly string[] = []): Schema => ({
  type: 'object',
  properties,
  ...(required.length > 0 && { required }),
  additionalProperties: false,
})

const RETRY = object({
  attempts: { type: 'integer', minimum: 0, maximum: 1_000_000 },
  delay: duration,
  backoff: { enum: ['fixed', 'exponential'] },
  maxDelay: duration,
  jitter: { type: 'boolean' },
  stopOn: { type: 'array', items: text },
})

const NOTHING = object({})

/** By type of node. */
export const CONFIGS: Readonly<Record<string, Schema>> = {
  trigger: NOTHING,
  set: { type: 'object', minProperties: 1, additionalProperties: anything },
  condition: object({ if: cel }, ['if']),
  switch: object(
    {
      on: anything,
      cases: {
        type: 'array',
        maxItems: 10,
        items: object({ name: { ...text, minLength: 1 }, is: anything }, ['name']),
      },
    },
    ['on', 'cases'],
  ),
  fork: NOTHING,
  merge: NOTHING,
  delay: object({ for: durationOrCel, until: textOrCel }),
  'wait-for-event': object(
    {
      mode: { enum: ['time', 'event', 'condition'] },
      for: durationOrCel,
      until: textOrCel,
      event: text,
      match: { type: 'object', additionalProperties: anything },
      if: cel,
      every: duration,
      poll: object({ task: definition, input: anything }, ['task']),
    },
    ['mode'],
  ),
  loop: object({
    items: { anyOf: [{ type: 'array' }, cel] },
    while: cel,
    as: { type: 'string', pattern: '^[A-Za-z_]\\w{0,63}$' },
    parallel: count(1_000),
    most: count(10_000),
  }),
  'try-catch': object({ categories: { type: 'array', items: text } }),
  retry: RETRY,
  'on-error': NOTHING,
  http: object(
    {
      url: textOrCel,
      method: textOrCel,
      headers: { type: 'object', additionalProperties: anything },
      body: anything,
    },
    ['url'],
  ),
  task: object({ task: definition, input: anything }, ['task']),
  workflow: object({ workflow: definition, input: anything }, ['workflow']),
  'machine-event': object({ machine: definition, id: anything, event: anything }, [
    'machine',
    'id',
    'event',
  ]),
  emit: object({ event: text, payload: anything }, ['event']),
  end: NOTHING,
  return: object({ output: anything }),
  cancel: object({ reason: textOrCel }),
}

const NODE: Schema = {
  type: 'object',
  properties: {
    id: { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$' },
    type: {
      anyOf: [
        { enum: Object.keys(CONFIGS) },
        { type: 'string', pattern: '^[A-Za-z][\\w-]{0,31}(\\.[A-Za-z][\\w-]{0,31}){1,3}$' },
      ],
    },
    config: { type: 'object' },
    parent: text,
    retry: { anyOf: [{ type: 'integer', minimum: 0 }, RETRY] },
    timeout: duration,
    name: text,
    position: object({ x: { type: 'number' }, y: { type: 'number' } }, ['x', 'y']),
  },
  required: ['id', 'type'],
  additionalProperties: false,
  allOf: Object.entries(CONFIGS).map(([type, config]) => ({
    if: { properties: { type: { const: type } }, required: ['type'] },
    // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema
    then: {
      properties: { config },
      ...('required' in config && { required: ['config'] }),
    },
  })),
}

export const graphSchema: Schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'A graph of Perdure',
  type: 'object',
  properties: {
    id: definition,
    version: { type: 'string', pattern: '^[\\w.+-]{1,64}$' },
    description: text,
    triggers: { type: 'array', items: { type: 'object', required: ['type'] } },
    settings: object({
      concurrency: { type: 'integer', minimum: 1 },
      perWorkspace: { type: 'integer', minimum: 1 },
      perKey: { type: 'object', required: ['key'] },
      rate: object({ runs: count(10_000), per: duration }, ['runs', 'per']),
      timeout: duration,
      waitTimeout: duration,
    }),
    nodes: { type: 'array', minItems: 1, maxItems: 100, items: NODE },
    edges: {
      type: 'array',
      maxItems: 1_000,
      items: object({ from: text, to: text, when: { type: ['string', 'boolean'] } }, [
        'from',
        'to',
      ]),
    },
    output: anything,
    layout: { type: 'object' },
  },
  required: ['id', 'nodes', 'edges'],
  additionalProperties: false,
  $defs: {
    expression: {
      description: 'CEL. A text is always a text.',
      ...object({ cel: { type: 'string', maxLength: 2_048 } }, ['cel']),
    },
    duration: {
      description: "Milliseconds, or a whole number and a unit: '30 min', '7d'.",
      anyOf: [
        { type: 'integer', minimum: 0 },
        { type: 'string', pattern: '^\\d{1,15} ?[a-z]+$' },
      ],
    },
  },
}

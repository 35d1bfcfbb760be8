import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  initialOf,
  kindOf,
  missingIn,
  resolved,
  type Schema,
} from '../../studio/src/forms/schema.js'
import { inline, jsonOf, leafOf, membersOf } from '../../studio/src/lib/values.js'
import { filtersOf, queryOf } from '../../studio/src/pages/runs/filters.js'

const schemaOf = (schema: z.ZodType): Schema => z.toJSONSchema(schema, { io: 'input' }) as Schema

describe('forms from schemas', () => {
  const approval = schemaOf(
    z.object({
      ok: z.boolean(),
      note: z.string().optional(),
      carrier: z.enum(['post', 'courier']),
      parcels: z.array(z.object({ kg: z.number() })),
      by: z.object({ name: z.string() }),
      kind: z.literal('order'),
      when: z.string().nullable(),
      other: z.unknown(),
    }),
  )
  const kinds = Object.fromEntries(
    Object.entries(approval.properties ?? {}).map(([name, one]) => [
      name,
      kindOf(resolved(one, approval)),
    ]),
  )

  test('each part of a schema is the field that people expect, and the rest is JSON', () => {
    expect(kinds).toEqual({
      ...{ ok: 'flag', note: 'text', carrier: 'choice', parcels: 'list', by: 'object' },
      ...{ kind: 'const', when: 'text', other: 'json' },
    })
  })

  test('a form begins with what needs no person, and knows what is still empty', () => {
    const first = initialOf(approval, approval, true)
    expect(first).toEqual({ ok: false, carrier: 'post', parcels: [], by: {}, kind: 'order' })
    expect(missingIn(approval, approval, first)).toEqual(['by.name', 'when'])
  })

  test('references are followed, also in circles, and never out of the schema', () => {
    const tree: Schema = {
      $ref: '#/$defs/node',
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
    }
    expect(kindOf(resolved(tree, tree))).toBe('object')
    const loop: Schema = { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } }
    expect(kindOf(resolved(loop, loop))).toBe('json')
    expect(kindOf(resolved({ $ref: 'https://evil.example/schema' }, tree))).toBe('json')
    expect(kindOf(resolved({ $ref: '#/__proto__/constructor' }, tree))).toBe('json')
  })
})

describe('values', () => {
  test('what JSON has no word for is shown exactly', () => {
    expect(leafOf(-0).text).toBe('-0')
    expect(leafOf(12n).text).toBe('12n')
    expect(leafOf(new Date(0)).text).toBe('1970-01-01T00:00:00.000Z')
    expect(leafOf(new Uint8Array([1, 255])).text).toBe('2 bytes 01 ff')
    expect(membersOf(new Map([['a', 1]]))).toEqual([['a', 1]])
    expect(inline({ a: [1, 'x'], b: null }, 80)).toBe('{ a: [1, "x"], b: null }')
  })

  test('only what JSON keeps is offered for editing', () => {
    expect(jsonOf({ a: 1 })).toBe('{\n  "a": 1\n}')
    const circle: unknown[] = []
    circle.push(circle)
    for (const value of [new Date(), 1n, Number.NaN, circle, new Map()]) {
      expect(jsonOf(value)).toBeNull()
    }
  })
})

test('the filters of the list are the address, and what is not understood is left out', () => {
  const filters = filtersOf(
    new URLSearchParams('status=failed,bogus&time=24h&tag=customer:a:b&text=ord&style=x'),
  )
  expect(filters).toMatchObject({ statuses: ['failed'], span: '24h', style: null })
  expect(queryOf(filters, 86_400_000)).toEqual({
    status: ['failed'],
    tags: { customer: 'a:b' },
    createdAfter: new Date(0),
    text: 'ord',
  })
})

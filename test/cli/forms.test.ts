// What is made of schemas and of graphs.

import { describe, expect, test } from 'vitest'
import { graphMermaid, graphText } from '../../src/cli/show/graph.js'
import { exampleOf, fieldOf, readAnswer } from '../../src/cli/show/schema.js'
import type { GraphJson } from '../../src/index.js'

describe('a question', () => {
  test.each([
    [{ type: 'boolean' }, 'y', true, 'a boolean is y or n'],
    [{ type: 'boolean' }, 'maybe', null, 'and nothing else'],
    [{ enum: ['a', 'b'] }, '2', 'b', 'a choice is its number'],
    [{ enum: ['a', 'b'] }, 'a', 'a', 'or its name'],
    [{ enum: [10, 20] }, '20', 20, 'also of numbers'],
    [{ enum: ['a'] }, 'c', null, 'and one of them'],
    [{ type: 'integer' }, '3', 3, 'a number is a number'],
    [{ type: 'integer' }, '3.5', null, 'a whole one if it must'],
    [{ type: 'string' }, ' as it is ', ' as it is ', 'a text is what was typed'],
    [{ type: 'array' }, '[1]', [1], 'what is anything else is JSON'],
    [{ type: 'array' }, '[1', null, 'if it is'],
    [null, '', undefined, 'without a schema it may be nothing'],
  ])('%j answered with %j gives %j: %s', (schema, typed, value, _why) => {
    const read = readAnswer(fieldOf(schema), typed)
    expect('value' in read ? read.value : null).toEqual(value)
  })

  test('has an example that shows what is meant', () => {
    const inner = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
    const properties = { who: { type: 'string' }, how: { enum: ['x', 'y'] }, inner, more: {} }
    const required = ['who', 'how', 'inner']
    expect(exampleOf({ type: 'object', properties, required })).toEqual({
      who: '…',
      how: 'x',
      inner: { n: 1 },
    })
    expect(exampleOf({ examples: [{ ok: false }] })).toEqual({ ok: false })
  })
})

describe('a graph', () => {
  const leads: GraphJson = {
    id: 'leads',
    triggers: [{ type: 'event', event: 'lead.created' as never }],
    nodes: [
      { id: 'enrich', type: 'task', config: { task: 'enrich' } },
      { id: 'large', type: 'condition', config: { if: { cel: 'enrich.size > 50' } } },
      { id: 'careful', type: 'try-catch' },
      { id: 'call', type: 'http', parent: 'careful', config: { url: 'https://crm.example/"x"' } },
      { id: 'campaign', type: 'set', config: { owner: 'campaign' } },
      { id: 'told', type: 'emit', config: { event: 'lead.routed' as never } },
    ],
    edges: [
      { from: 'trigger', to: 'enrich' },
      { from: 'enrich', to: 'large' },
      { from: 'large', to: 'careful', when: true },
      { from: 'large', to: 'campaign', when: false },
      { from: 'careful', to: 'told' },
      { from: 'campaign', to: 'told' },
    ],
  }

  test('is a tree in which every node stands once', () => {
    expect(`\n${graphText(leads).join('\n')}\n`).toMatchInlineSnapshot(`
      "
      leads  6 nodes, 6 edges; starts by event lead.created
        trigger
        └ enrich  task enrich
          └ large  condition enrich.size > 50
            ├ true: careful  try-catch
            │ ├ inside: call  http https://crm.example/"x"
            │ └ told  emit lead.routed
            └ false: campaign  set owner
              └ → told
      "
    `)
  })

  test('is a flowchart of Mermaid', () => {
    expect(`\n${graphMermaid(leads).join('\n')}\n`).toMatchInlineSnapshot(`
      "
      flowchart TD
        n0(["trigger"])
        n1["enrich: task enrich"]
        n2{"large: condition enrich.size > 50"}
        subgraph n3["careful: try-catch"]
          n4["call: http https://crm.example/#quot;x#quot;"]
        end
        n5["campaign: set owner"]
        n6["told: emit lead.routed"]
        n0 --> n1
        n1 --> n2
        n2 -->|"true"| n3
        n2 -->|"false"| n5
        n3 --> n6
        n5 --> n6
      "
    `)
  })
})

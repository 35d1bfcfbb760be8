// docs/expressions.md is true: its examples give what it says, its limits are those of the code.

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { compile } from '../../src/authoring/graph/expression.js'
import * as limits from '../../src/authoring/graph/expression-limits.js'
import { PerdureError } from '../../src/model/errors.js'

const page = readFileSync(new URL('../../docs/expressions.md', import.meta.url), 'utf8')
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    (match) => match[1] ?? '',
  )

const input = JSON.parse(blocks('json')[1] ?? '') as unknown
const examples = blocks('cel')
  .flatMap((block) => block.trim().split('\n'))
  .map((line) => /^(.*?) +\/\/ (→|✗) (.*)$/.exec(line)?.slice(1) ?? [line, '', ''])

test.each(examples)('the page says: %s %s %s', (text = '', sign, said = '') => {
  const evaluate = () => compile(text, 'the example').evaluate(new Map([['input', input]]))
  if (sign === '→') {
    expect(JSON.stringify(evaluate())).toBe(said)
    return
  }
  expect(sign).toBe('✗')
  const error = (() => {
    try {
      return evaluate()
    } catch (thrown) {
      return thrown
    }
  })()
  expect(PerdureError.is(error, 'EXPRESSION_FAILED') && error.message).toContain(said)
})

test('there are examples', () => {
  expect(examples.length).toBeGreaterThan(20)
})

test('the page has every limit, with its value', () => {
  const rows = [...page.matchAll(/^\| `([A-Z_]+)` +\| +(\d+) \|/gm)]
  const { EXPRESSIONS_KEPT: _, ...shown } = limits
  expect(Object.fromEntries(rows.map(([, name, value]) => [name, Number(value)]))).toEqual(shown)
})

// The page of errors shows each as the code makes it.

import { expect, test } from 'vitest'
import { CODES, type ErrorCode } from '../../src/model/errors.js'
import { exampleOf } from './error-examples.js'
import { programsOf, readPage, run } from './programs.js'

const PAGE = 'docs/reference/errors.md'
const sections = readPage(PAGE).split(/^### /m)

test.each(Object.keys(CODES) as ErrorCode[])('%s is shown as it is thrown', async (code) => {
  const section = sections.find((text) => text.startsWith(`${code}\n`)) ?? ''
  expect(section).toContain(await exampleOf(code))
  expect(section).toContain('What to do: ')
})

test('its program prints what it says', async () => {
  for (const program of programsOf(PAGE)) {
    const { claimed, printed } = await run(program)
    expect(printed).toEqual(claimed)
  }
})

// Stored graphs under a clock that is moved by hand, and across crashes.

import { expect, test } from 'vitest'
import type { GraphJson } from '../../src/index.js'
import { createTestEngine } from '../../src/testing/index.js'

const later = (says: string): GraphJson => ({
  id: 'later',
  nodes: [
    { id: 'nap', type: 'delay', config: { for: '1 day' } },
    { id: 'said', type: 'set', config: { says } },
  ],
  edges: [
    { from: 'trigger', to: 'nap' },
    { from: 'nap', to: 'said' },
  ],
  output: { cel: 'says' },
})

test('a run of a stored graph keeps its version through a crash, and is forked with it', async () => {
  await using engine = await createTestEngine()
  await engine.graphs.save(later('one'))
  const one = await engine.start('later', {} as never, { id: 'one' })
  await engine.settle()
  await engine.graphs.save(later('two'))
  const two = await engine.start('later', {} as never)
  await engine.settle()
  await engine.crash()
  await engine.advance('2 days')
  expect([await one.result(), await two.result()]).toEqual(['one', 'two'])
  await engine.graphs.save(later('three'))
  const fork = await engine.fork('one')
  await engine.advance('2 days')
  expect(await fork.result()).toBe('one')
})

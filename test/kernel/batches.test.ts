import { expect, test } from 'vitest'
import type { RunId } from '../../src/model/ids.js'
import { BATCH_BYTES_MAX, BATCH_SPLIT_MIN } from '../../src/model/limits.js'
import { NO_RETRY } from '../../src/model/retry.js'
import { Bench, start } from './bench.js'

test('documents count among the bytes of a commit', async () => {
  const bench = new Bench()
  const large = JSON.stringify('x'.repeat(BATCH_BYTES_MAX * 0.7))
  const note = { type: 'Note', key: null, tags: [], isHidden: false, content: large }
  const kernel = await bench.open('one', (turn) => {
    const execute = async () => ({ value: '1', documents: [{ id: turn.run.id, ...note }] })
    return turn.step('write', { label: 'inline', retry: NO_RETRY, timeoutMs: null, execute })
  })
  const written: number[] = []
  const { memory } = bench
  const commit = memory.commitNow.bind(memory)
  memory.commitNow = (by, deltas, options) => {
    const turns = deltas.flatMap((delta) => (delta.kind === 'turn' ? [delta] : []))
    written.push(turns.filter(({ documents }) => documents.length > 0).length)
    return commit(by, deltas, options)
  }
  const ids = ['a', 'b', 'c', 'd', 'e'] as RunId[]
  await Promise.all(ids.map((id) => kernel.start({ ...start, id })))
  await bench.pass(100)
  for (const id of ids) {
    expect(memory.find(start.workspace, id)?.status).toBe('completed')
    expect(memory.find(start.workspace, id)?.documents).toHaveLength(1)
  }
  // A batch ends with the turn that fills it.
  expect(Math.max(...written)).toBe(2)
  await kernel.close()
})

test.each([
  { queued: BATCH_SPLIT_MIN - 1, parts: [BATCH_SPLIT_MIN - 1] },
  { queued: BATCH_SPLIT_MIN, parts: [BATCH_SPLIT_MIN / 2, BATCH_SPLIT_MIN / 2] },
])('$queued starts while nothing is in flight are commits of $parts', async ({ queued, parts }) => {
  const bench = new Bench()
  const kernel = await bench.open('one', (turn) => bench.step(turn, 'pay'))
  await bench.pass(100)
  const sizes: number[] = []
  const { memory } = bench
  const commit = memory.commitNow.bind(memory)
  memory.commitNow = (by, deltas, options) => {
    const starts = deltas.filter(({ kind }) => kind === 'start').length
    if (starts > 0) sizes.push(starts)
    return commit(by, deltas, options)
  }
  const ids = Array.from({ length: queued }, (_, i) => `run-${i}` as RunId)
  await Promise.all(ids.map((id) => kernel.start({ ...start, id })))
  expect(sizes).toEqual(parts)
  expect(ids.filter((id) => !memory.find(start.workspace, id))).toEqual([])
  await kernel.close()
})

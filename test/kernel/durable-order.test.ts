import { expect, test } from 'vitest'
import { Bench, start, to } from './bench.js'

test('a step starts when every outcome before it is stored, and not earlier', async () => {
  const bench = new Bench()
  const kernel = await bench.open('one', async (turn) => {
    const paid = await bench.step(turn, 'pay')
    await bench.step(turn, 'ship')
    return paid
  })
  await kernel.start(start)
  bench.holdCommits()
  await bench.pass(10)
  expect(bench.calls).toEqual(['pay'])
  await bench.pass(5_000)
  expect(bench.calls).toEqual(['pay'])
  bench.releaseCommits()
  await bench.pass(10)
  expect(bench.calls).toEqual(['pay', 'ship'])
  expect(bench.memory.find(to.workspace, to.id)?.status).toBe('completed')
  await kernel.close()
})

test('code that differs from the history parks the run before it starts anything', async () => {
  const bench = new Bench()
  const first = await bench.open('one', async (turn) => {
    await bench.step(turn, 'pay')
    await turn.sleep('a while', { afterMs: 60_000 })
    return '"paid"'
  })
  await first.start(start)
  await bench.pass(10)
  await first.close()
  expect(bench.calls).toEqual(['pay'])
  const second = await bench.open('two', async (turn) => {
    await bench.step(turn, 'pay')
    await bench.step(turn, 'refund')
    return '"refunded"'
  })
  await bench.pass(60_000)
  for (let i = 0; i < 10; i += 1) await bench.pass(1_000)
  expect(bench.calls).toEqual(['pay'])
  expect(bench.counters['run.diverged']).toBe(1)
  const row = bench.memory.find(to.workspace, to.id)
  expect(row?.status).toBe('waiting')
  expect(row?.reason).toBe('diverged')
  expect(bench.said.join('\n')).toContain(
    'At question 2 the history has sleep "a while", the code now asks step "refund" (inline).',
  )
  void second.close()
})

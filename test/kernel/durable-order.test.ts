import { expect, test } from 'vitest'
import type { Turn } from '../../src/model/program.js'
import { NO_RETRY } from '../../src/model/retry.js'
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

test('a step that may begin early begins at once, and waits for its past before it reaches outside', async () => {
  const bench = new Bench()
  const kernel = await bench.open('one', async (turn) => {
    await bench.step(turn, 'pay')
    const order = { label: 'inline', retry: NO_RETRY, timeoutMs: null, isEarly: true }
    await turn.step('count', {
      ...order,
      execute: async () => {
        bench.calls.push('count')
        return { value: '1' }
      },
    })
    const done = turn.step('look', {
      ...order,
      execute: async (attempt) => {
        bench.calls.push('look')
        await attempt.documents()
        bench.calls.push('looked')
        return { value: '2' }
      },
    })
    return done
  })
  await kernel.start(start)
  bench.holdCommits()
  await bench.pass(10)
  expect(bench.calls).toEqual(['pay', 'count', 'look'])
  await bench.pass(5_000)
  expect(bench.calls).toEqual(['pay', 'count', 'look'])
  bench.releaseCommits()
  await bench.pass(10)
  expect(bench.calls).toEqual(['pay', 'count', 'look', 'looked'])
  const row = bench.memory.find(to.workspace, to.id)
  expect(row?.status).toBe('completed')
  await kernel.close()
})

test('an early step that waits for its past is let finish when the run is to be handed over', async () => {
  const bench = new Bench()
  const body = async (turn: Turn) => {
    await bench.step(turn, 'pay')
    return turn.step('look', {
      ...{ label: 'inline', retry: NO_RETRY, timeoutMs: null, isEarly: true },
      execute: async (attempt) => {
        await attempt.past()
        bench.calls.push('looked')
        return { value: '2' }
      },
    })
  }
  const kernel = await bench.open('one', body, 1_000)
  await kernel.start(start)
  bench.holdCommits()
  await bench.pass(10)
  const closed = kernel.close()
  await bench.pass(10)
  expect(bench.calls).toEqual(['pay'])
  bench.releaseCommits()
  await bench.pass(10)
  await bench.pass(10)
  await closed
  expect(bench.calls).toEqual(['pay', 'looked'])
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

// Messages that are told to a run that waits in this process before they are stored.

import { expect, test } from 'vitest'
import type { Answer, Delta } from '../../src/kernel/store.js'
import type { StepOrder, Turn } from '../../src/model/program.js'
import { NO_RETRY } from '../../src/model/retry.js'
import { Bench, start, to } from './bench.js'

const GO = { names: ['go'], until: null } as const
const brings = (deltas: readonly Delta[]): boolean =>
  deltas.some((delta) => delta.kind === 'turn' && delta.brings)

function payloads(bench: Bench): readonly (string | null)[] {
  const [row] = bench.memory.runs.values()
  const taken = (row?.journal ?? []).filter(({ kind }) => kind === 'message.taken')
  return taken.map(({ payload }) => payload)
}

test('thousands that come while one is stored are taken in the order in which they came', async () => {
  const bench = new Bench()
  const count = 1_300
  const kernel = await bench.open('a', async (turn: Turn) => {
    for (let i = 0; i < count; i += 1) await turn.receive('go', GO)
    return 'done'
  })
  await kernel.start(start)
  await bench.pass(0)
  bench.holdCommits()
  const numbers = Array.from({ length: count }, (_, i) => String(i))
  const sent = numbers.map((n) => kernel.signal(to, 'go', n, null))
  await bench.pass(0)
  bench.releaseCommits()
  await Promise.all(sent)
  for (let i = 0; i < 10; i += 1) await bench.pass(1)
  expect(bench.counters['message.brought']).toBe(count)
  expect(payloads(bench)).toEqual(numbers)
  await kernel.close()
})

test('nothing that was asked before begins until what was brought is stored: the run may be another’s', async () => {
  const bench = new Bench()
  let flaky = 0
  const order: StepOrder = {
    label: 'inline',
    retry: { ...NO_RETRY, attempts: 3, delayMs: 5_000 },
    timeoutMs: null,
    execute: async () => {
      flaky += 1
      if (flaky === 1) throw new Error('not yet')
      return { value: '"flaky"' }
    },
  }
  const kernel = await bench.open('a', async (turn: Turn) => {
    const other = turn.receive('go', GO).then(() => bench.step(turn, 'next'))
    await Promise.all([turn.step('flaky', order), other])
    return 'done'
  })
  await kernel.start(start)
  await bench.pass(0)
  expect(flaky).toBe(1)
  bench.holdCommits()
  const sent = kernel.signal(to, 'go', null, null)
  await bench.pass(0)
  // Its time has come: it is taken, here as it would be anywhere, and executed by whoever has it.
  await bench.pass(6_000)
  bench.releaseCommits()
  await sent
  for (let i = 0; i < 10; i += 1) await bench.pass(1_000)
  expect([flaky, bench.calls]).toEqual([2, ['next']])
  expect([...bench.memory.runs.values()].map(({ status }) => status)).toEqual(['completed'])
  await kernel.close()
})

test('whoever has sent it hears of it, also if the end that it brought about is taken back', async () => {
  const bench = new Bench()
  const kernel = await bench.open('a', async (turn: Turn) => {
    await turn.receive('go', GO)
    return 'done'
  })
  await kernel.start(start)
  await bench.pass(0)
  const told: Answer[] = [{ kind: 'busy' }, { kind: 'stopping', stop: 'cancel' }]
  bench.answers = (deltas) => {
    const answer = brings(deltas) ? told.shift() : undefined
    return answer ? [answer] : null
  }
  const sent = kernel.signal(to, 'go', '1', null)
  for (let i = 0; i < 5; i += 1) await bench.pass(50)
  expect(told).toEqual([])
  await sent
  await kernel.close()
})

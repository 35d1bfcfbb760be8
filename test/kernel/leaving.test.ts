import { expect, test } from 'vitest'
import type { StepOrder, Turn } from '../../src/model/program.js'
import { NO_RETRY } from '../../src/model/retry.js'
import { Bench, start, to } from './bench.js'

test('a step with an undo that does not obey when its scope is late is given up after five seconds', async () => {
  const bench = new Bench()
  let isAborted = false
  const order: StepOrder = {
    label: 'inline',
    retry: NO_RETRY,
    timeoutMs: null,
    execute: (attempt) => {
      attempt.signal.addEventListener('abort', () => {
        isAborted = true
      })
      return new Promise(() => {})
    },
    undo: async () => ({ value: '' }),
  }
  const kernel = await bench.open('one', async (turn) => {
    await turn
      .scope('pay', { until: { afterMs: 1_000 } }, (inner) => inner.step('charge', order))
      .catch(() => {})
    return '"end"'
  })
  await kernel.start(start)
  await bench.pass(1_000)
  await bench.pass(4_000)
  const row = bench.memory.find(to.workspace, to.id)
  expect([isAborted, row?.status]).toEqual([true, 'running'])
  await bench.pass(1_000)
  expect(row?.status).toBe('completed')
  expect(row?.journal.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    'run.created ',
    'timer.set pay/(timeout)',
    'step.asked pay/charge',
    'timer.fired pay/(timeout)',
    'step.failed pay/charge',
    'scope.ended pay',
    'run.completed ',
  ])
  await kernel.close()
})

test('a step that is running when its process leaves still reaches other runs', async () => {
  const bench = new Bench()
  let goOn = (): void => {}
  const gate = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const body = async (turn: Turn): Promise<string> => {
    const execute: StepOrder['execute'] = async (attempt) => {
      await gate
      await attempt.outside.signal({ ...to }, 'done', '"by itself"', 'a-signal')
      return { value: '"sent"' }
    }
    await turn.step('tell', { label: 'inline', retry: NO_RETRY, timeoutMs: null, execute })
    return '"end"'
  }
  const kernel = await bench.open('one', body, 1_000)
  await kernel.start(start)
  await bench.pass(10)
  const closed = kernel.close()
  await bench.pass(10)
  goOn()
  for (let i = 0; i < 5; i += 1) await bench.pass(10)
  await closed
  const row = bench.memory.find(to.workspace, to.id)
  expect(row?.messages.map(({ name }) => name)).toEqual(['done'])
  expect(row?.journal.map(({ kind }) => kind)).toContain('step.completed')
  await expect(kernel.signal(to, 'late', null, null)).rejects.toThrow('closed')
})

test('a run that is given back goes on elsewhere at once, before anybody polls', async () => {
  const bench = new Bench()
  let goOn = (): void => {}
  const gate = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const body = async (turn: Turn): Promise<string> => {
    const execute: StepOrder['execute'] = async () => {
      await gate
      return { value: '"paid"' }
    }
    await turn.step('pay', { label: 'inline', retry: NO_RETRY, timeoutMs: null, execute })
    await bench.step(turn, 'ship')
    return '"end"'
  }
  const first = await bench.open('one', body, 1_000)
  const second = await bench.open('one', body)
  await bench.pass(1_000)
  await first.start(start)
  await bench.pass(0)
  const closed = first.close()
  goOn()
  for (let i = 0; i < 3; i += 1) await bench.pass(0)
  expect(bench.calls).toEqual(['ship'])
  expect(bench.memory.find(to.workspace, to.id)?.status).toBe('completed')
  await bench.pass(1_000)
  await closed
  await second.close()
})

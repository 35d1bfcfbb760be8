import { expect, test } from 'vitest'
import type { RunId } from '../../src/model/ids.js'
import { NO_RETRY } from '../../src/model/retry.js'
import { Bench, start, to } from './bench.js'

test('a body that returns when it is told to stop does not keep its run from ending', async () => {
  const bench = new Bench()
  const kernel = await bench.open('one', async (turn) => {
    const stopped = new Promise((resolve) => turn.stopping.addEventListener('abort', resolve))
    await Promise.race([turn.receive('paid', { names: ['paid'], until: null }), stopped])
    return '"stopped"'
  })
  await kernel.start(start)
  await bench.pass(10)
  await kernel.cancel(to, 'no longer wanted', null)
  await bench.pass(10)
  const row = bench.memory.find(to.workspace, to.id)
  expect(row?.status).toBe('cancelled')
  expect(row?.journal.at(-1)?.kind).toBe('run.cancelled')
  await kernel.close()
})

test('what a body says when its run has ended has no effect', async () => {
  const bench = new Bench()
  const kernel = await bench.open('one', async (turn) => {
    const stopped = new Promise((resolve) => turn.stopping.addEventListener('abort', resolve))
    await Promise.race([turn.receive('paid', { names: ['paid'], until: null }), stopped])
    turn.mark('too late')
    void bench.step(turn, 'too late')
    return '"stopped"'
  })
  await kernel.start(start)
  await bench.pass(10)
  await kernel.cancel(to, 'no longer wanted', null)
  await bench.pass(10)
  const row = bench.memory.find(to.workspace, to.id)
  expect(row?.journal.map((entry) => entry.kind)).toEqual([
    'run.created',
    'wait.opened',
    'run.cancelled',
  ])
  expect(bench.calls).toEqual([])
  await kernel.close()
})

test('a run whose delta is refused while its body reacts to an answer fails, and does not hang', async () => {
  const bench = new Bench()
  let finish = (): void => {}
  const work = new Promise<void>((resolve) => {
    finish = resolve
  })
  const kernel = await bench.open('one', async (turn) => {
    if (turn.run.id !== to.id) return '"another"'
    const execute = async () => {
      await work
      return { value: '"packed"' }
    }
    const order = { label: 'inline', retry: NO_RETRY, timeoutMs: null, execute } as const
    await Promise.all([
      turn.step('pack', order),
      turn.receive('paid', { names: ['paid'], until: null }),
    ])
    return '"shipped"'
  })
  await kernel.start(start)
  bench.holdCommits()
  await bench.pass(10)
  // The next batch is about to be made when the answer comes: it finds the body settling.
  void kernel.start({ ...start, id: 'order-2' as RunId })
  await microtasks()
  finish()
  await microtasks()
  bench.refuseCommits()
  await bench.pass(10)
  const row = bench.memory.find(to.workspace, to.id)
  expect(row?.status).toBe('failed')
  expect(row?.journal.map((entry) => entry.kind)).toEqual(['run.created', 'run.failed'])
  await kernel.close()
})

async function microtasks(): Promise<void> {
  for (let i = 0; i < 50; i += 1) await Promise.resolve()
}

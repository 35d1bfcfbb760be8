import { expect, test } from 'vitest'
import type { StepOrder, Turn } from '../../src/model/program.js'
import { NO_RETRY } from '../../src/model/retry.js'
import { Bench, start, to } from './bench.js'

/** No database stores this. */
const UNSTORABLE = '"\0"'

test('a run whose words are refused undoes what it had recorded, and then fails', async () => {
  const { bench, ended } = await run(async (_, step) => {
    await step('reserve')
    await Promise.all([step('charge', { value: UNSTORABLE }), step('pack')])
    return '"shipped"'
  })
  expect(ended.payload).toContain('VALUE_UNSTORABLE')
  expect(bench.calls.filter((call) => call.startsWith('undo'))).toEqual(['undo reserve'])
  expect(kinds(bench)).toEqual([
    'run.created',
    'step.completed',
    'run.stopping',
    'undo.completed',
    'run.failed',
  ])
  expect(bench.memory.find(to.workspace, to.id)?.undoOpen).toBe(0)
})

test('a run whose first words are refused fails with nothing to undo', async () => {
  const { bench } = await run(async (_, step) => {
    await step('charge', { value: UNSTORABLE })
    return '"shipped"'
  })
  expect(kinds(bench)).toEqual(['run.created', 'run.failed'])
  expect(bench.memory.find(to.workspace, to.id)?.undoOpen).toBe(0)
})

test('a run whose undo is refused fails with UNDO_FAILED, and says that it is open', async () => {
  const { bench, ended } = await run(async (_, step) => {
    await step('reserve', { undo: UNSTORABLE })
    throw new Error('no more')
  })
  expect(ended.payload).toContain('UNDO_FAILED')
  expect(kinds(bench).slice(2)).toEqual(['run.stopping', 'run.failed'])
  expect(bench.memory.find(to.workspace, to.id)?.undoOpen).toBe(1)
})

test('a run that is cancelled stays so if its last step gives back what cannot be stored', async () => {
  const bench = new Bench()
  const kernel = await bench.open('one', (turn) =>
    turn.step('charge', {
      label: 'inline',
      retry: NO_RETRY,
      timeoutMs: null,
      execute: (attempt) =>
        new Promise((resolve) => {
          attempt.signal.addEventListener('abort', () => resolve({ value: UNSTORABLE }))
        }),
    }),
  )
  await kernel.start(start)
  await bench.pass(10)
  await kernel.cancel(to, 'no longer wanted', null)
  await bench.pass(1_000)
  await bench.pass(1_000)
  expect(bench.memory.find(to.workspace, to.id)?.status).toBe('cancelled')
  await kernel.close()
})

test.each([
  ['so does one that had stopped itself before', 'one'],
  ['and one that has not heard of it, because another process was told', 'two'],
])('%s', async (_, told) => {
  const bench = new Bench()
  let finish = (): void => {}
  const work = new Promise<void>((resolve) => {
    finish = resolve
  })
  const execute = async () => {
    await work
    return { value: UNSTORABLE }
  }
  const order = { label: 'inline', retry: NO_RETRY, timeoutMs: null, execute } as const
  const body = async (turn: Turn) => {
    const charged = turn.step('charge', order)
    await Promise.race([charged, turn.sleep('a moment', { afterMs: 5 })])
    return turn.stop('enough')
  }
  const kernels = { one: await bench.open('one', body), two: await bench.open('two', body) }
  await kernels.one.start(start)
  await bench.pass(10)
  await bench.pass(10)
  await kernels[told as 'one' | 'two'].cancel(to, 'no longer wanted', null)
  await bench.pass(10)
  finish()
  for (let i = 0; i < 3; i += 1) await bench.pass(1_000)
  expect(bench.memory.find(to.workspace, to.id)?.status).toBe('cancelled')
  await Promise.all([kernels.one.close(), kernels.two.close()])
})

test('a run whose words are refused stops the child that a race of it had stopped in them', async () => {
  const bench = new Bench()
  let child: string | null = null
  const order = { label: 'inline', retry: NO_RETRY, timeoutMs: null } as const
  const kernel = await bench.open('one', async (turn) => {
    if (turn.run.parentUid) return turn.sleep('a day', { afterMs: 86_400_000 }).then(() => '1')
    const of = { definition: 'shop', version: null, input: '1', isTask: false, order: null }
    const startedAs = (uid: string) => {
      child = uid
    }
    const { value } = await turn.race(
      'first',
      new Map([
        [
          'slow',
          (inner) => inner.child('pack', { ...of, retry: NO_RETRY, timeoutMs: null, startedAs }),
        ],
        [
          'quick',
          async (inner) => {
            await inner.sleep('until it is started', { afterMs: 50 })
            return inner.step('charge', { ...order, execute: async () => ({ value: UNSTORABLE }) })
          },
        ],
      ]),
    )
    return value
  })
  await kernel.start(start)
  for (let i = 0; i < 10; i += 1) await bench.pass(100)
  expect(bench.memory.find(to.workspace, to.id)?.status).toBe('failed')
  expect(bench.memory.runs.get(child as never)?.status).toBe('cancelled')
  await kernel.close()
})

type Step = (name: string, gives?: { value?: string; undo?: string }) => Promise<string>

async function run(body: (turn: Turn, step: Step) => Promise<string>) {
  const bench = new Bench()
  const kernel = await bench.open('one', (turn) =>
    body(turn, (name, { value = '1', undo = '' } = {}) => {
      const did = (what: string, effect: string) => async () => {
        bench.calls.push(what)
        return { value: effect }
      }
      const order: StepOrder = {
        label: 'inline',
        retry: NO_RETRY,
        timeoutMs: null,
        execute: did(name, value),
        undo: did(`undo ${name}`, undo),
      }
      return turn.step(name, order)
    }),
  )
  await kernel.start(start)
  for (let i = 0; i < 5; i += 1) await bench.pass(1_000)
  const row = bench.memory.find(to.workspace, to.id)
  const ended = row?.journal.at(-1)
  if (!ended) throw new Error('no journal')
  expect(row?.status).toBe('failed')
  await kernel.close()
  return { bench, ended }
}

function kinds(bench: Bench): readonly string[] {
  const row = bench.memory.find(to.workspace, to.id)
  return row?.journal.map(({ kind }) => kind) ?? []
}

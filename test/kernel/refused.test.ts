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

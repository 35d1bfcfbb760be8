// What an event does that needs nobody but the context is done before anything is stored, and without the body of the run.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { madeOf } from '../../src/authoring/definition.js'
import { machine } from '../../src/authoring/machine/machine.js'
import { machineProgram } from '../../src/authoring/machine/program.js'
import type { Kernel } from '../../src/kernel/api.js'
import type { ExecuteStep } from '../../src/kernel/attempt.js'
import type { KernelHost } from '../../src/kernel/engine.js'
import type { MessageId } from '../../src/model/ids.js'
import type { Program } from '../../src/model/program.js'
import { AROUND } from '../simulation/machines.js'
import { isFast } from '../support/databases.js'
import { Bench, start, to } from './bench.js'

interface Context {
  count: number
  readonly seen: string[]
}

type More = { readonly log: { info(text: string): void }; readonly [name: string]: unknown }
type Given = { readonly context: Context; readonly event: { readonly by?: number } } & More

const note =
  (what: string) =>
  ({ context }: Given): void =>
    void context.seen.push(what)

const add = ({ context, event }: Given): void => {
  context.count += event.by ?? 1
}

/** Its actions are new each time: nobody has seen yet what they do. */
function doorProgram(): Program {
  const never = { guard: () => false, target: 'shut' }
  const both = {
    ADD: { actions: (given: Given) => add(given) },
    TWICE: { actions: [(given: Given) => add(given), (given: Given) => add(given)] },
    wait: { actions: (given: Given) => add(given) },
    GROWS: { actions: ({ context }: Given) => void context.seen.push('x'.repeat(1_000)) },
    NEVER: never,
    BAD_GUARD: { guard: () => 'yes' as never, target: 'shut' },
    SAYS: { actions: ({ context, log }: Given) => void log.info(String(context.count)) },
    COPIES: {
      actions: ({ context, ...rest }: Given) => {
        context.seen.push(Object.keys(rest).sort().join())
      },
    },
    CATCHES: {
      actions: (given: Given) => {
        try {
          given.log.info('caught')
          given.context.seen.push('it is there')
        } catch {
          given.context.seen.push('it is not there')
        }
      },
    },
    LATER: { actions: async (given: Given) => add(given) },
    FAILS: {
      actions: ({ context }: Given) => {
        context.count += 100
        // Who has called it is not the same.
        if (context.count % 2 === 1) throw Object.assign(new Error('odd'), { stack: '' })
      },
    },
    END: 'over',
    TIMEOUT: 'shut',
  }
  const door = machine('shop', {
    initial: 'open',
    context: { count: 0, seen: [] } as Context,
    states: {
      open: {
        entry: (given: Given) => note('in')(given),
        exit: (given: Given) => note('out')(given),
        timeoutMinutes: 5,
        on: { ...both, SHUT: 'shut', OPEN: never },
      },
      shut: {
        always: [{ guard: ({ context }: Given) => context.count % 5 === 0, target: 'open' }],
        on: { ...both, SHUT: never, OPEN: 'open' },
      },
      over: { final: true },
    },
  } as never)
  const made = madeOf(door)
  if (made?.kind !== 'machine') throw new Error('a machine was made of something else')
  return machineProgram(made, AROUND)
}

/** Whoever stands between a step and its code is asked for every step. */
const asked: ExecuteStep = ({ order, attempt }) => order.execute(attempt)

/** Said before it is in the mailbox of a run that has ended, or then. */
const OVER = 'the run is over'

type Act = { readonly send: string; readonly by?: number } | { readonly ms: number } | 'restart'

async function told(kernel: Kernel, act: { send: string; by?: number }, no: number) {
  const payload = act.by === undefined ? '{}' : JSON.stringify({ by: act.by })
  const call = { name: act.send, payload, id: `m${no}` as MessageId, withinMs: 0 }
  return kernel.trigger(to, call).then(
    ({ fate, reply }) => (fate === 'taken' ? [reply?.kind, reply?.payload] : OVER),
    (error: Error) => ((error as { code?: string }).code === 'RUN_FINISHED' ? OVER : error.message),
  )
}

/** All that is written down and all that is said of these acts. */
async function historyOf(acts: readonly Act[], execute?: ExecuteStep) {
  const bench = new Bench()
  const options = { build: 'a', closeGraceMs: 0, ...(execute && { execute }) }
  const open = () => bench.openProgram(doorProgram(), options)
  let kernel = await open()
  await kernel.start({ ...start, input: 'null' })
  await bench.pass(0)
  /** Whatever it takes: only then time goes on. */
  const settled = async () => {
    for (let i = 0; i < 4; i += 1) await bench.pass(0)
  }
  const answers: Promise<unknown>[] = []
  for (const [no, act] of acts.entries()) {
    if (act === 'restart') {
      await settled()
      await kernel.close()
      kernel = await open()
      await settled()
    } else if ('ms' in act) {
      await settled()
      await bench.pass(act.ms)
    } else answers.push(told(kernel, act, no))
  }
  await settled()
  const [row] = bench.memory.runs.values()
  const answered = await Promise.all(answers)
  await kernel.close()
  const { status, place, state, error } = row ?? {}
  const is = {
    journal: row?.journal.map(({ epoch: _, ...entry }) => entry),
    messages: row?.messages.flatMap(({ id, no, takenSeq, replySeq }) =>
      takenSeq ? [[id, no, replySeq]] : [],
    ),
    shown: { status, place, state, error },
    answered,
  }
  const { 'message.reacted': reacted, 'message.unbrought': unbrought } = bench.counters
  return { is, reacted, unbrought }
}

const SENT = ['ADD', 'ADD', 'TWICE', 'wait', 'SHUT', 'OPEN', 'NEVER', 'BAD_GUARD', 'SAYS', 'COPIES']
const acts = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: fc.record({ send: fc.constantFrom(...SENT), by: fc.nat(9) }) },
    {
      weight: 3,
      arbitrary: fc.record({ send: fc.constantFrom('LATER', 'FAILS', 'CATCHES', 'TIMEOUT') }),
    },
    { weight: 1, arbitrary: fc.constant({ send: 'END' }) },
    { weight: 8, arbitrary: fc.record({ ms: fc.constantFrom(0, 1, 200, 400_000) }) },
    { weight: 1, arbitrary: fc.constant('restart' as const) },
  ),
  { minLength: 4, maxLength: 30, size: 'max' },
)

test('is written down and answered as if the body had been asked, whatever comes in whatever order', async () => {
  let reacted = 0
  const property = fc.asyncProperty(acts, async (all) => {
    // The first of each kind shows what its actions do.
    const own = await historyOf(all)
    const body = await historyOf(all, asked)
    expect(body.reacted).toBe(0)
    expect(own.is).toEqual(body.is)
    reacted += own.reacted
  })
  const numRuns = isFast() ? 30 : 150
  await fc.assert(property, { numRuns })
  expect(reacted).toBeGreaterThan(numRuns / 4)
})

const events = (send: string, count: number): Act[] =>
  Array.from({ length: count }, () => [{ send }, { ms: 0 }]).flat()

test('begins with the second event of a kind: the first has shown that its actions keep inside the context', async () => {
  const { reacted, unbrought, is } = await historyOf([{ ms: 0 }, ...events('ADD', 5)])
  expect([reacted, unbrought]).toEqual([4, 0])
  expect(is.shown.state).toBe('{"count":5,"seen":["in"]}')
})

test.each(['SAYS', 'COPIES', 'CATCHES', 'LATER', 'FAILS', 'BAD_GUARD', 'END'])(
  'is not done for %s, which needs more, is refused, fails or ends the run',
  async (send) => {
    const all = [{ ms: 0 }, { send: 'ADD' }, ...events(send, 3)]
    const { reacted, is } = await historyOf(all)
    expect(reacted).toBe(0)
    expect(is).toEqual((await historyOf(all, asked)).is)
    expect(is.shown.state).not.toContain('it is not there')
  },
)

test('what needs the body, behind what did not, keeps its place before what comes next', async () => {
  const first: Act[] = [{ ms: 0 }, ...events('ADD', 3)]
  const burst: Act[] = ['LATER', 'ADD', 'LATER', 'ADD', 'ADD'].map((send) => ({ send }))
  const { reacted, is } = await historyOf([...first, ...burst])
  const { messages, journal } = is
  expect(reacted).toBeGreaterThan(1)
  const inOrder = burst.map((_, i) => `m${i + first.length}`)
  expect(messages?.slice(-5).map(([id]) => id)).toEqual(inOrder)
  const taken = journal?.flatMap(({ kind, meta }) => (kind === 'message.taken' ? [meta?.id] : []))
  expect(taken?.slice(-5)).toEqual(inOrder)
})

test('an action that needs more is a step for ever, and does not hold up the others of its machine', async () => {
  const mixed: Act[] = [...events('SAYS', 2), ...events('ADD', 3)]
  const { reacted } = await historyOf([{ ms: 0 }, ...mixed])
  expect(reacted).toBe(2)
})

test('where the body was missed it is asked for a while: loading it costs more than was saved', async () => {
  const known: Act[] = [{ ms: 0 }, ...events('LATER', 1), ...events('ADD', 3)]
  const after = async (count: number) =>
    (await historyOf([...known, ...events('LATER', 1), ...events('ADD', count)])).reacted
  expect(await after(8)).toBe(2)
  expect(await after(12)).toBe(6)
})

test('what it keeps in memory is counted, and what is past is not', async () => {
  const bench = new Bench()
  const kernel = await bench.openProgram(doorProgram(), { build: 'a', closeGraceMs: 0 })
  await kernel.start({ ...start, input: 'null' })
  for (let no = 0; no < 21; no += 1) {
    await bench.pass(0)
    await Promise.all([told(kernel, { send: 'GROWS' }, no), bench.pass(0)])
  }
  const [row] = bench.memory.runs.values()
  const resident = row && (kernel as KernelHost).host.frames.residents.has(row.uid)
  expect(bench.counters['message.reacted']).toBe(20)
  expect(resident?.bytes).toBeGreaterThan(21_000)
  expect(resident?.bytes).toBeLessThan(2 * 21_000)
  await kernel.close()
})

test('an event that is called as the wait is the body’s, which tells the two apart', async () => {
  const { reacted, is } = await historyOf([{ ms: 0 }, ...events('ADD', 3), ...events('wait', 2)])
  expect(reacted).toBe(2)
  const steps = is.journal?.filter(({ kind }) => kind === 'step.completed')
  expect(steps?.at(-1)).toMatchObject({ name: '@6/wait', occurrence: 2 })
})

test('of a burst only so much is worked out at once as may wait to be stored', async () => {
  const bench = new Bench()
  const kernel = await bench.openProgram(doorProgram(), { build: 'a', closeGraceMs: 0 })
  await kernel.start({ ...start, input: 'null' })
  await bench.pass(0)
  for (const no of [0, 1, 2]) {
    const sent = told(kernel, { send: 'ADD' }, no)
    await bench.pass(0)
    await sent
  }
  const before = bench.memory.runs.values().next().value?.journal.length ?? 0
  bench.holdCommits()
  const sent = Array.from({ length: 400 }, (_, i) => told(kernel, { send: 'ADD' }, 10 + i))
  await bench.pass(0)
  bench.releaseCommits()
  await bench.pass(0)
  await Promise.all(sent)
  const [row] = bench.memory.runs.values()
  expect(row?.journal.length).toBe(before + 4 * 400)
  expect(Math.max(...bench.turnEntries)).toBeLessThanOrEqual(1_000)
  await kernel.close()
})

/** Counts three times, then an event is on its way, and nobody but its sender knows it, when the process loses its lease. */
async function lostOnItsWay() {
  const bench = new Bench()
  const kernel = await bench.openProgram(doorProgram(), { build: 'a', closeGraceMs: 0 })
  await kernel.start({ ...start, input: 'null' })
  await bench.pass(0)
  const add = (by: number) =>
    kernel.trigger(to, { name: 'ADD', payload: JSON.stringify({ by }), id: null, withinMs: 0 })
  for (const by of [1, 1, 1]) {
    const counted = add(by)
    await bench.pass(0)
    await counted
  }
  bench.holdCommits()
  const sent = add(100)
  await bench.pass(0)
  bench.memory.workers.clear()
  await bench.pass(15_000)
  // Behind the first, whatever becomes of that.
  const next = add(1_000)
  await bench.pass(0)
  return { bench, kernel, sent, next }
}

function addedIn(bench: Bench): readonly unknown[] {
  const [row] = bench.memory.runs.values()
  const taken = row?.journal.filter(({ kind }) => kind === 'message.taken') ?? []
  return taken.map(({ payload }) => JSON.parse(payload ?? '{}').by)
}

test('an event that nobody else knows counts once, also if it is stored when its frame is lost', async () => {
  const { bench, kernel, sent, next } = await lostOnItsWay()
  expect(bench.counters['worker.reborn']).toBe(1)
  bench.releaseCommits()
  for (let i = 0; i < 5; i += 1) await bench.pass(1_000)
  for (const one of [sent, next])
    expect(await one).toMatchObject({ fate: 'taken', reply: { kind: 'step.completed' } })
  expect(addedIn(bench)).toEqual([1, 1, 1, 100, 1_000])
  // Of those that it has reacted to nothing is left but what they have done.
  const [row] = bench.memory.runs.values()
  expect(row?.messages.map(({ no }) => no)).toEqual([1, 5])
  await kernel.close()
})

test('and if it is not stored it goes as any other, before what came behind it', async () => {
  const { bench, kernel, sent, next } = await lostOnItsWay()
  const [row] = bench.memory.runs.values()
  if (row) row.epoch += 1
  bench.releaseCommits()
  for (let i = 0; i < 5; i += 1) await bench.pass(1_000)
  for (const one of [sent, next])
    expect(await one).toMatchObject({ fate: 'taken', reply: { kind: 'step.completed' } })
  expect(addedIn(bench)).toEqual([1, 1, 1, 100, 1_000])
  expect(row?.messages.map(({ no }) => no)).toEqual([1, 4, 5])
  await kernel.close()
})

test('who has been told that it is unknown sends nothing on, whatever comes of it', async () => {
  const bench = new Bench()
  const kernel = await bench.openProgram(doorProgram(), { build: 'a', closeGraceMs: 0 })
  await kernel.start({ ...start, input: 'null' })
  await bench.pass(0)
  for (const no of [0, 1, 2]) {
    const sent = told(kernel, { send: 'ADD' }, no)
    await bench.pass(0)
    await sent
  }
  bench.holdCommits()
  const sent = told(kernel, { send: 'ADD', by: 100 }, 3)
  await bench.pass(0)
  await bench.pass(30_001)
  expect(await sent).toContain('did not say whether it has stored this')
  const [row] = bench.memory.runs.values()
  if (row) row.epoch += 1
  bench.releaseCommits()
  for (let i = 0; i < 5; i += 1) await bench.pass(1_000)
  expect(addedIn(bench)).not.toContain(100)
  await kernel.close()
})

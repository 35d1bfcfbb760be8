// A run whose body is not here does what its body would do, where rounds are unusual and values large.

import { expect, test } from 'vitest'
import { madeOf } from '../../src/authoring/definition.js'
import { machine } from '../../src/authoring/machine/machine.js'
import { machineProgram } from '../../src/authoring/machine/program.js'
import type { ExecuteStep } from '../../src/kernel/attempt.js'
import type { KernelHost } from '../../src/kernel/engine.js'
import type { MessageId } from '../../src/model/ids.js'
import type { Program } from '../../src/model/program.js'
import { AROUND } from '../simulation/machines.js'
import { Bench, start, to } from './bench.js'

type Given = {
  readonly context: { count: number }
  start(child: string, input: unknown, options: object): Promise<unknown>
}

const add = ({ context }: Given): void => {
  context.count += 1
}

const shop = (): Program => {
  const made = madeOf(
    machine('shop', {
      initial: 'open',
      context: { count: 0 },
      states: {
        open: {
          on: {
            ADD: { actions: (given: Given) => add(given) },
            BEAR: { actions: async (given: Given) => void (await given.start('kid', 1, KID)) },
          },
        },
      },
    } as never),
  )
  if (made?.kind !== 'machine') throw new Error('a machine was made of something else')
  return machineProgram(made, AROUND)
}
const KID = { id: 'kid-1' }
const kid: Program = { name: 'kid', version: '1', style: 'function', body: async () => '1' }
/** Whoever stands between a step and its code is asked for every step: nothing is done without the body. */
const BODIES: readonly (ExecuteStep | undefined)[] = [
  undefined,
  ({ order, attempt }) => order.execute(attempt),
]

async function opened(execute: ExecuteStep | undefined) {
  const bench = new Bench()
  const programs = [shop(), kid]
  const options = { build: 'a', closeGraceMs: 0, programs, ...(execute && { execute }) }
  const kernel = (await bench.openProgram(shop(), options)) as KernelHost
  const settled = async (ms = 0) => {
    for (let i = 0; i < 6; i += 1) await bench.pass(ms)
  }
  await kernel.start({ ...start, input: 'null' })
  await settled()
  let no = 0
  const send = async (name: string, payload = '{}') => {
    no += 1
    const called = kernel.trigger(to, { name, payload, id: `m${no}` as MessageId, withinMs: 0 })
    await settled()
    return called
  }
  return { bench, kernel, send, settled }
}

test.each(BODIES)(
  'a wait that is the second of its round is told apart from the first, and the run can be forked there (%s)',
  async (execute) => {
    const { bench, kernel, send, settled } = await opened(execute)
    for (const name of ['ADD', 'BEAR']) await send(name)
    await settled(1_000) // the child ends, and the machine waits once more
    await send('ADD')
    const row = [...bench.memory.runs.values()].find(({ run }) => run.definition === 'shop')
    const journal = row?.journal ?? []
    const at = journal.findLast(({ kind }) => kind === 'step.completed')?.seq ?? 0
    expect(journal[at - 2]).toMatchObject({ kind: 'message.taken', occurrence: 2 })
    for (const from of [at, at - 1]) {
      const order = { from, input: null, outputs: {}, id: null }
      const { id } = await kernel.operations.fork(to, order)
      await settled(1_500)
      const fork = [...bench.memory.runs.values()].find(({ run }) => run.id === id)
      expect([fork?.reason, fork?.state]).toEqual(['signal', '{"count":2}'])
    }
    await kernel.close()
  },
)

test.each(BODIES)(
  'a payload as deep as may be is too deep inside what a transition leaves (%s)',
  async (execute) => {
    const { bench, kernel, send } = await opened(execute)
    const nested = (depth: number) => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`
    const kinds: unknown[] = []
    for (const depth of [1, 1, 62, 63]) kinds.push((await send('ADD', nested(depth))).reply?.kind)
    expect(kinds).toEqual(['step.completed', 'step.completed', 'step.completed', 'step.failed'])
    expect(bench.counters['message.reacted']).toBe(execute ? 0 : 2)
    await kernel.close()
  },
)

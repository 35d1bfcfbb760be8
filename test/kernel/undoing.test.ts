import { expect, test } from 'vitest'
import type { StepOrder, Turn } from '../../src/model/program.js'
import { NO_RETRY } from '../../src/model/retry.js'
import { Bench, start, to } from './bench.js'

/** Steps that can be undone; what `slow` did is undone when the test lets it. */
class Trip {
  readonly bench = new Bench()
  readonly undone: string[] = []
  private gates: (() => void)[] = []

  step(turn: Turn, name: string, slow = false): Promise<string> {
    const order: StepOrder = {
      label: 'inline',
      retry: NO_RETRY,
      timeoutMs: null,
      execute: async () => ({ value: '1' }),
      undo: async () => {
        this.undone.push(name)
        if (slow) await new Promise<void>((resolve) => this.gates.push(resolve))
        return { value: '' }
      },
    }
    return turn.step(name, order)
  }

  release(): void {
    for (const open of this.gates.splice(0)) open()
  }

  async pass(times: number): Promise<void> {
    for (let i = 0; i < times; i += 1) await this.bench.pass(10)
  }

  get row() {
    return this.bench.memory.find(to.workspace, to.id)
  }
}

/** Fails, and is undone slowly. */
const failing = (trip: Trip, turn: Turn): Promise<string> =>
  turn.scope('hotel', { until: null }, async (inner) => {
    await trip.step(inner, 'room', true)
    throw new Error('no breakfast')
  })

test('a scope that fails for what is inside it is undone too before the run around ends well', async () => {
  const trip = new Trip()
  const kernel = await trip.bench.open('one', async (turn) => {
    const all = turn.scope('trip', { until: null }, async (inner) => {
      await trip.step(inner, 'flight')
      return failing(trip, inner)
    })
    await Promise.race([all, turn.sleep('hurry', { afterMs: 5 })])
    return '"went on"'
  })
  await kernel.start(start)
  await trip.pass(5)
  expect([trip.undone, trip.row?.status]).toEqual([['room'], 'running'])
  trip.release()
  await trip.pass(5)
  expect([trip.undone, trip.row?.status]).toEqual([['room', 'flight'], 'completed'])
  const ends = trip.row?.journal.filter(({ kind }) => kind === 'scope.ended')
  expect(ends?.map(({ name }) => name)).toEqual(['trip/hotel', 'trip'])
  await kernel.close()
})

test('a run does not wait for a scope that one around it has taken over, and keeps nothing of it', async () => {
  const trip = new Trip()
  const kept: number[] = []
  const kernel = await trip.bench.open('one', async (turn) => {
    const { undos } = turn as unknown as { undos: { undoing: Set<unknown> | null } }
    return turn.loop('trips', '0', async (round, state) => {
      const quick = (inner: Turn) => inner.sleep('hurry', { afterMs: 15 }).then(() => '1')
      await round.race(
        'first',
        new Map([
          ['quick', quick],
          ['slow', (inner: Turn) => failing(trip, inner)],
        ]),
      )
      kept.push(undos.undoing?.size ?? 0)
      return { value: String(Number(state) + 1), done: state === '9' }
    })
  })
  await kernel.start(start)
  for (let i = 0; i < 60; i += 1) {
    await trip.pass(1)
    if (i % 4 === 3) trip.release()
  }
  expect([trip.undone.length, trip.row?.status]).toEqual([10, 'completed'])
  expect(kept.length).toBeGreaterThanOrEqual(10)
  expect(Math.max(...kept)).toBeLessThanOrEqual(1)
  await kernel.close()
})

test('a process that was taken for dead takes nothing before it has joined again', async () => {
  const bench = new Bench()
  const ran: string[] = []
  const executing = (by: string) => (turn: Turn) => {
    const execute: StepOrder['execute'] = () => {
      ran.push(by)
      return new Promise(() => {})
    }
    return turn.step('long', { label: 'inline', retry: NO_RETRY, timeoutMs: null, execute })
  }
  const one = await bench.open('one', executing('one'))
  const two = await bench.open('two', executing('two'))
  await bench.pass(1_000)
  const { memory } = bench
  const first = [...memory.workers.keys()][0]
  if (first) memory.workers.delete(first)
  const join = memory.join.bind(memory)
  let answer = (): void => {}
  memory.join = (by) =>
    new Promise((resolve, reject) => {
      answer = () => void join(by).then(resolve, reject)
    })
  await bench.pass(1_000)
  await one.start(start)
  for (let i = 0; i < 5; i += 1) await bench.pass(1_000)
  expect(ran).toEqual(['two'])
  expect(memory.find(to.workspace, to.id)).toMatchObject({ epoch: 1, crashes: 0 })
  answer()
  await bench.pass(10)
  await Promise.all([one.close(), two.close()])
})

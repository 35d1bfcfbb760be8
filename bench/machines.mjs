// W10: events sent to event machines, to many of them and to one, next to two ways of doing it by hand (locked.mjs). And a machine
// that goes from place to place by itself.

import { createEngine, machine } from '../dist/index.js'
import { PAYLOAD } from './user-code.mjs'
import { after } from './workloads.mjs'

export const MACHINES = 1_000
export const SENDERS = 500
const PLACES = 50

const add = ({ context }) => {
  context.count += 1
}

/** For all three: each event leads to the other state. */
const definition = {
  initial: 'open',
  context: { count: 0, payload: PAYLOAD },
  states: {
    open: { on: { ADD: { target: 'held', actions: add } } },
    held: { on: { ADD: { target: 'open', actions: add } } },
  },
}
const counting = machine('counting', definition)
const ADD = { type: 'ADD' }

const walking = machine('walking', {
  transitions: Object.fromEntries(
    Array.from({ length: PLACES }, (_, i) => [
      `step${i}`,
      {
        from: i === 0 ? 'start' : `place${i}`,
        to: i === PLACES - 1 ? 'end' : `place${i + 1}`,
        run: async () => ({ payload: PAYLOAD }),
      },
    ]),
  ),
})

export async function machines({ url, seconds }) {
  const engine = await createEngine({
    database: url,
    workflows: [counting, walking],
    worker: { concurrency: MACHINES },
  })
  const { leanMachines, patternMachines } = await import('./locked.mjs')
  const sides = {
    perdure: { send: (no) => engine.send(counting, `m${no}`, ADD), close: () => {} },
    pattern: await patternMachines(url, definition),
    lean: await leanMachines(url, definition),
  }
  const figures = {}
  for (const [name, { send, close }] of Object.entries(sides)) {
    const sendTo = (no) => send(no, ADD)
    // All of them are there, and warm, before it counts.
    await firstEvents(sendTo)
    await rate(sendTo, MACHINES, seconds)
    figures[`${name}Many`] = await rate(sendTo, MACHINES, seconds)
    figures[`${name}One`] = await rate(sendTo, 1, seconds)
    await close()
  }
  return { ...figures, transitions: await walks(engine, seconds) }
}

async function firstEvents(send) {
  const lane = async (_, at) => {
    for (let i = at; i < MACHINES; i += SENDERS) await send(i)
  }
  await Promise.all(Array.from({ length: SENDERS }, lane))
}

/** Events per second, each sender one after the other. */
async function rate(send, machinesCount, seconds) {
  const isOver = after(seconds)
  let sent = 0
  const from = performance.now()
  const sender = async (_, lane) => {
    for (let i = lane; !isOver(); i += SENDERS) {
      await send(i % machinesCount)
      sent += 1
    }
  }
  await Promise.all(Array.from({ length: SENDERS }, sender))
  return (sent * 1000) / (performance.now() - from)
}

async function walks(engine, seconds) {
  const isOver = after(seconds)
  let walked = 0
  const from = performance.now()
  const lane = async () => {
    while (!isOver()) {
      await (await engine.start(walking)).result()
      walked += PLACES
    }
  }
  await Promise.all(Array.from({ length: SENDERS }, lane))
  return (walked * 1000) / (performance.now() - from)
}

// Machines whose code changes while runs are on their way.

import { expect, onTestFinished, test } from 'vitest'
import { composeEngine } from '../../src/compose-engine.js'
import { readEngineOptions } from '../../src/engine/options.js'
import { type Definition, type Engine, machine } from '../../src/index.js'
import { openMemory } from '../../src/open-store.js'
import { eventually } from '../support/world.js'

const quiet = { debug() {}, info() {}, warn() {}, error() {} }

/** Engines on one store, one after the other. */
async function deploys() {
  const opened = await openMemory()
  return async (definition: Definition): Promise<Engine> => {
    const given = { database: 'memory:', workflows: [definition], log: quiet }
    const engine = await composeEngine(readEngineOptions(given, {}), { opened })
    onTestFinished(() => engine.close())
    return engine
  }
}

const review = (place: string, how: string) =>
  machine('review', {
    transitions: {
      ...(how !== 'first' && { prepare: { to: 'prepared', run: async () => ({ how }) } }),
      write: {
        ...(how !== 'first' && { from: 'prepared' }),
        to: place,
        run: async () => ({ how }),
      },
      approve: { from: place, to: 'end', wait: true, run: async (state) => `${state.how}, ${how}` },
    },
  })

async function waiting(definition: Definition, engine: Engine) {
  await engine.start(definition, undefined, { id: 'r' })
  await eventually(async () => (await engine.get('r'))?.status).toBe('waiting')
  await engine.close()
}

test('a machine goes on with new code from the place where it is, whatever has changed behind it', async () => {
  const deploy = await deploys()
  const before = review('reviewing', 'first')
  await waiting(before, await deploy(before))
  const engine = await deploy(review('reviewing', 'second'))
  await engine.trigger('r', 'approve')
  expect(await engine.handle('review', 'r').result()).toBe('first, second')
})

test('a machine whose place is gone waits as diverged, and goes on when it is back', async () => {
  const deploy = await deploys()
  const before = review('reviewing', 'first')
  await waiting(before, await deploy(before))
  const renamed = await deploy(review('checking', 'second'))
  await renamed.signal('r', 'approve')
  await eventually(async () => renamed.get('r')).toMatchObject({
    status: 'waiting',
    reason: 'diverged',
    place: 'reviewing',
  })
  expect((await renamed.explain('r')).sentence).toContain('no longer matches')
  await renamed.close()
  const again = await deploy(review('reviewing', 'third'))
  await eventually(async () => (await again.get('r'))?.status).toBe('completed')
  expect(await again.handle('review', 'r').result()).toBe('first, third')
})

test('a machine that waits takes the transitions that new code adds to its place', async () => {
  const deploy = await deploys()
  const before = review('reviewing', 'first')
  await waiting(before, await deploy(before))
  const more = machine('review', {
    transitions: {
      write: { to: 'reviewing', run: async () => {} },
      approve: { from: 'reviewing', to: 'end', wait: true, run: async () => 'approved' },
      reject: { from: 'reviewing', to: 'end', wait: true, run: async () => 'rejected' },
    },
  })
  const engine = await deploy(more)
  expect(await engine.trigger('r', 'reject')).toMatchObject({ place: 'end', output: 'rejected' })
})

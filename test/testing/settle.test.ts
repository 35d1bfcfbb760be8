// What the kit says when a test cannot go on.

import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { workflow } from '../../src/index.js'
import { createTestEngine } from '../../src/testing/index.js'
import { refusalOf } from '../support/world.js'
import { open, quiet } from './kit.js'

const never = (): Promise<never> => new Promise(() => {})

test('a body that awaits a timer of its own is named, with its run and the step before', async () => {
  const foreign = workflow('foreign', async (wf) => {
    await wf.do('first', () => 1)
    await never()
    await wf.do('second', () => 2)
  })
  const engine = await open([foreign], { patience: '50ms' })
  const run = await engine.start(foreign, undefined, { id: 'f-1' })
  const error = await refusalOf(engine.settle())
  expect(error).toMatchObject({ code: 'FOREIGN_AWAIT', runId: 'f-1', step: 'first' })
  expect(error.message).toBe(
    'Run f-1: the function of "foreign" has awaited something that is not a step of it for 50 ms of real time, behind step "first".',
  )
  expect(error.hint).toContain('wf.do')
  expect(await run.status()).toBe('running')
})

test('a body that awaits something before its first step is named too', async () => {
  const foreign = workflow('foreign', () => never())
  const engine = await open([foreign], { patience: '50ms' })
  await engine.start(foreign, undefined, { id: 'f-2' })
  const error = await refusalOf(engine.advance('1h'))
  expect(error).toMatchObject({ code: 'FOREIGN_AWAIT', runId: 'f-2' })
  expect(error.message).toContain('before its first step')
})

test('a step that does not end is named, with its run', async () => {
  const hanging = workflow('hanging', (wf) => wf.do('call the bank', never))
  const engine = await open([hanging], { patience: '50ms' })
  await engine.start(hanging, undefined, { id: 'h-1' })
  const error = await refusalOf(engine.settle())
  expect(error).toMatchObject({ code: 'NOT_SETTLED', runId: 'h-1', step: 'call the bank' })
  expect(error.message).toBe(
    'Step "call the bank" of run h-1 ("hanging") still runs after 50 ms of real time.',
  )
  expect(error.hint).toContain('engine.stub')
})

test('a step that is only slow is waited for', async () => {
  const slow = workflow('slow', async (wf) => {
    await wf.do('wait', () => sleep(150))
    return wf.do('and again', () => sleep(150, 'done'))
  })
  const engine = await open([slow], { patience: '30s' })
  const run = await engine.start(slow)
  await engine.settle()
  expect(await run.status()).toBe('completed')
})

test('a body that awaits a short timer of its own is waited for', async () => {
  const foreign = workflow('foreign', async (wf) => {
    await sleep(50)
    return wf.do('go on', () => 'done')
  })
  const engine = await open([foreign], { patience: '30s' })
  const run = await engine.start(foreign)
  await engine.settle()
  expect(await run.status()).toBe('completed')
})

test('an engine that does not come to rest says so', async () => {
  const next = workflow('next', (wf) => wf.do('only', () => 1))
  const engine = await open([next], { patience: '50ms' })
  const stop = engine.on('run.completed', () => engine.start(next))
  onTestFinished(stop)
  await engine.start(next)
  const error = await refusalOf(engine.settle())
  expect(error.code).toBe('NOT_SETTLED')
  expect(error.message).toMatch(/does not come to rest.* after 10000 ms/)
})

test('advance refuses what is no duration', async () => {
  const engine = await open([])
  for (const by of ['2 dayz', -1, 1.5, '300000y', undefined]) {
    expect(await refusalOf(engine.advance(by as '2d'))).toMatchObject({ code: 'DURATION_INVALID' })
  }
  await engine.advance('0s')
})

test('a closed engine says so', async () => {
  const engine = await createTestEngine({ workflows: [], log: quiet })
  await engine.close()
  for (const call of [engine.settle, () => engine.advance('1d'), engine.crash]) {
    expect(await refusalOf(call())).toMatchObject({ code: 'ENGINE_CLOSED' })
  }
  expect(() => engine.crashAt('x')).toThrow('closed')
  expect(() => engine.stub({} as never, () => 1 as never)).toThrow('closed')
  await engine.close()
})

test('closing does not wait for what hangs', async () => {
  const hanging = workflow('hanging', (wf) => wf.do('hang', never))
  const inside = workflow('inside', (wf) => wf.transaction('hang', never))
  const engine = await createTestEngine({ workflows: [hanging, inside], log: quiet })
  await engine.start(hanging, undefined, { id: 'h' })
  await engine.start(inside, undefined, { id: 'i' })
  await expect.poll(() => engine.executions('h', 'hang') + engine.executions('i', 'hang')).toBe(2)
  await engine.close()
})

test.each([
  [{ database: 'postgres://localhost/prod' }, 'each test engine has a database of its own'],
  [{ schema: 'mine' }, 'each test engine has a database of its own'],
  [{ now: new Date(Number.NaN) }, 'a valid Date'],
  [{ now: 12345 }, 'a valid Date'],
  [{ seed: 'x' }, 'a number'],
  [{ patience: 'long' }, 'not a duration'],
  [{ workfows: [] }, 'Unknown option "workfows"'],
  [[], 'an object'],
])('createTestEngine refuses %j', async (options, message) => {
  const error = await refusalOf(createTestEngine(options as never))
  expect(error.message).toContain(message)
})

test('the environment of the process is not looked at', async () => {
  const before = process.env.DATABASE_URL
  process.env.DATABASE_URL = 'postgres://nowhere.invalid/db'
  try {
    const engine = await open([])
    expect(await engine.get('nothing')).toBe(null)
  } finally {
    if (before === undefined) delete process.env.DATABASE_URL
    else process.env.DATABASE_URL = before
  }
})

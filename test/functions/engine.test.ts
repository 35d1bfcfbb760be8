// The public calls, on the real kernel and the store in memory.

import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { composeEngine, type Instead } from '../../src/compose-engine.js'
import { readEngineOptions } from '../../src/engine/options.js'
import type { Engine } from '../../src/engine/types.js'
import {
  type Definition,
  PerdureError,
  type Schema,
  task,
  typed,
  workflow,
} from '../../src/index.js'
import { openMemory } from '../../src/open-store.js'
import { isFast } from '../support/databases.js'

interface Logged {
  readonly lines: string[]
}

async function open<const W extends readonly Definition[]>(
  workflows: W,
  kernel: Instead['kernel'] = {},
): Promise<Engine<W> & Logged> {
  const lines: string[] = []
  const say = (level: string) => (message: string) => void lines.push(`${level}: ${message}`)
  const log = { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }
  const settings = readEngineOptions({ database: 'memory:', workflows, log }, {})
  const engine = await composeEngine(settings, { opened: await openMemory(), kernel })
  onTestFinished(() => engine.close())
  return Object.assign(engine as Engine<W>, { lines })
}

const caught = async (promise: Promise<unknown>): Promise<PerdureError> => {
  const error: unknown = await promise.then(
    () => new Error('it did not reject'),
    (reason: unknown) => reason,
  )
  if (!PerdureError.is(error)) throw error
  return error
}

const positive: Schema<{ n: number }, { n: number; checked: true }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: async (value) => {
      const { n } = (value ?? {}) as { n?: unknown }
      return typeof n === 'number' && n > 0
        ? { value: { n, checked: true as const } }
        : { issues: [{ message: 'must be positive', path: ['n'] }] }
    },
  },
}

const double = task('double', async (n: number) => n * 2)
const add = workflow('add', async (wf, input: { a: number; b: number }) => {
  const a = await wf.do('twice', double, input.a)
  const b = await wf.do('inline', () => input.b * 2)
  return a + b
})
const approval = workflow(
  'approval',
  { signals: { approve: positive, note: typed<string>() } },
  async (wf) => wf.waitFor('approve'),
)
const failing = workflow('failing', async (wf) =>
  wf.do('charge', () => Promise.reject(new TypeError('card network down'))),
)
const sleeping = workflow('sleeping', async (wf) => wf.sleep('long', '7d'))

describe('start', () => {
  test('gives a handle whose result is the output', async () => {
    const engine = await open([add, double])
    const run = await engine.start(add, { a: 1, b: 2 }, { id: 'r-1' })
    expect([run.id, await run.result(), await run.status()]).toEqual(['r-1', 6, 'completed'])
    expect(await (await engine.start('add', { a: 2, b: 2 })).result()).toBe(8)
  })

  test('with the same id and input is the same run, with another input it is refused', async () => {
    const engine = await open([add, double])
    await engine.start(add, { a: 1, b: 2 }, { id: 'r-1' })
    expect((await engine.start(add, { a: 1, b: 2 }, { id: 'r-1' })).id).toBe('r-1')
    expect((await caught(engine.start(add, { a: 9, b: 2 }, { id: 'r-1' }))).code).toBe('ID_TAKEN')
  })

  test('stores what the schema made of the input, and refuses what does not fit', async () => {
    const checked = workflow('checked', { input: positive }, async (_wf, input) => input)
    const engine = await open([checked])
    expect(await (await engine.start(checked, { n: 1 })).result()).toEqual({ n: 1, checked: true })
    const error = await caught(engine.start(checked, { n: -1 }, { id: 'no' }))
    expect(error).toMatchObject({ code: 'INPUT_INVALID', details: { issues: [{ path: ['n'] }] } })
    expect(await engine.get('no')).toBeNull()
  })

  test.each([
    { options: { idd: 'x' }, code: 'OPTION_UNKNOWN' },
    { options: { id: '' }, code: 'ID_INVALID' },
    { options: { id: 'a b' }, code: 'ID_INVALID' },
    { options: { workspace: 'a b' }, code: 'NAME_INVALID' },
    { options: { tags: { a: 5 } }, code: 'OPTION_INVALID' },
    { options: { priority: 10 }, code: 'OPTION_INVALID' },
    { options: { delay: 'soon' }, code: 'DURATION_INVALID' },
    { options: { timeout: 0 }, code: 'OPTION_INVALID' },
    { options: 5, code: 'OPTION_INVALID' },
  ])('refuses $options', async ({ options, code }) => {
    const engine = await open([sleeping])
    expect((await caught(engine.start(sleeping, undefined, options as object))).code).toBe(code)
    expect((await engine.list()).items).toEqual([])
  })

  test('refuses what is no definition and no name', async () => {
    const engine = await open([])
    expect((await caught(engine.start({} as never))).code).toBe('DEFINITION_UNKNOWN')
    expect((await caught(engine.start(class {} as never))).code).toBe('DEFINITION_UNKNOWN')
    expect((await caught(engine.start('a b' as never))).code).toBe('DEFINITION_UNKNOWN')
  })

  test('takes the timeout of the workflow, unless it has its own', async () => {
    const limited = workflow('limited', { timeout: '50ms' }, async (wf) => wf.sleep('long', '7d'))
    const engine = await open([limited])
    const error = await caught((await engine.start(limited)).result())
    expect(error.code).toBe('WORKFLOW_TIMED_OUT')
    const longer = await engine.start(limited, undefined, { timeout: '1h' })
    expect((await caught(longer.result({ timeout: 200 }))).code).toBe('WAIT_TIMED_OUT')
  })
})

describe('result', () => {
  test('of a failed run throws WORKFLOW_FAILED with the recorded error as its cause', async () => {
    const engine = await open([failing])
    const error = await caught((await engine.start(failing, undefined, { id: 'f' })).result())
    expect(error).toMatchObject({ code: 'WORKFLOW_FAILED', runId: 'f' })
    expect(error.message).toContain('card network down')
    expect(error.cause).toMatchObject({ name: 'TypeError', message: 'card network down' })
  })

  test('of a cancelled run throws WORKFLOW_CANCELLED with the reason', async () => {
    const engine = await open([sleeping])
    const run = await engine.start(sleeping)
    await run.cancel('not needed')
    const error = await caught(run.result())
    expect(error.code).toBe('WORKFLOW_CANCELLED')
    expect(error.message).toContain('not needed')
  })

  test('past its timeout throws WAIT_TIMED_OUT, and the run goes on', async () => {
    const engine = await open([sleeping])
    const run = await engine.start(sleeping)
    expect((await caught(run.result({ timeout: 20 }))).code).toBe('WAIT_TIMED_OUT')
    await vi.waitFor(async () => expect(await run.status()).toBe('waiting'))
  })

  test('rejects with the reason of an AbortSignal', async () => {
    const engine = await open([sleeping])
    const run = await engine.start(sleeping)
    const controller = new AbortController()
    const reason = new Error('enough')
    setTimeout(() => controller.abort(reason), 10)
    await expect(run.result({ signal: controller.signal })).rejects.toBe(reason)
    await expect(run.result({ signal: controller.signal })).rejects.toBe(reason)
  })

  test('of a handle to nothing, or to a run of another definition, throws RUN_NOT_FOUND', async () => {
    const engine = await open([sleeping, add, double])
    await engine.start(sleeping, undefined, { id: 's' })
    expect((await caught(engine.handle(sleeping, 'nothing').result())).code).toBe('RUN_NOT_FOUND')
    expect((await caught(engine.handle(add, 's').result())).code).toBe('RUN_NOT_FOUND')
    expect((await caught(engine.handle(add, 's').cancel())).code).toBe('RUN_NOT_FOUND')
    await expect.poll(() => engine.handle('sleeping', 's').status()).toBe('waiting')
  })
})

describe('signal', () => {
  test('passes the declared schema where it is sent', async () => {
    const engine = await open([approval])
    const run = await engine.start(approval, undefined, { id: 'a' })
    const refused = [run.signal('approve', { n: -1 }), engine.signal('a', 'approve', { n: -1 })]
    for (const sending of refused) {
      expect(await caught(sending)).toMatchObject({
        code: 'PAYLOAD_INVALID',
        details: { issues: [{ path: ['n'] }] },
      })
    }
    await engine.signal('a', 'approve', { n: 3 })
    expect(await run.result()).toEqual({ n: 3, checked: true })
  })

  test('of an undeclared name is kept, with a warning that names the nearest', async () => {
    const engine = await open([approval])
    const run = await engine.start(approval)
    await run.signal('aprove' as 'approve', { n: 1 })
    expect(engine.lines.filter((line) => line.startsWith('warn'))).toEqual([
      'warn: workflow "approval" declares no signal "aprove": did you mean "approve"?',
    ])
  })

  test('to nothing throws RUN_NOT_FOUND, to a finished run RUN_FINISHED', async () => {
    const engine = await open([approval, add, double])
    expect((await caught(engine.signal('nothing', 'approve', { n: 1 }))).code).toBe('RUN_NOT_FOUND')
    expect((await caught(engine.signal('nothing', 'other'))).code).toBe('RUN_NOT_FOUND')
    const run = await engine.start(add, { a: 1, b: 1 }, { id: 'done' })
    await run.result()
    expect((await caught(engine.signal('done', 'other'))).code).toBe('RUN_FINISHED')
  })

  test('twice with one id is delivered once', async () => {
    const twice = workflow('twice', async (wf) => [
      await wf.waitFor('go'),
      await wf.waitFor('go', { timeout: 50, orNull: true }),
    ])
    const engine = await open([twice])
    const run = await engine.start(twice)
    await run.signal('go', 1, { id: 'm' })
    await run.signal('go', 1, { id: 'm' })
    expect(await run.result()).toEqual([1, null])
  })
})

describe('retry', () => {
  test('runs the failed step again', async () => {
    let works = false
    const flaky = workflow('flaky', async (wf) =>
      wf.do('charge', () => (works ? 'paid' : Promise.reject(new Error('down')))),
    )
    const engine = await open([flaky])
    const run = await engine.start(flaky, undefined, { id: 'f' })
    await caught(run.result())
    expect(await run.get()).toMatchObject({
      status: 'failed',
      retryable: true,
      hasError: true,
      attempt: 1,
      error: { name: 'Error', message: 'down', step: 'charge', attempt: 1 },
    })
    works = true
    expect((await caught(engine.retry('f', { expectedAttempt: 7 }))).code).toBe('ATTEMPT_CHANGED')
    await engine.retry('f', { expectedAttempt: 1 })
    expect(await run.result()).toBe('paid')
    expect((await run.get()).attempt).toBe(2)
    expect((await caught(run.retry())).code).toBe('RUN_NOT_RETRYABLE')
  })
})

describe('get', () => {
  test('shows the run as it is', async () => {
    const engine = await open([add, double, sleeping])
    await (
      await engine.start(add, { a: 1, b: 2 }, { id: 'r', tags: { customer: 'acme' } })
    ).result()
    expect(await engine.get('r')).toMatchObject({
      id: 'r',
      workflow: 'add',
      version: '1',
      kind: 'workflow',
      workspace: 'default',
      parentId: null,
      input: { a: 1, b: 2 },
      output: 6,
      status: 'completed',
      error: null,
      hasError: false,
      tags: { customer: 'acme' },
      attempt: 1,
      createdAt: expect.any(Date),
      finishedAt: expect.any(Date),
    })
    const run = await engine.start(sleeping)
    await expect
      .poll(() => run.get())
      .toMatchObject({ status: 'waiting', reason: 'timer', until: expect.any(Date) })
  })

  test('of an unknown run is null', async () => {
    expect(await (await open([])).get('nothing')).toBeNull()
  })

  test('[P30] a run without code stays pending, and get and explain of it and of its parent name the task', async () => {
    const parent = workflow('parent', async (wf) => wf.do('call', 'elsewhere', 1))
    const engine = await open([parent])
    const run = await engine.start(parent, undefined, { id: 'p' })
    await expect
      .poll(() => run.get())
      .toMatchObject({
        status: 'waiting',
        reason: 'child',
        children: [{ workflow: 'elsewhere', status: 'pending' }],
      })
    const info = await run.get()
    const childId = info.status === 'waiting' ? (info.children?.[0]?.id ?? '') : ''
    expect(await engine.get(childId)).toMatchObject({
      workflow: 'elsewhere',
      kind: 'task',
      status: 'pending',
      parentId: 'p',
      input: 1,
    })
    expect((await engine.explain('p')).sentence).toContain(
      '"elsewhere", whose code no live worker has',
    )
    const explained = await engine.explain(childId)
    expect(explained.reason).toBe('missing-code')
    expect(explained.sentence).toContain('"elsewhere"')
  })
})

describe('list', () => {
  const filled = async () => {
    const engine = await open([add, double, failing, sleeping])
    const starts = []
    for (let i = 1; i <= 5; i += 1) {
      starts.push(
        await engine.start(add, { a: i, b: 0 }, { id: `a-${i}`, tags: { odd: String(i % 2) } }),
      )
    }
    await Promise.all(starts.map((run) => run.result()))
    await caught((await engine.start(failing, undefined, { id: 'f' })).result())
    const cancelled = await engine.start(sleeping, undefined, { id: 'c' })
    await cancelled.cancel()
    await caught(cancelled.result())
    await engine.start(sleeping, undefined, { id: 'other', workspace: 'acme' })
    return engine
  }

  test('gives a page when awaited and everything when iterated', async () => {
    const engine = await filled()
    const newest: string[] = []
    for await (const { id } of engine.list({ workflow: add, limit: 2 })) newest.push(id)
    expect([...newest].sort()).toEqual(['a-1', 'a-2', 'a-3', 'a-4', 'a-5'])
    const oldest = { workflow: add, order: 'oldest' } as const
    const page = await engine.list({ ...oldest, limit: 2 })
    const rest = await engine.list({ ...oldest, limit: 3, after: page.next ?? '' })
    expect([...page.items, ...rest.items].map(({ id }) => id)).toEqual(newest.toReversed())
    expect([page.items.length, rest.next]).toEqual([2, null])
  })

  test('filters', async () => {
    const engine = await filled()
    const ids = async (filter: Parameters<typeof engine.list>[0]) =>
      (await engine.list({ order: 'oldest', ...filter })).items.map(({ id }) => id)
    expect(await ids({ status: 'failed' })).toEqual(['f'])
    expect(await ids({ status: ['failed', 'canceled'] })).toEqual(['f', 'c'])
    expect(await ids({ workflow: 'add', tags: { odd: '0' } })).toEqual(['a-2', 'a-4'])
    expect(await ids({ parentId: 'a-1' })).toHaveLength(1)
    expect(await ids({ text: '-3' })).toContain('a-3')
    expect(await ids({ workspace: 'acme' })).toEqual(['other'])
    expect(await ids({ createdAfter: new Date(Date.now() + 60_000) })).toEqual([])
    expect(await ids({ createdBefore: new Date(0) })).toEqual([])
  })

  test.each([
    { filter: { stauts: 'failed' }, code: 'OPTION_UNKNOWN' },
    { filter: { status: 'faild' }, code: 'OPTION_INVALID' },
    { filter: { limit: 0 }, code: 'OPTION_INVALID' },
    { filter: { after: 'x' }, code: 'OPTION_INVALID' },
    { filter: { order: 'up' }, code: 'OPTION_INVALID' },
    { filter: { reason: 'boredom' }, code: 'OPTION_INVALID' },
    { filter: { createdAfter: 5 }, code: 'OPTION_INVALID' },
    { filter: { tags: 'x' }, code: 'OPTION_INVALID' },
  ])('refuses $filter', async ({ filter, code }) => {
    const engine = await open([])
    expect(() => engine.list(filter as object)).toThrow(expect.objectContaining({ code }))
  })
})

describe('history', () => {
  test('is the journal, page by page', async () => {
    const engine = await open([add, double])
    await (await engine.start(add, { a: 1, b: 2 }, { id: 'r' })).result()
    const entries = []
    for await (const entry of engine.history('r', { limit: 2 })) entries.push(entry)
    expect(entries.map(({ kind, name }) => `${kind} ${name}`.trim())).toEqual([
      'run.created',
      'child.started twice',
      'child.ended twice',
      'step.completed inline',
      'run.completed',
    ])
    expect(entries[0]?.input).toEqual({ a: 1, b: 2 })
    expect(entries[1]).toMatchObject({ workflow: 'double', runId: expect.any(String) })
    expect(entries[3]).toMatchObject({ output: 4, attempt: 1 })
    const newest = await engine.history('r', { limit: 1, order: 'newest' })
    expect(newest.items[0]).toMatchObject({ kind: 'run.completed', output: 6 })
    const before = await engine.history('r', {
      limit: 1,
      order: 'newest',
      after: newest.next ?? '',
    })
    expect(before.items[0]?.kind).toBe('step.completed')
  })

  test('of an unknown run throws RUN_NOT_FOUND', async () => {
    const engine = await open([])
    expect((await caught(engine.history('nothing'))).code).toBe('RUN_NOT_FOUND')
  })
})

describe('explain', () => {
  test('names the signal, and how to send it', async () => {
    const engine = await open([approval])
    await engine.start(approval, undefined, { id: 'a' })
    await expect.poll(async () => (await engine.explain('a')).reason).toBe('signal')
    const { sentence, next } = await engine.explain('a')
    expect(sentence).toBe('a is not moving because it waits for signal "approve".')
    expect(next).toEqual([{ text: 'send it', command: "engine.signal('a', 'approve', { … })" }])
  })

  test('names the timer, and the step that waits for its retry', async () => {
    const retrying = workflow('retrying', async (wf) =>
      wf.do('charge', () => Promise.reject(new Error('down')), { retries: 3, retryDelay: '1h' }),
    )
    const engine = await open([sleeping, retrying])
    await engine.start(sleeping, undefined, { id: 's' })
    await engine.start(retrying, undefined, { id: 'r' })
    await expect
      .poll(async () => (await engine.explain('s')).sentence)
      .toMatch(/it sleeps "long" until \d/)
    await expect
      .poll(async () => (await engine.explain('r')).sentence)
      .toMatch(/attempt 1 of step "charge" failed: down; the next is due at \d/)
  })

  test('says how a run ended', async () => {
    const engine = await open([failing, add, double])
    await caught((await engine.start(failing, undefined, { id: 'f' })).result())
    await (await engine.start(add, { a: 1, b: 1 }, { id: 'd' })).result()
    expect(await engine.explain('f')).toMatchObject({
      reason: 'failed',
      sentence: 'f failed because its step "charge" failed: card network down.',
      next: [{ command: "engine.retry('f')" }, { command: "engine.fork('f', { from: 'charge' })" }],
    })
    expect((await engine.explain('d')).sentence).toBe('d is completed.')
    expect((await caught(engine.explain('nothing'))).code).toBe('RUN_NOT_FOUND')
  })
})

describe('on', () => {
  test('tells what was committed', async () => {
    const engine = await open([add, double, failing])
    const heard: string[] = []
    const names = [
      'run.completed',
      'run.failed',
      'step.completed',
      'step.failed',
      'run.waiting',
    ] as const
    for (const name of names) {
      engine.on(name, (event) => heard.push(`${name} ${event.workflow}`))
    }
    const outputs: unknown[] = []
    engine.on('run.completed', ({ output, workflow }) => workflow === 'add' && outputs.push(output))
    engine.on('step.failed', ({ step, attempt, error, retryAt }) =>
      outputs.push([step, attempt, error.message, retryAt]),
    )
    await (await engine.start(add, { a: 1, b: 2 })).result()
    await caught((await engine.start(failing)).result())
    await expect.poll(() => heard).toContain('run.failed failing')
    for (const line of ['run.waiting add', 'step.completed add', 'run.completed add']) {
      expect(heard).toContain(line)
    }
    await expect.poll(() => outputs).toEqual([6, ['charge', 1, 'card network down', null]])
  })

  test('a listener that throws is logged and does no harm', async () => {
    const engine = await open([add, double])
    engine.on('run.completed', () => {
      throw new Error('mine')
    })
    engine.on('run.completed', async () => Promise.reject(new Error('mine too')))
    expect(await (await engine.start(add, { a: 1, b: 2 })).result()).toBe(6)
    await expect
      .poll(() => engine.lines.filter((line) => line.includes('listener')))
      .not.toEqual([])
  })

  test('gives back the way to stop, and refuses an unknown event', async () => {
    const engine = await open([add, double])
    let heard = 0
    const stop = engine.on('run.completed', () => {
      heard += 1
    })
    stop()
    await (await engine.start(add, { a: 1, b: 2 })).result()
    expect(heard).toBe(0)
    expect(() => engine.on('run.complete' as 'run.completed', () => {})).toThrow(
      /cannot be "run.complete"/,
    )
  })
})

describe('run', () => {
  test('gives an outcome and does not throw', async () => {
    const engine = await open([add, double, failing])
    expect(await engine.run(add, { a: 1, b: 2 }, { id: 'r' })).toEqual({
      id: 'r',
      status: 'completed',
      output: 6,
      documents: [],
    })
    expect(await engine.run(failing)).toMatchObject({
      status: 'failed',
      error: { message: 'card network down' },
    })
  })

  test('stateless writes nothing, children included', async () => {
    const engine = await open([add, double, failing])
    expect(await engine.run(add, { a: 1, b: 2 }, { stateless: true })).toMatchObject({
      status: 'completed',
      output: 6,
    })
    expect(await engine.run(failing, undefined, { stateless: true })).toMatchObject({
      status: 'failed',
    })
    expect((await engine.list()).items).toEqual([])
  })

  test('stateless gives waiting for a run that comes to wait for the outside', async () => {
    const parent = workflow('parent', async (wf) => wf.do('ask', approval))
    const away = workflow('away', async (wf) => wf.do('call', 'elsewhere'))
    const engine = await open([approval, parent, away])
    for (const target of [approval, parent, away]) {
      expect(await engine.run(target, undefined, { stateless: true })).toMatchObject({
        status: 'waiting',
      })
    }
    expect((await engine.list()).items).toEqual([])
  })

  test('stateless refuses what it has no code of', async () => {
    const engine = await open([])
    expect((await caught(engine.run(add, { a: 1, b: 2 }, { stateless: true }))).code).toBe(
      'DEFINITION_UNKNOWN',
    )
  })
})

describe('a workspace', () => {
  test('is a client that sees only its own', async () => {
    const engine = await open([sleeping])
    const acme = engine.workspace('acme')
    await acme.start(sleeping, undefined, { id: 'same' })
    await engine.start(sleeping, undefined, { id: 'mine' })
    expect(await acme.get('mine')).toBeNull()
    expect((await acme.get('same'))?.workspace).toBe('acme')
    expect((await acme.list()).items.map(({ id }) => id)).toEqual(['same'])
    expect((await caught(acme.cancel('mine'))).code).toBe('RUN_NOT_FOUND')
    expect((await caught(acme.start(sleeping, undefined, { workspace: 'other' }))).code).toBe(
      'OPTION_INVALID',
    )
    expect(() => acme.list({ workspace: 'other' })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    )
  })
})

describe('close', () => {
  test('ends the waiting of callers, and everything after it is refused', async () => {
    const engine = await open([sleeping])
    const run = await engine.start(sleeping)
    const waiting = caught(run.result())
    await engine.close()
    await engine.close()
    expect((await waiting).code).toBe('ENGINE_CLOSED')
    for (const call of [
      engine.start(sleeping),
      engine.get('x'),
      engine.signal('x', 'y'),
      run.result(),
      run.cancel(),
    ]) {
      expect((await caught(call)).code).toBe('ENGINE_CLOSED')
    }
    expect(() => engine.list()).toThrow(expect.objectContaining({ code: 'ENGINE_CLOSED' }))
  })
})

describe('a step', () => {
  test('[P18] a caught failure is the same recorded error on a later replay', async () => {
    let [passes, executions] = [0, 0]
    const catching = workflow('catching', async (wf) => {
      passes += 1
      const error = await wf
        .do('charge', () => {
          executions += 1
          return Promise.reject(new RangeError('too much'))
        })
        .catch((e: unknown) => e as Error)
      await wf.waitFor('go')
      return [error.name, error.message]
    })
    const engine = await open([catching], { framesMax: 0 })
    const run = await engine.start(catching)
    await expect.poll(() => run.status()).toBe('waiting')
    await run.signal('go')
    expect(await run.result()).toEqual(['RangeError', 'too much'])
    expect([passes, executions]).toEqual([2, 1])
  })

  test('is retried as asked, and stopOn ends it by the name of the class', async () => {
    class Declined extends Error {}
    let executions = 0
    const stopping = workflow('stopping', async (wf) =>
      wf.do(
        'charge',
        () => {
          executions += 1
          return Promise.reject(executions < 3 ? new Error('down') : new Declined('no'))
        },
        { retry: { attempts: 9, delay: 1, stopOn: [Declined] } },
      ),
    )
    const engine = await open([stopping])
    expect(await engine.run(stopping)).toMatchObject({ status: 'failed', error: { message: 'no' } })
    expect(executions).toBe(3)
  })

  test('whose result cannot be stored is executed once, whatever its retries', async () => {
    let executions = 0
    const bad = workflow('bad', async (wf) =>
      wf.do(
        'mail',
        () => {
          executions += 1
          return { send: () => {} }
        },
        { retry: { attempts: 5, delay: 1 } },
      ),
    )
    const engine = await open([bad])
    const outcome = await engine.run(bad)
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'VALUE_UNSTORABLE' } })
    expect(executions).toBe(1)
  })
})

describe('a value of more than 256 KiB', () => {
  test('is stored and named in the log once for every step, with its run, its size and what to do', async () => {
    const large = workflow('large', async (wf, n: number) => {
      await wf.do('fetch', () => 'x'.repeat(n))
      await wf.do('fetch', () => 'é'.repeat(n / 2))
      await wf.transaction('note', async () => 'x'.repeat(n))
    })
    const engine = await open([large])
    const warnings = () => engine.lines.filter((line) => line.startsWith('warn'))
    await engine.run(large, 262_000, { id: 'small' })
    expect(warnings()).toEqual([])
    for (const id of ['l-1', 'l-2']) await engine.run(large, 262_144, { id })
    const told = (step: string) =>
      `warn: The value of "${step}" of run l-1 of "large" has 262146 bytes. It is stored, and read again whenever the run goes on from its journal: keep large values elsewhere, and give back where they are.`
    expect(warnings()).toEqual([told('fetch'), told('note')])
  })
})

describe('a loop', () => {
  test('for years outlives the limit of a history, and counts nothing that is behind it', async () => {
    const rounds = isFast() ? 1_000 : 17_000
    const years = workflow('years', async (wf) =>
      wf.loop('rounds', 0, async (wf, n) => {
        await wf.do('a', () => n)
        await wf.do('b', () => n)
        return n === rounds ? wf.done(n) : n + 1
      }),
    )
    const engine = await open([years])
    const run = await engine.start(years)
    expect(await run.result()).toBe(rounds)
    const [last] = (await engine.history(run.id, { limit: 1, order: 'newest' })).items
    expect(last?.seq).toBeGreaterThan(3 * rounds)
    expect(engine.lines.filter((line) => /entries/.test(line))).toEqual([])
  }, 120_000)
})

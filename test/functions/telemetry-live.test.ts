// Spans of runs, turns and steps: what perdure/otel makes of them, and how they hang together.

import { context, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import type { AnyClass } from '../../src/authoring/types.js'
import { composeEngine } from '../../src/compose-engine.js'
import { readEngineOptions } from '../../src/engine/options.js'
import { type Definition, type Engine, task, typed, workflow } from '../../src/index.js'
import { openMemory } from '../../src/open-store.js'
import { openTelemetry } from '../../src/otel/index.js'
import { spanContextOf, traceText } from '../../src/otel/trace-text.js'
import { createTestEngine } from '../../src/testing/index.js'
import { gate, refusalOf } from '../support/world.js'

const exporter = new InMemorySpanExporter()
const tracerProvider = new BasicTracerProvider({
  spanProcessors: [new SimpleSpanProcessor(exporter)],
})
const tracer = tracerProvider.getTracer('test')
const telemetry = openTelemetry({ tracerProvider })

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
})
afterAll(() => context.disable())
beforeEach(() => exporter.reset())

const spans = () => exporter.getFinishedSpans()
const named = (name: string): ReadableSpan[] => spans().filter((span) => span.name === name)
const one = (name: string): ReadableSpan => {
  const [span, ...more] = named(name)
  if (!span || more.length > 0) throw new Error(`${named(name).length} spans "${name}"`)
  return span
}
const parentOf = (span: ReadableSpan) => span.parentSpanContext?.spanId
const idOf = (span: ReadableSpan | Span) => span.spanContext().spanId

/** As an HTTP server that is instrumented would. */
async function request<T>(name: string, work: () => Promise<T>): Promise<T> {
  const span = tracer.startSpan(name)
  try {
    return await context.with(trace.setSpan(context.active(), span), work)
  } finally {
    span.end()
  }
}

/** On the store in memory: what is traced here is the kernel, not the database. */
async function opened(
  workflows: readonly (Definition | AnyClass)[],
  options: object = { telemetry },
): Promise<Engine> {
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const settings = readEngineOptions({ workflows, log, ...options }, {})
  const engine = await composeEngine(settings, {
    opened: await openMemory(),
    kernel: { pollMs: 50 },
  })
  onTestFinished(() => engine.close())
  return engine
}

const audit = task('audit', () => {
  tracer.startSpan('insert audit').end()
})
const order = workflow(
  'order',
  { signals: { approval: typed<boolean>() } },
  async (wf, n: number) => {
    await wf.do('charge', () => {
      tracer.startSpan('POST /charges').end()
      return n
    })
    await wf.do('audit', audit)
    await wf.start('later', audit, undefined, { id: `later-${wf.run.id}` })
    return wf.waitFor('approval')
  },
)

test('a run hangs below the request that started it, its steps below their turn, and children below both', async () => {
  const engine = await opened([order, audit])
  const run = await request('POST /orders', () => engine.start(order, 5, { id: 'o-1' }))
  await expect.poll(() => run.status(), { timeout: 30_000 }).toBe('waiting')
  await request('POST /approve', () => run.signal('approval', true))
  await run.result()
  await expect.poll(() => named('run audit').length, { timeout: 30_000 }).toBe(2)
  await engine.close()

  const asked = one('POST /orders')
  const started = one('start order')
  expect(parentOf(started)).toBe(idOf(asked))
  expect(started.kind).toBe(SpanKind.PRODUCER)
  const whole = one('run order')
  expect(parentOf(whole)).toBe(idOf(started))
  expect(whole.attributes).toMatchObject({
    'perdure.run.id': 'o-1',
    'perdure.workflow': 'order',
    'perdure.workflow.version': '1',
    'perdure.workspace': 'default',
    'perdure.status': 'completed',
  })
  const turns = named('turn order')
  expect(turns.length).toBeGreaterThan(1)
  for (const turn of turns) expect(parentOf(turn)).toBe(idOf(started))
  const charge = one('step charge')
  expect(turns.map(idOf)).toContain(parentOf(charge))
  expect(charge.attributes).toMatchObject({ 'perdure.step': 'charge', 'perdure.attempt': 1 })
  // What the code does is inside of the step.
  expect(parentOf(one('POST /charges'))).toBe(idOf(charge))
  // One child was started by a turn, the other by a step.
  const kids = named('start audit').map(parentOf)
  expect(turns.map(idOf)).toContain(kids[0])
  expect(kids[1]).toBe(idOf(one('step later')))
  expect(named('run audit')[0]?.attributes['perdure.parent.id']).toBe('o-1')
  // The signal is of another request: a link, and no parent.
  const sent = one('send approval')
  expect(parentOf(sent)).toBe(idOf(one('POST /approve')))
  const links = turns.flatMap((turn) => turn.links.map((link) => link.context.spanId))
  expect(links).toEqual([idOf(sent)])
  const own = spans().filter((span) => !['POST /approve', 'send approval'].includes(span.name))
  expect(new Set(own.map((span) => span.spanContext().traceId)).size).toBe(1)
})

test('a step that fails says so, each attempt is a span, and so does the run', async () => {
  const failing = workflow('failing', (wf) =>
    wf.do(
      'break',
      () => {
        throw new TypeError('out of order')
      },
      { retry: { attempts: 1, delay: 1 } },
    ),
  )
  const slow = workflow('slow', (wf) =>
    wf.do('hang', () => new Promise<never>(() => {}), { timeout: '20ms' }),
  )
  const engine = await opened([failing, slow])
  await engine.run(failing)
  await engine.run(slow)
  const tries = named('step break')
  expect(tries.map((span) => span.attributes['perdure.attempt'])).toEqual([1, 2])
  for (const span of [...tries, one('run failing')]) {
    expect(span.status).toEqual({ code: SpanStatusCode.ERROR, message: 'out of order' })
    expect(span.events[0]?.attributes).toMatchObject({ 'exception.type': 'TypeError' })
  }
  expect(one('step hang').status.code).toBe(SpanStatusCode.ERROR)
  expect(one('run slow').attributes['perdure.status']).toBe('failed')
  const outside = await engine.run(failing, undefined, { stateless: true })
  expect(outside.status).toBe('failed')
  expect(named('run failing')).toHaveLength(2)
})

test('after a crash it is the same trace, and nothing that was done before has a second span', async () => {
  const held = gate()
  let calls = 0
  const fragile = workflow('fragile', async (wf) => {
    await wf.do('before', () => 'done')
    await wf.do('during', async () => {
      calls += 1
      if (calls === 1) await held.passed
    })
    await wf.sleep('a day', '1d')
    await wf.do('after', () => 'done')
  })
  const engine = await createTestEngine({ workflows: [fragile], telemetry })
  onTestFinished(() => engine.close())
  const run = await request('POST', () => engine.start(fragile))
  await expect.poll(() => calls, { timeout: 30_000 }).toBe(1)
  await engine.crash()
  await expect.poll(() => calls, { timeout: 30_000 }).toBe(2)
  await engine.settle()
  await engine.crash()
  await engine.advance('1d')
  await run.result()
  const { traceId } = one('POST').spanContext()
  for (const name of ['step before', 'step during', 'step after', 'run fragile']) {
    expect(one(name).spanContext().traceId).toBe(traceId)
  }
  // The first turn ended with its process, and was never told of.
  const turns = named('turn fragile').map((span) => span.attributes['perdure.turn'])
  expect(turns).toEqual([2, 3])
  expect(parentOf(one('run fragile'))).toBe(idOf(one('start fragile')))
})

test('a run that nobody traced is one trace of its own', async () => {
  const quiet = workflow('quiet', async (wf) => {
    await wf.do('first', () => 1)
    await wf.sleep('a moment', 20)
    await wf.do('second', () => 2)
  })
  // Its starts are not traced, its execution is.
  const engine = await opened([quiet], { telemetry: { ...telemetry, started: () => null } })
  await (await engine.start(quiet)).result()
  const traces = ['step first', 'step second', 'run quiet'].map(
    (name) => one(name).spanContext().traceId,
  )
  expect(new Set(traces).size).toBe(1)
})

test('a trace is stored as the W3C writes it', () => {
  const text = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  for (const one of [text, `${text} vendor=value`]) {
    const of = spanContextOf(one)
    expect(of && traceText(of)).toBe(one)
  }
  expect(spanContextOf('00-0-0-01')).toBeNull()
})

test('without the option nothing of it is there', async () => {
  const engine = await opened([order, audit], {})
  const run = await request('POST /orders', () => engine.start(order, 5))
  await run.signal('approval', true)
  await run.result()
  expect(spans().map(({ name }) => name)).not.toContain('run order')
  const entries = await engine.history(run.id)
  expect(JSON.stringify(entries.items)).not.toContain('trace')
  const refused = await refusalOf(opened([], { telemetry: 5 }))
  expect(refused).toMatchObject({ code: 'OPTION_INVALID' })
})

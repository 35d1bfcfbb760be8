// Programs whose journals are kept. What they ask is as fixed as the files: a program is never changed once it has a
// file, a new one is added beside it. Code of steps depends on nothing but what it is given, errors have no stack.

import type { ErrorClass } from '../../src/authoring/types.js'
import {
  type Definition,
  type Engine,
  type ErrorCode,
  fatal,
  PerdureError,
  retryAfter,
  task,
  type Wf,
  workflow,
} from '../../src/index.js'

export interface Program {
  readonly name: string
  readonly definitions: readonly Definition[]
  readonly errors: readonly ErrorClass[]
  /** In the order of their times. Made again after a crash: each can be made twice. */
  readonly calls: readonly Call[]
}

export interface Call {
  /** Milliseconds after the beginning. */
  readonly at: number
  make(engine: Engine): Promise<unknown>
}

export const BEGINS_AT = Date.UTC(2026, 0, 1, 12)
const MINUTE = 60_000
const HOUR = 60 * MINUTE

// ── what they are made of ───────────────────────────────────────────────────────────────────────────────────

export class CardDeclined extends Error {
  override readonly name = 'CardDeclined'
  readonly cents: number
  constructor(message: string, cents: number) {
    super(message)
    this.cents = cents
  }
}

/** A stack would tell where this repository is. */
function plain<E extends Error>(error: E): E {
  error.stack = `${error.name}: ${error.message}`
  return error
}

const failure = (message: string): Error => plain(new Error(message))

function told(error: unknown): unknown {
  if (error instanceof CardDeclined) return ['CardDeclined', error.message, error.cents]
  if (!(error instanceof Error)) return error
  const { name, message, code } = error as Error & { readonly code?: string }
  return [name, message, code ?? null]
}

const start = (name: string, input?: unknown, options: object = {}): Call => ({
  at: 0,
  make: (engine) => engine.start(name, input as never, { id: name, ...options }),
})
const signal = (at: number, run: string, name: string, payload?: unknown): Call => ({
  at,
  make: (engine) => engine.signal(run, name, payload, { id: `${name} at ${at}` }),
})
/** A call that was answered before the crash may be refused when it is made again. */
const unless = (code: ErrorCode) => (error: unknown) => {
  if (!PerdureError.is(error, code)) throw error
}
/** Until then everything has ended by itself. */
const rest = (at: number): Call => ({ at, make: async () => {} })

interface More {
  readonly input?: unknown
  readonly options?: object
  readonly calls?: readonly Call[]
  readonly children?: readonly Definition[]
}

function program(definition: Definition, more: More = {}): Program {
  const { name } = definition
  return {
    name,
    definitions: [definition, ...(more.children ?? [])],
    errors: [CardDeclined],
    calls: [start(name, more.input, more.options), ...(more.calls ?? []), rest(48 * HOUR)],
  }
}

// ── steps ───────────────────────────────────────────────────────────────────────────────────────────────────

const steps = program(
  workflow('steps', async (wf, input: { readonly cents: number }) => {
    const charged = await wf.do('charge', () => ({ id: 'ch_1', cents: input.cents }))
    await wf.do('nothing', () => {})
    const keys: string[] = []
    for (const item of ['a', 'b', 'a']) keys.push(await wf.do(`pack ${item}`, (step) => step.key))
    return { charged, keys: keys.map((key) => key.slice(36)), run: wf.run.id }
  }),
  { input: { cents: 1200 } },
)

const retries = program(
  workflow('retries', async (wf) => {
    const flaky = (fails: number) => (step: { readonly attempt: number }) => {
      if (step.attempt <= fails) throw failure(`attempt ${step.attempt} failed`)
      return step.attempt
    }
    const fixed = await wf.do('fixed', flaky(2), { retries: 3, retryDelay: '10s' })
    const retry = { attempts: 3, delay: '1s', backoff: 'exponential' } as const
    const growing = await wf.do('growing', flaky(3), { retry })
    const waited = await wf.do(
      'told when',
      ({ attempt }) => {
        if (attempt === 1) throw retryAfter(failure('busy'), '30s')
        return attempt
      },
      { retries: 1 },
    )
    const last = await wf.do('for good', flaky(9), { retries: 1, retryDelay: 0 }).catch(told)
    return { fixed, growing, waited, last, at: wf.now() }
  }),
)

const errors = program(
  workflow('errors', async (wf) => {
    const declined = () => {
      throw plain(new CardDeclined('no money', 1200))
    }
    const heard = [
      await wf.do('declined', declined).catch(told),
      await wf
        .do('fatal', () => Promise.reject(fatal(failure('stolen'))), { retries: 3 })
        .catch(told),
      await wf
        .do('caused', () => {
          throw plain(Object.assign(failure('outer'), { cause: failure('inner'), code: 'E_OUTER' }))
        })
        .catch(({ message, code, cause }) => [message, code, told(cause)]),
      await wf.do('type', () => Promise.reject(plain(new TypeError('no function')))).catch(told),
      await wf.do('text', () => Promise.reject('only a text')).catch(told),
    ]
    await wf.do('note', () => heard)
    return wf.do('last', declined)
  }),
)

const stepTimeout = program(
  workflow('step-timeout', async (wf) => {
    const never = (step: { readonly signal: AbortSignal }) =>
      new Promise<never>((_, reject) => {
        step.signal.addEventListener('abort', () => reject(failure('aborted')))
      })
    const late = await wf.do('late', never, { timeout: '1m' }).catch((error) => error.code)
    return [late, await wf.do('after', () => 'ok')]
  }),
)

const transactions = program(
  workflow('transactions', async (wf) => {
    const write = async (
      tx: { query(sql: string): Promise<unknown> },
      step: { attempt: number },
    ) => {
      await tx.query('select 1 as one')
      if (step.attempt === 1) throw failure('rolled back')
      return { attempt: step.attempt }
    }
    const first = await wf.transaction('first', async () => 'written')
    const second = await wf.transaction('second', write, { retries: 1, retryDelay: '5s' })
    return [first, second, await wf.transaction('third', write).catch(told)]
  }),
)

// ── time and messages ───────────────────────────────────────────────────────────────────────────────────────

const sleeps = program(
  workflow('sleeps', async (wf) => {
    const before = wf.now()
    await wf.sleep('a while', '90 min')
    await wf.sleepUntil('tomorrow', new Date(Date.UTC(2026, 0, 2, 9)))
    await wf.sleepUntil('long ago', new Date(0))
    await wf.sleep('a while', 1)
    return { before, after: wf.now() }
  }),
)

const signals = program(
  workflow('signals', async (wf) => {
    const go = await wf.waitFor('go')
    const early = await wf.waitFor('early')
    const several = await wf.waitFor(['yes', 'no'])
    await wf.do('between', () => several)
    return [go, early, several, await wf.waitFor('go')]
  }),
  {
    calls: [
      signal(1_000, 'signals', 'early', { n: 1 }),
      signal(2_000, 'signals', 'go', 'first'),
      signal(3_000, 'signals', 'no'),
      signal(4_000, 'signals', 'unheard', 'nobody waits for it'),
      signal(5_000, 'signals', 'go', 'second'),
    ],
  },
)

const firstMessage = program(
  workflow('first-message', async (wf) => wf.waitFor('hello')),
  { options: { message: { name: 'hello', payload: 'world', id: 'm-1' } } },
)

const waitTimeouts = program(
  workflow('wait-timeouts', async (wf) => {
    const nothing = await wf.waitFor('never', { timeout: '1h', orNull: true })
    const code = await wf.waitFor('never', { timeout: '1h' }).catch((error) => error.code)
    const inTime = await wf.waitFor('soon', { timeout: '1h', orNull: true })
    const day = new Date(Date.UTC(2026, 0, 2))
    const until = await wf.waitFor(['x', 'y'], { timeout: day, orNull: true })
    return { nothing, code, inTime, until, at: wf.now() }
  }),
  { calls: [signal(2 * HOUR + MINUTE, 'wait-timeouts', 'soon', true)] },
)

// ── children ────────────────────────────────────────────────────────────────────────────────────────────────

const double = task('double', async (n: number) => n * 2)
const shaky = task('shaky', { retries: 2, retryDelay: '2s' }, async (_: string, step) => {
  if (step.attempt < 3) throw failure(`shaky ${step.attempt}`)
  return step.attempt
})
const broken = task('broken', async () => {
  throw plain(new CardDeclined('child has no money', 7))
})
const napping = workflow('napping', async (wf, name: string) => {
  await wf.sleep('nap', '1h')
  return wf.do('wake', () => `${name} is awake`)
})
const listening = workflow('listening', async (wf) => wf.waitFor('never'))
const CHILDREN = [double, shaky, broken, napping, listening]

const children = program(
  workflow('children', async (wf) => {
    const doubled = await wf.do('double', double, 21)
    const tried = await wf.do('shaky', shaky, 'x')
    const awake = await wf.do('nap', napping, 'Ada')
    const heard = await wf.do('broken', broken).catch(told)
    const again = await wf
      .do('broken again', broken, undefined, { retries: 1, retryDelay: '3s' })
      .catch(told)
    const late = await wf.do('late', listening, undefined, { timeout: '2h' }).catch((e) => e.code)
    return { doubled, tried, awake, heard, again, late }
  }),
  { children: CHILDREN },
)

const together = program(
  workflow('together', async (wf) => {
    const [a, b, nap, child, go] = await Promise.all([
      wf.do('a', () => 'A'),
      wf.do('b', () => 'B'),
      wf.sleep('nap', '1m').then(() => wf.do('after the nap', () => 'rested')),
      wf.do('child', napping, 'Bob'),
      wf.waitFor('go'),
    ])
    return [a, b, nap, child, go]
  }),
  { children: CHILDREN, calls: [signal(10 * MINUTE, 'together', 'go', 'on')] },
)

// ── scopes ──────────────────────────────────────────────────────────────────────────────────────────────────

const reserve = (wf: Wf, name: string) =>
  wf.do(name, () => `${name} held`, { undo: (output) => `${output} no more` })

const scopes = program(
  workflow('scopes', async (wf) => {
    const trip = await wf.scope('trip', async (wf) => {
      const hotel = await reserve(wf, 'hotel')
      return wf.scope('flights', async (wf) => [
        hotel,
        await reserve(wf, 'there'),
        await reserve(wf, 'back'),
      ])
    })
    const failed = await wf
      .scope('concert', async (wf) => {
        await reserve(wf, 'seat')
        await wf.transaction('pay', async () => 'paid', { undo: () => 'paid back' })
        await wf.do('child', double, 4, { undo: (output) => output })
        throw plain(new CardDeclined('concert', 3))
      })
      .catch(told)
    const late = await wf
      .scope(
        'dinner',
        async (wf) => {
          await reserve(wf, 'table')
          await wf.waitFor('never')
        },
        { timeout: '1h' },
      )
      .catch((error) => error.code)
    return { trip, failed, late, end: await wf.do('end', () => 'end') }
  }),
  { children: CHILDREN },
)

const races = program(
  workflow('races', async (wf) => {
    const first = await wf.race('quick', {
      step: (wf) => wf.do('work', () => 'done'),
      sleep: (wf) => wf.sleep('nap', '1h'),
    })
    const second = await wf.race('answer', {
      yes: (wf) => wf.waitFor('yes'),
      late: (wf) => wf.sleep('limit', '1h'),
      child: async (wf) => {
        await reserve(wf, 'chair')
        return wf.do('child', listening)
      },
    })
    const third = await wf.race('deadline', {
      no: (wf) => wf.waitFor('no'),
      late: async (wf) => {
        await wf.sleep('limit', '1h')
        return 'too late'
      },
    })
    return [first, second, third]
  }),
  { children: CHILDREN, calls: [signal(MINUTE, 'races', 'yes', 'sir')] },
)

const loops = program(
  workflow('loops', async (wf) => {
    const sum = await wf.loop('months', { n: 1, sum: 0 }, async (wf, { n, sum }) => {
      const charged = await wf.do('charge', () => n * 10)
      const stop = await wf.waitFor('stop', { timeout: '1h', orNull: true })
      return stop === null ? { n: n + 1, sum: sum + charged } : wf.done(sum + charged)
    })
    return wf.do('sum', () => sum)
  }),
  { calls: [signal(3 * HOUR + MINUTE, 'loops', 'stop', true)] },
)

// ── ends ────────────────────────────────────────────────────────────────────────────────────────────────────

const undo = program(
  workflow('undo', async (wf) => {
    await reserve(wf, 'hotel')
    await wf.do('child', double, 1, { undo: () => {} })
    const notAtOnce = (_: unknown, step: { readonly attempt: number }) => {
      if (step.attempt === 1) throw failure('not yet')
    }
    await wf.do('shaky undo', () => 1, { undo: notAtOnce, retries: 1, retryDelay: '1m' })
    await wf.scope('done', (wf) => reserve(wf, 'flight'))
    throw plain(new CardDeclined('at the end', 9))
  }),
  { children: CHILDREN },
)

const undoFailed = program(
  workflow('undo-failed', async (wf) => {
    await reserve(wf, 'hotel')
    await wf.do('flight', () => 1, { undo: () => Promise.reject(failure('nobody answers')) })
    await reserve(wf, 'car')
    throw failure('no trip')
  }),
)

const cancelled = program(
  workflow('cancelled', async (wf) => {
    await reserve(wf, 'hotel')
    await wf.do('child', listening)
  }),
  {
    children: CHILDREN,
    calls: [
      { at: HOUR, make: (engine) => engine.cancel('cancelled', 'changed her mind', { id: 'c-1' }) },
    ],
  },
)

const cancelsItself = program(
  workflow('cancels-itself', async (wf) => {
    await reserve(wf, 'hotel')
    return wf.cancel('nothing to do')
  }),
)

const deadline = program(
  workflow('deadline', async (wf) => {
    await reserve(wf, 'hotel')
    await wf.sleep('too long', '10h')
  }),
  { options: { timeout: '2h' } },
)

const reopened = program(
  workflow('reopened', async (wf) => {
    const first = await wf.do('first', () => 1)
    const second = await wf.do('second', ({ attempt }) => {
      if (attempt === 1) throw failure('broken')
      return attempt
    })
    return first + second
  }),
  {
    calls: [
      {
        at: HOUR,
        make: (engine) =>
          engine.retry('reopened', { expectedAttempt: 1 }).catch(unless('RUN_NOT_RETRYABLE')),
      },
    ],
  },
)

// ── and the rest ────────────────────────────────────────────────────────────────────────────────────────────

const state = program(
  workflow('state', async (wf) => {
    wf.setState({ place: 'begun' })
    await wf.do('work', () => 1)
    wf.setState({ place: 'waiting', since: wf.now() })
    await wf.waitFor('go')
    wf.setState({ place: 'done' })
    return 'done'
  }),
  { calls: [signal(MINUTE, 'state', 'go')] },
)

const patched = program(
  workflow('patched', async (wf) => {
    const before = wf.patched('checks first')
    if (before) await wf.do('check', () => 'checked')
    await wf.waitFor('go')
    return [before, wf.patched('checks first'), wf.patched('thanks')]
  }),
  { calls: [signal(MINUTE, 'patched', 'go')] },
)

const chance = program(
  workflow('chance', async (wf) => {
    const first = { now: wf.now(), random: wf.random(), uuid: wf.uuid() }
    const noted = await wf.do('note', () => first)
    await wf.sleep('nap', '1h')
    const more = [wf.random(), wf.random(), wf.uuid(), wf.now()]
    const inScope = await wf.scope('scope', async (wf) => [
      wf.random(),
      await wf.do('x', () => 1),
      wf.uuid(),
    ])
    return { first, noted, more, inScope, last: wf.random() }
  }),
)

const forked = program(
  workflow('forked', async (wf, input: { readonly n: number }) => {
    const random = wf.random()
    const first = await wf.do('first', () => input.n)
    const second = await wf.do('second', () => first + 1)
    await wf.sleep('nap', '2h')
    return { random, second }
  }),
  {
    input: { n: 1 },
    calls: [
      {
        at: HOUR,
        make: (engine) =>
          engine.fork('forked', { from: 'second', id: 'fork', outputs: { first: 10 } }),
      },
    ],
  },
)

const paused = program(
  workflow('paused', async (wf) => {
    await wf.do('first', () => 1)
    await wf.sleep('nap', '1h')
    return wf.do('second', () => 2)
  }),
  {
    calls: [
      { at: MINUTE, make: (engine) => engine.pause('paused') },
      { at: 2 * HOUR, make: (engine) => engine.resume('paused').catch(unless('RUN_FINISHED')) },
    ],
  },
)

/** What JSON has no words for. */
const VALUES = {
  dates: [new Date(0), new Date(Date.UTC(2026, 0, 1)), new Date(Number.NaN)],
  numbers: [0, -0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e21, 5e-324],
  bigints: [0n, -1n, 2n ** 80n],
  texts: ['', 'ünï \u2028 \u0000 😀', '__proto__', '\ud800'],
  nothing: [undefined, null],
  // biome-ignore lint/suspicious/noSparseArray: a hole is a value too
  holes: [1, , 3],
  map: new Map<unknown, unknown>([
    ['a', 1],
    [{ b: 2 }, new Set([1, 'x', new Date(1)])],
  ]),
  bytes: new Uint8Array([0, 1, 255]),
  url: new URL('https://example.org/a?b=c#d'),
  regexp: /a+b/giu,
}

const values = program(
  workflow('values', async (wf, input: unknown) => {
    const stepped = await wf.do('same', () => input)
    const signalled = await wf.waitFor('values')
    const declined = await wf
      .do('error', () =>
        Promise.reject(plain(Object.assign(failure('odd'), { at: new Date(5), big: 7n }))),
      )
      .catch(({ at, big }) => [at, big])
    const same = { input }
    return { stepped, signalled, declined, twice: [same, same] }
  }),
  { input: VALUES, calls: [signal(MINUTE, 'values', 'values', VALUES)] },
)

/** An event in the middle and one as the last word. */
const emits = program(
  workflow('emits', async (wf) => {
    wf.emit('begun', { n: 1 })
    const doubled = await wf.do('double', () => 4)
    const late = await wf.waitForEvent('never', { timeout: '1m', orNull: true })
    wf.emit('ended', { n: 2 })
    return { doubled, late }
  }),
)

/** Changed by calls, one of which it does not take. */
const called = program(
  workflow('called', async (wf) => {
    const first = await wf.waitFor('change')
    await wf.sleep('rest', '1h')
    return [first, await wf.waitFor('change')]
  }),
  {
    calls: [
      { at: MINUTE, make: (engine) => trigger(engine, 1) },
      { at: 2 * MINUTE, make: (engine) => trigger(engine, 2) },
      { at: 2 * HOUR, make: (engine) => trigger(engine, 3) },
    ],
  },
)

/** Kept, replaced, found again; one beside a step, so that their order is the journal's. */
const documents = program(
  workflow('documents', async (wf) => {
    await wf.documents.save('Note', { text: 'draft' }, { key: 'note', tags: ['a'] })
    await wf.sleep('rest', '1h')
    const both = [wf.documents.save('Aside', [1n], { hidden: true }), wf.do('beside', () => 1)]
    await Promise.all(both)
    const found = await wf.documents.find('Note', 'note')
    await wf.documents.save('Note', { text: 'final', before: found?.content }, { key: 'note' })
    await wf.sleep('rest', '1h')
    const every = await wf.documents.all()
    return every.map(({ className, content, step }) => [className, content, step])
  }),
)

function trigger(engine: Engine, n: number): Promise<unknown> {
  const answered = engine.trigger('called', 'change', n, { id: `change ${n}` })
  return answered.catch(unless('NOT_AVAILABLE')).catch(unless('RUN_FINISHED'))
}

export const PROGRAMS: readonly Program[] = [
  ...[
    steps,
    retries,
    errors,
    stepTimeout,
    transactions,
    sleeps,
    signals,
    firstMessage,
    waitTimeouts,
  ],
  ...[
    children,
    together,
    scopes,
    races,
    loops,
    undo,
    undoFailed,
    cancelled,
    cancelsItself,
    deadline,
    reopened,
  ],
  ...[state, patched, chance, forked, paused, values, emits, called, documents],
]

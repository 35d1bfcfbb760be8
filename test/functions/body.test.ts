import { describe, expect, test } from 'vitest'
import { PerdureError, type Schema, task, typed, type Wf, workflow } from '../../src/index.js'
import { decode } from '../../src/model/codec.js'
import { decodeError, encodeError } from '../../src/model/error-record.js'
import type { Failure } from '../../src/model/program.js'
import { drive, failed, given } from './fake-turn.js'

const body = (fn: (wf: Wf) => unknown) => workflow('w', async (wf) => fn(wf))
const recorded = (failure: Failure): Error => decodeError(failure.error)

/** Doubles what it is given; refuses what is no number. */
const doubling: Schema<number, number> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      typeof value === 'number'
        ? { value: value * 2 }
        : { issues: [{ message: 'not a number', path: ['a', { key: 'b' }] }] },
  },
}
const slowly = (schema: Schema<number, number>): Schema<number, number> => ({
  '~standard': {
    ...schema['~standard'],
    validate: async (value: unknown) => schema['~standard'].validate(value),
  },
})

describe('the value given to user code', () => {
  test('is the decoded stored one, on the first execution too', async () => {
    const original = { at: new Date(5), list: [1] }
    const { output } = drive(
      body(async (wf) => {
        const got = await wf.do('a', () => original)
        return [got === original, got]
      }),
    )
    expect(await output()).toEqual([false, { at: new Date(5), list: [1] }])
  })

  test.each([0, false, '', null, undefined])('%s comes back unchanged', async (value) => {
    expect(await drive(body((wf) => wf.do('a', () => value))).output()).toBe(value)
  })

  test('as an error is the recorded one, also for a step that has just failed', async () => {
    class Declined extends Error {
      override name = 'Declined'
    }
    const turn = drive(
      body(async (wf) => {
        const error = await wf
          .do('a', () => Promise.reject(new Declined('no')))
          .catch((e: unknown) => e)
        return [error instanceof Declined, (error as Error).name, (error as Error).message]
      }),
    )
    expect(await turn.output()).toEqual([false, 'Declined', 'no'])
  })

  test('as an input has passed no schema again when the engine has stored it', async () => {
    const checked = workflow('w', { input: doubling }, async (_wf, n) => n)
    expect(await drive(checked, 2).output()).toBe(2)
    const checkedTask = task('t', { input: doubling }, async (n) => n)
    expect(await drive(checkedTask, 2).output()).toBe(2)
  })
})

describe('the input of a child', () => {
  const run = { parentUid: 'p' as never }

  test('is checked in the one step of a task', async () => {
    const t = task('t', { input: slowly(doubling) }, async (n) => n + 1)
    const turn = drive(t, 2, { run })
    expect(await turn.output()).toBe(5)
    expect(turn.questions.map(({ name }) => name)).toEqual(['run'])
    const failure = await drive(t, 'x', { run }).failure()
    expect(recorded(failure)).toMatchObject({ code: 'INPUT_INVALID' })
    expect(recorded(failure).message).toContain('a.b: not a number')
  })

  test('is checked in a recorded step of a workflow', async () => {
    const w = workflow('w', { input: slowly(doubling) }, async (_wf, n) => n + 1)
    const turn = drive(w, 2, { run })
    expect(await turn.output()).toBe(5)
    expect(turn.questions.map(({ name }) => name)).toEqual(['(input)'])
    expect(recorded(await drive(w, 'x', { run }).failure())).toMatchObject({
      code: 'INPUT_INVALID',
    })
  })

  test('costs no step if its schema checks nothing', async () => {
    const w = workflow('w', { input: typed<number>() }, async (_wf, n) => n + 1)
    const turn = drive(w, 2, { run })
    expect(await turn.output()).toBe(3)
    expect(turn.questions).toEqual([])
  })
})

describe('a failure', () => {
  test('that escapes the body is the very failure of its question', async () => {
    const original = failed(encodeError(new Error('deep'), 'x'), 'call')
    const turn = drive(
      body(async (wf) => {
        try {
          await wf.do('call', 'elsewhere')
        } finally {
          await wf.do('clean', () => 1)
        }
      }),
      undefined,
      { child: () => Promise.reject(original) },
    )
    expect(await turn.failure()).toBe(original)
  })

  test('of the body itself has no question', async () => {
    const failure = await drive(body(() => Promise.reject(new TypeError('mine')))).failure()
    expect(failure.question).toBeNull()
    expect(recorded(failure)).toMatchObject({ name: 'TypeError', message: 'mine' })
  })

  test('that the body wraps is a new one', async () => {
    const turn = drive(
      body(async (wf) => {
        try {
          await wf.do('a', () => Promise.reject(new Error('inner')))
        } catch (cause) {
          throw new Error('outer', { cause })
        }
      }),
    )
    expect(recorded(await turn.failure()).message).toBe('outer')
  })

  test('of a result that cannot be stored says that the effect has happened, and is not retried', async () => {
    const turn = drive(body((wf) => wf.do('mail', () => ({ send: () => {} }), { retries: 3 })))
    const failure = await turn.failure()
    expect(failure.fatal).toBe(true)
    expect(recorded(failure)).toMatchObject({ code: 'VALUE_UNSTORABLE' })
    expect(recorded(failure).message).toContain('effect of the step has happened')
  })

  test('of an output that cannot be stored fails the run', async () => {
    const failure = await drive(body(() => ({ f: () => {} }))).failure()
    expect(recorded(failure)).toMatchObject({ code: 'VALUE_UNSTORABLE' })
  })

  test('of a step that nobody awaits does not end the process', async () => {
    const unhandled: unknown[] = []
    const listener = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', listener)
    const turn = drive(
      body((wf) => {
        void wf.do('a', () => Promise.reject(new Error('lost')))
        return 1
      }),
    )
    expect(await turn.output()).toBe(1)
    await new Promise((resolve) => setTimeout(resolve, 20))
    process.off('unhandledRejection', listener)
    expect(unhandled).toEqual([])
  })
})

describe('wf.do', () => {
  const ping = task('ping', async () => 'pong')
  const greet = task('greet', { retry: 7 }, async (name: string) => `hi ${name}`)
  const sub = workflow('sub', async (_wf, n: number) => n)

  test('with a function is an inline step, whose step knows its key and attempt', async () => {
    const turn = drive(
      body((wf) =>
        wf.do('a', (step) => [
          step.key,
          step.attempt,
          step.retryCount,
          step.run.id,
          step.signal.aborted,
        ]),
      ),
    )
    expect(await turn.output()).toEqual(['key of a', 1, 0, 'run-1', false])
    expect(turn.questions[0]).toMatchObject({
      kind: 'step',
      order: { label: 'inline', timeoutMs: null },
    })
  })

  test('with a task sends the options of the call along with it', async () => {
    const turn = drive(
      body((wf) => wf.do('a', greet, 'ada', { retries: 2, retryDelay: '5s', timeout: '1s' })),
    )
    await turn.output()
    const [question] = turn.questions
    expect(question).toMatchObject({
      kind: 'child',
      order: {
        definition: 'greet',
        version: '1',
        order: { retry: { attempts: 2, delayMs: 5_000, backoff: 'fixed' }, timeoutMs: 1_000 },
        retry: { attempts: 0 },
      },
    })
    expect(question?.kind === 'child' && decode(question.order.input)).toBe('ada')
  })

  test('with a task and no options leaves them to the task', async () => {
    const turn = drive(body((wf) => wf.do('a', greet, 'ada')))
    await turn.output()
    expect(turn.questions[0]).toMatchObject({ order: { order: null } })
  })

  test('with a workflow starts it anew for each retry', async () => {
    const turn = drive(body((wf) => wf.do('a', sub, 1, { retry: 2 })))
    await turn.output()
    expect(turn.questions[0]).toMatchObject({
      order: { definition: 'sub', order: null, retry: { attempts: 2 } },
    })
  })

  test('with a name finds the definition of this engine, or leaves it to another worker', async () => {
    const code = body(async (wf) => {
      await wf.do('a', 'sub', 1, { retry: 2 })
      await wf.do('b', 'unknown', 1, { retry: 2 })
    })
    const turn = drive(code, undefined, {}, [sub])
    await turn.output()
    expect(turn.questions).toMatchObject([
      { order: { definition: 'sub', version: '1', retry: { attempts: 2 } } },
      { order: { definition: 'unknown', version: null, order: { retry: { attempts: 2 } } } },
    ])
  })

  const refused = async (call: (wf: Wf) => unknown): Promise<PerdureError> => {
    let thrown: unknown
    const turn = drive(
      body((wf) => {
        try {
          // Not awaited: what is wrong with a call is thrown at the call.
          call(wf)
        } catch (error) {
          thrown = error
        }
      }),
    )
    await turn.output()
    expect(turn.questions).toEqual([])
    if (!PerdureError.is(thrown)) throw new Error('nothing was refused')
    return thrown
  }
  /** For calls that the types refuse. */
  type Loose = Wf & { do(...args: readonly unknown[]): Promise<unknown> }

  test.each([5, '', ' x', 'a\nb', null, 'x'.repeat(257)])('refuses the name %j', async (name) => {
    const error = await refused((wf) => wf.do(name as string, () => 1))
    expect(error.code).toBe('NAME_INVALID')
  })

  test('refuses a class, with a hint', async () => {
    const error = await refused((wf: Loose) => wf.do('a', class Review {}))
    expect(error.code).toBe('DEFINITION_UNKNOWN')
    expect(error.hint).toContain('class')
  })

  test('refuses options in the place of an input that the task does not take', async () => {
    const error = await refused((wf: Loose) => wf.do('a', ping, { retries: 3 }))
    expect(error.code).toBe('INPUT_INVALID')
    expect(error.hint).toContain('undefined')
  })

  test('takes an input that looks like options for a task that reads it', async () => {
    const turn = drive(body((wf: Loose) => wf.do('a', greet, { timeout: 5 })))
    await turn.output()
    expect(turn.questions).toHaveLength(1)
  })

  test.each([
    { options: { retires: 3 }, code: 'OPTION_UNKNOWN', says: 'retries' },
    { options: { retry: { attemps: 3 } }, code: 'OPTION_UNKNOWN', says: 'attempts' },
    { options: { retry: 1, retries: 1 }, code: 'OPTION_INVALID', says: 'keep one' },
    { options: { retry: 1, retryDelay: '1s' }, code: 'OPTION_INVALID', says: 'keep one' },
    { options: { retryDelay: '1s' }, code: 'OPTION_INVALID', says: 'retries' },
    { options: { retries: -1 }, code: 'OPTION_INVALID', says: 'whole number' },
    { options: { retries: 1.5 }, code: 'OPTION_INVALID', says: 'whole number' },
    { options: { retry: '3' }, code: 'OPTION_INVALID', says: 'number of retries' },
    { options: { retry: { backoff: 'linear' } }, code: 'OPTION_INVALID', says: 'exponential' },
    { options: { retry: { stopOn: ['', 5] } }, code: 'OPTION_INVALID', says: 'error names' },
    { options: { retry: { delay: '1.5s' } }, code: 'DURATION_INVALID', says: 'whole number' },
    { options: { timeout: 'soon' }, code: 'DURATION_INVALID', says: 'whole number' },
    { options: { timeout: 0 }, code: 'OPTION_INVALID', says: 'longer' },
    { options: 5, code: 'OPTION_INVALID', says: 'object' },
  ])('refuses the options $options', async ({ options, code, says }) => {
    const error = await refused((wf: Loose) => wf.do('a', () => 1, options))
    expect([error.code, error.hint]).toEqual([code, expect.stringContaining(says)])
  })

  class Declined extends Error {}
  test.each([
    { options: undefined, policy: { attempts: 0 } },
    {
      options: { retry: 3 },
      policy: { attempts: 3, delayMs: 1_000, backoff: 'exponential', maxDelayMs: 30_000 },
    },
    { options: { retries: 3 }, policy: { attempts: 3, delayMs: 1_000, backoff: 'exponential' } },
    {
      options: { retries: 3, retryDelay: '5s' },
      policy: { attempts: 3, delayMs: 5_000, backoff: 'fixed' },
    },
    { options: { retry: {} }, policy: { attempts: 0 } },
    {
      options: {
        retry: {
          attempts: 2,
          delay: '1m',
          maxDelay: '1h',
          jitter: true,
          stopOn: ['Gone', Declined],
        },
      },
      policy: {
        attempts: 2,
        delayMs: 60_000,
        maxDelayMs: 3_600_000,
        jitter: true,
        stopOn: ['Gone', 'Declined'],
      },
    },
  ])('reads $options', async ({ options, policy }) => {
    const turn = drive(body((wf: Loose) => wf.do('a', () => 1, options)))
    await turn.output()
    expect(turn.questions[0]).toMatchObject({ order: { retry: policy } })
  })
})

describe('a task', () => {
  const t = task('t', { retry: 4, timeout: '2s' }, async () => 1)

  test('is one step called run, tried as the task says', async () => {
    const turn = drive(t)
    await turn.output()
    expect(turn.questions).toMatchObject([
      { name: 'run', order: { retry: { attempts: 4 }, timeoutMs: 2_000 } },
    ])
  })

  test('is tried as the call says, option by option', async () => {
    const retry = {
      attempts: 1,
      delayMs: 1,
      backoff: 'fixed',
      maxDelayMs: 1,
      jitter: false,
      stopOn: [],
    } as const
    const turn = drive(t, undefined, { run: { order: { retry } } })
    await turn.output()
    expect(turn.questions).toMatchObject([{ order: { retry: { attempts: 1 }, timeoutMs: 2_000 } }])
  })
})

describe('wf.transaction', () => {
  test('gives plain rows, which can be the result', async () => {
    const turn = drive(body((wf) => wf.transaction('t', (tx) => tx.query('select 1'))))
    expect(await turn.output()).toEqual({ rows: [{ a: 1 }], rowCount: 1 })
    expect(turn.questions[0]).toMatchObject({ order: { label: 'transaction', timeoutMs: 5_000 } })
  })

  test('takes up to 60 s', async () => {
    const limits: number[] = []
    const transaction = async (limitMs: number, work: (sql: never) => Promise<unknown>) => {
      limits.push(limitMs)
      return work({} as never)
    }
    const attempt = { transaction: transaction as never }
    await drive(
      body((wf) => wf.transaction('t', () => 1, { timeout: '60s' })),
      undefined,
      { attempt },
    ).output()
    expect(limits).toEqual([60_000])
    const late = drive(body((wf) => wf.transaction('t', () => 1, { timeout: '61s' })))
    expect(recorded(await late.failure())).toMatchObject({ code: 'OPTION_INVALID' })
  })

  test('lets the error of the database out as it is, so that a conflict is known by its code', async () => {
    const conflict = Object.assign(new Error('deadlock'), { code: '40P01' })
    let seen: unknown
    const transaction = async (_ms: number, work: (sql: never) => Promise<unknown>) =>
      work({} as never).catch((error: unknown) => {
        seen = error
        throw error
      })
    await drive(
      body((wf) => wf.transaction('t', () => Promise.reject(conflict))),
      undefined,
      {
        attempt: { transaction: transaction as never },
      },
    ).outcome.catch(() => {})
    expect(seen).toBe(conflict)
  })
})

describe('time', () => {
  test('sleeps are asked for as a span or a moment', async () => {
    const turn = drive(
      body(async (wf) => {
        await wf.sleep('week', '7d')
        await wf.sleepUntil('date', new Date(99))
        await wf.sleepUntil('temporal', { epochMilliseconds: 77 })
        return wf.now()
      }),
    )
    expect(await turn.output()).toEqual(new Date(5_000))
    expect(turn.questions).toMatchObject([
      { due: { afterMs: 604_800_000 } },
      { due: { at: 99 } },
      { due: { at: 77 } },
    ])
  })

  test.each([new Date('x'), 12345, {}, null, { epochMilliseconds: Number.NaN }])(
    'sleepUntil refuses %s',
    async (when) => {
      const turn = drive(body((wf) => wf.sleepUntil('a', when as Date)))
      expect(recorded(await turn.failure())).toMatchObject({ code: 'OPTION_INVALID' })
    },
  )

  test('sleep refuses what is no duration', async () => {
    const turn = drive(body((wf) => wf.sleep('a', '1.5h' as '1h')))
    expect(recorded(await turn.failure())).toMatchObject({ code: 'DURATION_INVALID' })
  })
})

describe('wf.waitFor', () => {
  const go = { name: 'go', payload: given({ n: 1 }) }

  test('gives the payload of one name, or name and payload of several', async () => {
    const turn = drive(
      body(async (wf) => [
        await wf.waitFor('go'),
        await wf.waitFor(['go', 'stop'], { timeout: '1h' }),
      ]),
      undefined,
      { messages: [go, go] },
    )
    expect(await turn.output()).toEqual([{ n: 1 }, { name: 'go', payload: { n: 1 } }])
    expect(turn.questions).toMatchObject([
      { name: 'go', wish: { names: ['go'], until: null } },
      { name: 'go | stop', wish: { names: ['go', 'stop'], until: { afterMs: 3_600_000 } } },
    ])
  })

  test('past its timeout throws WAIT_TIMED_OUT, or gives null if asked', async () => {
    const late = drive(body((wf) => wf.waitFor('go', { timeout: new Date(5) })))
    expect(recorded(await late.failure())).toMatchObject({ code: 'WAIT_TIMED_OUT' })
    expect(late.questions).toMatchObject([{ wish: { until: { at: 5 } } }])
    const kind = drive(body((wf) => wf.waitFor('go', { timeout: 5, orNull: true })))
    expect(await kind.output()).toBeNull()
  })

  test('gives undefined for a signal without a payload', async () => {
    const turn = drive(
      body((wf) => wf.waitFor('go')),
      undefined,
      { messages: [{ name: 'go', payload: null }] },
    )
    expect(await turn.output()).toBeUndefined()
  })

  test('checks the payload with its schema', async () => {
    const code = body((wf) => wf.waitFor('go', { schema: doubling }))
    expect(
      await drive(code, undefined, { messages: [{ name: 'go', payload: given(2) }] }).output(),
    ).toBe(4)
    const failure = await drive(code, undefined, { messages: [go] }).failure()
    expect(recorded(failure)).toMatchObject({ code: 'PAYLOAD_INVALID' })
  })

  test('refuses an asynchronous schema', async () => {
    const code = body((wf) => wf.waitFor('go', { schema: slowly(doubling) }))
    const failure = await drive(code, undefined, { messages: [go] }).failure()
    expect(recorded(failure)).toMatchObject({ code: 'OPTION_INVALID' })
  })

  test.each([
    { what: 'go', options: { orNull: true }, code: 'OPTION_INVALID' },
    { what: 'go', options: { timout: 5 }, code: 'OPTION_UNKNOWN' },
    { what: 'go', options: { schema: {} }, code: 'OPTION_INVALID' },
    { what: [], options: undefined, code: 'OPTION_INVALID' },
    { what: 5, options: undefined, code: 'NAME_INVALID' },
    { what: ['go', ''], options: undefined, code: 'NAME_INVALID' },
  ])('refuses $what with $options', async ({ what, options, code }) => {
    const turn = drive(body((wf) => wf.waitFor(what as 'go', options as object)))
    expect(recorded(await turn.failure())).toMatchObject({ code })
    expect(turn.questions).toEqual([])
  })
})

describe('wf.cancel', () => {
  test('acts at the call, with a default reason', async () => {
    const turn = drive(
      body((wf) => {
        void wf.cancel()
        return 1
      }),
    )
    await turn.output()
    expect(turn.questions).toEqual([{ kind: 'stop', name: 'cancelled by the workflow itself' }])
  })
})

describe('what must be the same on every replay', () => {
  const code = body((wf) => [wf.random(), wf.random(), wf.uuid(), wf.uuid()])

  test('random and uuid come from the uid of the run', async () => {
    const [first, again] = [await drive(code).output(), await drive(code).output()]
    expect(again).toEqual(first)
    const other = await drive(code, undefined, {
      run: { uid: '01890000-0000-7000-8000-000000000002' as never },
    }).output()
    expect(other).not.toEqual(first)
    const [a, b, c, d] = first as [number, number, string, string]
    expect(a >= 0 && a < 1 && a !== b).toBe(true)
    expect(c).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(c).not.toBe(d)
  })

  test('patched is synchronous', async () => {
    const turn = drive(body((wf) => wf.patched('change')))
    expect(await turn.output()).toBe(true)
    expect(turn.questions).toEqual([{ kind: 'mark', name: 'change' }])
  })

  test('the log is silent while replaying, and names the run', async () => {
    let replaying = true
    const turn = drive(
      body(async (wf) => {
        wf.log.info('before')
        await wf.do('a', () => {
          replaying = false
        })
        wf.log.warn('after', { more: 1 })
      }),
      undefined,
      { replaying: () => replaying },
    )
    await turn.output()
    expect(turn.logged).toEqual([['warn', 'after', { runId: 'run-1', workflow: 'w', more: 1 }]])
  })
})

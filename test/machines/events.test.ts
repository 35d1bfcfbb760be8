// States and events: what one event does, and what is refused where the machine is written.

import { describe, expect, test } from 'vitest'
import { madeOf } from '../../src/authoring/definition.js'
import type { Machine, Moved, Transition } from '../../src/authoring/machine/description.js'
import { machine } from '../../src/authoring/machine/machine.js'
import { typed } from '../../src/authoring/schema.js'
import { PerdureError } from '../../src/model/errors.js'

function made(definition: unknown) {
  const found = madeOf(definition)
  if (found?.kind !== 'machine') throw new Error('no machine was made')
  return found
}
const machineOf = (definition: unknown): Machine => made(definition).machine

/** With getters of its own class, as the real one has them. */
class Context {
  readonly #id = 'run-1'
  get run() {
    return { id: this.#id }
  }
  get log() {
    return { info: (text: string) => text }
  }
  emit(name: string) {
    return `${this.#id} ${name}`
  }
}

function fire(transition: Transition | undefined, state: unknown, payload?: unknown) {
  if (!transition) throw new Error('there is no such transition')
  const context = new Context() as never
  return transition.run({ self: null, state, payload, context, past: async () => {} })
}

function sent(definition: unknown, from: string, event: string, state: unknown, payload?: unknown) {
  const place = machineOf(definition).places.get(from)
  return fire(place?.waiting.get(event), state, payload)
}

async function refusalOf(what: () => unknown): Promise<string> {
  try {
    await what()
  } catch (error) {
    if (PerdureError.is(error)) return `${error.message} [${error.code}] ${error.hint}`
    throw error
  }
  return 'it was not refused'
}

const wayOf = ({ moves }: Moved) => moves.map(({ from, to, event }) => `${from}→${to} ${event}`)

interface Notes {
  notes: string[]
}
const note =
  (text: string) =>
  async ({ context }: { context: Notes }) => {
    await Promise.resolve()
    context.notes.push(text)
  }

describe('an action', () => {
  const written = machine('written', {
    initial: 'open',
    context: { notes: [] as string[] },
    states: {
      open: {
        on: {
          KEEP: { actions: ({ context }) => void context.notes.push('kept') },
          CALL: { actions: () => Promise.resolve() },
          BOTH: {
            actions: ({ context }) => (context.notes.length > 1 ? Promise.resolve() : undefined),
          },
        },
      },
    },
  })
  const transitionOf = (event: string) => machineOf(written).places.get('open')?.waiting.get(event)
  const waited = async (event: string, notes: string[] = []) => {
    let times = 0
    const past = async () => {
      times += 1
    }
    const call = {
      self: null,
      state: { notes },
      payload: undefined,
      context: new Context() as never,
    }
    await transitionOf(event)?.run({ ...call, past })
    return times
  }

  test('waits for what came before it to be stored, until it is known to give back no promise', async () => {
    expect([await waited('KEEP'), await waited('KEEP'), await waited('KEEP')]).toEqual([1, 0, 0])
    expect([await waited('CALL'), await waited('CALL')]).toEqual([1, 1])
    expect([await waited('BOTH'), await waited('BOTH')]).toEqual([1, 0])
    expect([await waited('BOTH', ['a', 'b']), await waited('BOTH'), await waited('BOTH')]).toEqual([
      0, 1, 1,
    ])
  })
})

describe('an event', () => {
  const chain = machine('chain', {
    initial: 'idle',
    context: { notes: [] as string[], ready: true },
    states: {
      idle: {
        exit: [note('exit idle'), note('and again')],
        on: {
          GO: { target: 'a', actions: [note('go 1'), note('go 2')] },
          STAY: { actions: note('stay') },
          SELF: 'idle',
          MAYBE: [
            { guard: ({ context }) => !context.ready, target: 'c' },
            { guard: ({ event }) => event.n > 1, target: 'b' },
          ],
        },
        entry: note('entry idle'),
      },
      a: { entry: note('entry a'), exit: note('exit a'), always: 'b' },
      b: { entry: note('entry b'), always: [{ target: 'c', actions: note('b to c') }] },
      c: { entry: note('entry c'), final: true },
    },
  })
  const context = () => ({ notes: [] as string[], ready: true })

  test('[N07] [N08] runs exit, transition and entry in order, and `always` until none applies', async () => {
    const moved = await sent(chain, 'idle', 'GO', context())
    expect(wayOf(moved)).toEqual(['idle→a GO', 'a→b GO', 'b→c GO'])
    expect(moved.place).toBe('c')
    expect((moved.state as Notes).notes).toEqual([
      'exit idle',
      'and again',
      'go 1',
      'go 2',
      'entry a',
      'exit a',
      'entry b',
      'b to c',
      'entry c',
    ])
  })

  test('of a rule without target leaves and enters nothing, and counts', async () => {
    const moved = await sent(chain, 'idle', 'STAY', context())
    expect([wayOf(moved), (moved.state as Notes).notes]).toEqual([['idle→idle STAY'], ['stay']])
    const self = await sent(chain, 'idle', 'SELF', context())
    expect((self.state as Notes).notes).toEqual(['exit idle', 'and again', 'entry idle'])
  })

  test('[N06] [N10] takes the first rule whose guard says true, or none of them', async () => {
    const { place } = await sent(chain, 'idle', 'MAYBE', { ...context(), ready: false })
    expect(place).toBe('c')
    const second = await sent(chain, 'idle', 'MAYBE', context(), { n: 2 })
    expect(wayOf(second)).toEqual(['idle→b MAYBE', 'b→c MAYBE'])
    const state = context()
    expect(await sent(chain, 'idle', 'MAYBE', state, { n: 1 })).toEqual({
      place: 'idle',
      state,
      moves: [],
    })
  })

  test('is its type and its fields, and an action has what a transition has', async () => {
    const seen: unknown[] = []
    const looking = machine('looking', {
      initial: 'open',
      context: {},
      states: {
        open: {
          on: {
            LOOK: {
              actions: ({ event, run, log, emit }) => {
                seen.push(event, run.id, log.info('said'), emit('x' as never, 1 as never))
              },
            },
          },
        },
      },
    })
    await sent(looking, 'open', 'LOOK', {}, { type: 'OTHER', n: 1 })
    expect(seen).toEqual([{ type: 'LOOK', n: 1 }, 'run-1', 'said', 'run-1 x'])
    expect(await refusalOf(() => sent(looking, 'open', 'LOOK', {}, 5))).toBe(
      'The payload of event "LOOK" of machine "looking" is 5, and not an object of fields. [PAYLOAD_INVALID] send { type: \'NAME\', field: value }, or trigger(\'NAME\', { field: value })',
    )
  })

  test('[N09] makes 100 transitions, and fails with the 101st', async () => {
    const circle = (stopsAt: number, more: object = {}) =>
      machine('circle', {
        initial: 'a',
        context: { n: 0 },
        states: {
          a: { on: { GO: 'b' } },
          b: {
            always: {
              guard: ({ context }) => context.n < stopsAt,
              actions: ({ context }) => {
                context.n += 1
              },
            },
          },
        },
        ...more,
      })
    const { moves } = await sent(circle(99), 'a', 'GO', { n: 0 })
    expect(moves).toHaveLength(100)
    expect(await refusalOf(() => sent(circle(100), 'a', 'GO', { n: 0 }))).toBe(
      'Run run-1: event "GO" made transition 101 in state "b", and the limit is 100. [TRANSITION_TOO_DEEP] let a guard end the circle of "always", or raise maxTransitionDepth; nothing was changed',
    )
    const deep = await sent(circle(500, { maxTransitionDepth: 501 }), 'a', 'GO', { n: 0 })
    expect(deep.moves).toHaveLength(501)
  })

  test('[N06] whose guard gives no boolean fails, and says which rule it was', async () => {
    const odd = (guard: () => unknown) =>
      machine('odd', {
        initial: 'a',
        context: {},
        states: {
          a: {
            on: {
              GO: ['b', 'a'],
              ODD: [{ guard: () => false }, { guard: guard as () => boolean }],
            },
          },
          b: { always: { guard: guard as () => boolean, target: 'a' } },
        },
      })
    expect(
      await refusalOf(() =>
        sent(
          odd(() => 1),
          'a',
          'ODD',
          {},
        ),
      ),
    ).toBe(
      'The guard of rule 2 of event "ODD" in state "a" of machine "odd" gave 1: a guard says true or false. [GUARD_INVALID] compare, as in count > 0, or write Boolean(…)',
    )
    const failing = odd(async () => {
      throw new Error('nobody awaits it')
    })
    expect(await refusalOf(() => sent(failing, 'a', 'GO', {}))).toBe(
      'The guard of rule 1 of always in state "b" of machine "odd" gave a promise: a guard says true or false. [GUARD_INVALID] a guard here is synchronous: look things up in an action, and keep them in the context',
    )
  })
})

describe('a machine of states and events', () => {
  const picking = machine('picking', {
    version: '3',
    initial: 'idle',
    context: { items: 0, tags: [] as string[] },
    events: { START: typed<{ items: number }>(), STOP: typed<object>() },
    states: {
      idle: { on: { START: 'picking' }, timeout: '1h' },
      picking: { timeoutMinutes: 30, on: { TIMEOUT: 'over', STOP: ['over', 'idle'] } },
      over: { final: true },
    },
  })

  test('[N05] begins with its own copy of the context, and the input laid over it', () => {
    const { begin, initial, begins, takesEvents, self, places } = machineOf(picking)
    expect({ initial, begins, takesEvents, self: self() }).toEqual({
      initial: 'idle',
      begins: undefined,
      takesEvents: true,
      self: null,
    })
    const first = begin(undefined) as { tags: string[] }
    first.tags.push('mine')
    expect(begin({ items: 3 })).toEqual({ items: 3, tags: [] })
    expect([...places.keys()]).toEqual(['idle', 'picking', 'over'])
    let made = 0
    const counting = machine('counting', {
      initial: 'a',
      context: () => ({ n: ++made }),
      states: { a: {} },
    })
    expect([machineOf(counting).begin(null), machineOf(counting).begin({})]).toEqual([
      { n: 1 },
      { n: 2 },
    ])
  })

  test('knows what can be sent to it, and what its states take', () => {
    const { machine, signals, version, input } = made(picking)
    expect([version, Object.keys(signals).sort()]).toEqual(['3', ['START', 'STOP', 'TIMEOUT']])
    const inPicking = machine.places.get('picking')
    expect([...(inPicking?.waiting.keys() ?? [])]).toEqual(['TIMEOUT', 'STOP'])
    expect(inPicking?.waiting.get('STOP')).toMatchObject({
      schema: signals.STOP,
      targets: ['over', 'idle'],
      guard: null,
    })
    const validate = input?.['~standard'].validate
    expect([validate?.(undefined), validate?.({}), validate?.(5)]).toEqual([
      { value: undefined },
      { value: {} },
      { issues: [{ message: 'must be an object: it is laid over the context' }] },
    ])
  })

  test('[N15] times out in a state with the event of its own', async () => {
    const { places } = machineOf(picking)
    const [late] = places.get('picking')?.late ?? []
    expect(late?.afterMs).toBe(1_800_000)
    expect(wayOf(await fire(late?.transition, {}))).toEqual(['picking→over TIMEOUT'])
    // Nobody has said what it does there: nothing.
    const [idle] = places.get('idle')?.late ?? []
    expect((await fire(idle?.transition, {})).moves).toEqual([])
    const other = machine('other', {
      initial: 'a',
      context: {},
      timeoutEvent: 'LATE',
      states: { a: { timeout: 5, on: { LATE: 'b' } }, b: {} },
    })
    const [named] = machineOf(other).places.get('a')?.late ?? []
    expect(wayOf(await fire(named?.transition, {}))).toEqual(['a→b LATE'])
  })

  test('ends with its state and context, or with what `output` makes of them', () => {
    expect(machineOf(picking).end('over', { items: 1 })).toEqual({
      state: 'over',
      context: { items: 1 },
    })
    const short = machine('short', {
      initial: 'a',
      context: { n: 1 },
      states: { a: { final: true } },
      output: ({ state, context }) => `${state}${context.n}`,
    })
    expect(machineOf(short).end('a', { n: 2 })).toBe('a2')
  })

  test('enters its first state when it begins', async () => {
    const eager = machine('eager', {
      initial: 'a',
      context: { notes: [] as string[] },
      states: { a: { entry: note('entry a'), always: 'b' }, b: { entry: note('entry b') } },
    })
    const moved = await fire(machineOf(eager).begins, { notes: [] })
    expect(moved).toEqual({
      place: 'b',
      state: { notes: ['entry a', 'entry b'] },
      moves: [{ from: 'a', to: 'b', event: '(begin)' }],
    })
  })
})

describe('refused where it is written [N24]', () => {
  const make = (config: object) => () =>
    machine('m', { initial: 'a', context: {}, states: { a: {}, bee: {} }, ...config } as never)
  const inA = (a: unknown) => make({ states: { a, bee: {} } })

  test.each<[string, () => unknown, string]>([
    [
      'an unknown target',
      inA({ on: { GO: 'be' } }),
      'Event "GO" of state "a" of machine("m") leads to "be", which is no state. [DEFINITION_INVALID] did you mean "bee"?',
    ],
    [
      'an unknown target of one of several',
      inA({ always: ['bee', { target: 'elsewhere' }] }),
      'Rule 2 of always of state "a" of machine("m") leads to "elsewhere", which is no state. [DEFINITION_INVALID] its states are a, bee',
    ],
    [
      'no initial state',
      make({ initial: undefined }),
      'machine("m") has no initial state. [DEFINITION_INVALID] give initial: one of a, bee',
    ],
    [
      'an unknown initial state',
      make({ initial: 'be' }),
      'machine("m") begins in "be", which is no state. [DEFINITION_INVALID] did you mean "bee"?',
    ],
    [
      'no states',
      make({ states: {} }),
      'machine("m") has no states. [DEFINITION_INVALID] give it states: { open: { on: { … } }, … }',
    ],
    [
      'states that are none',
      make({ states: 5 }),
      'Option "states" in machine("m") cannot be 5: it must be an object of states, by name. [OPTION_INVALID] give an object of states, by name',
    ],
    [
      'a negative timeout',
      inA({ timeoutMinutes: -1 }),
      'Option "timeoutMinutes" in state "a" of machine("m") cannot be -1: it must be a number of minutes, 0 or more. [OPTION_INVALID] give a number of minutes, 0 or more',
    ],
    [
      'a negative duration',
      inA({ timeout: -1 }),
      "-1 is not a duration. [DURATION_INVALID] write a whole number and one unit: ms, s, min, h, day, week, y ('500ms', '5min', '2 days'), or milliseconds as a number",
    ],
    [
      'two timeouts',
      inA({ timeout: '1h', timeoutMinutes: 1 }),
      'State "a" of machine("m") has both "timeout" and "timeoutMinutes". [DEFINITION_INVALID] keep one of them',
    ],
    [
      'an unknown option',
      make({ contxt: {} }),
      'Unknown option "contxt" in machine("m"). [OPTION_UNKNOWN] did you mean "context"?',
    ],
    [
      'an unknown option of a state',
      inA({ onn: {} }),
      'Unknown option "onn" in state "a" of machine("m"). [OPTION_UNKNOWN] did you mean "on"?',
    ],
    [
      'an unknown option of a rule',
      inA({ on: { GO: { targte: 'bee' } } }),
      'Unknown option "targte" in event "GO" of state "a" of machine("m"). [OPTION_UNKNOWN] did you mean "target"?',
    ],
    [
      'a rule that is none',
      inA({ on: { GO: 5 } }),
      'Event "GO" of state "a" of machine("m") is 5. [DEFINITION_INVALID] write the name of a state, or { target: \'state\', guard, actions }',
    ],
    [
      'a guard that is no function',
      inA({ on: { GO: { guard: 'isOwner' } } }),
      'Option "guard" in event "GO" of state "a" of machine("m") cannot be "isOwner": it must be a function: ({ context, event }) => true or false. [OPTION_INVALID] give a function: ({ context, event }) => true or false',
    ],
    [
      'actions that are no functions',
      inA({ on: { GO: { actions: [() => {}, 'log'] } } }),
      'Option "actions" in event "GO" of state "a" of machine("m") cannot be "log": it must be a function, or a list of them. [OPTION_INVALID] give a function, or a list of them',
    ],
    [
      'a final state that can be left',
      inA({ final: true, on: { GO: 'bee' } }),
      'State "a" of machine("m") is final, and has "on". [DEFINITION_INVALID] a run that is there is over: leave out final: true, or "on"',
    ],
    [
      'a final state with a timeout',
      inA({ final: true, timeoutMinutes: 1 }),
      'State "a" of machine("m") is final, and has "timeout". [DEFINITION_INVALID] a run that is there is over: leave out final: true, or "timeout"',
    ],
    [
      'an event that is not declared',
      make({ events: { GOING: typed<object>() }, states: { a: { on: { GOIN: 'a' } } } }),
      'Event "GOIN" in state "a" of machine("m") is not one of the events of the machine. [DEFINITION_INVALID] did you mean "GOING"?',
    ],
    [
      'an event without a schema',
      make({ events: { GO: 'text' } }),
      'Option "events.GO" in machine("m") cannot be "text": it must be a Standard Schema (Zod, Valibot, ArkType, …) or typed<T>(). [OPTION_INVALID] give a Standard Schema (Zod, Valibot, ArkType, …) or typed<T>()',
    ],
    [
      'the name of an event',
      inA({ on: { '(retry)': 'bee' } }),
      '"(retry)" cannot be the name of an event, in state "a" of machine("m"). [NAME_INVALID] use a text of 1 to 256 bytes without control characters, without spaces at its ends and without a bracket at its beginning',
    ],
    [
      'the name of a state',
      make({ states: { a: {}, ' b': {} } }),
      '" b" cannot be the name of a state of machine("m"). [NAME_INVALID] use a text of 1 to 256 bytes without control characters, without spaces at its ends and without a bracket at its beginning',
    ],
    [
      'a context that is none',
      make({ context: [] }),
      'Option "context" in machine("m") cannot be []: it must be an object, or a function that makes one. [OPTION_INVALID] give an object, or a function that makes one',
    ],
    [
      'a context that cannot be stored',
      make({ context: { send: () => {} } }),
      'Cannot store the context of machine("m"): .send is a function. [VALUE_UNSTORABLE] return what you need, such as { id: order.id }, or use braces to return nothing: () => { … }',
    ],
    [
      'a depth',
      make({ maxTransitionDepth: 0 }),
      'Option "maxTransitionDepth" in machine("m") cannot be 0: it must be a whole number above 0. [OPTION_INVALID] give a whole number above 0',
    ],
    [
      'an output that is no function',
      make({ output: 5 }),
      'Option "output" in machine("m") cannot be 5: it must be a function: ({ state, context }) => …. [OPTION_INVALID] give a function: ({ state, context }) => …',
    ],
  ])('%s', async (_what, config, refusal) => {
    expect(await refusalOf(config)).toBe(refusal)
  })

  test('an input that is no object', async () => {
    const one = machineOf(make({})())
    expect(await refusalOf(() => one.begin(5))).toContain('The input of machine("m") is 5.')
  })
})

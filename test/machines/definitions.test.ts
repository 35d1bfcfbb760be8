// A class becomes a machine, or is refused where it is written.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { madeOf } from '../../src/authoring/definition.js'
import type { Machine, Place } from '../../src/authoring/machine/description.js'
import { asBoolean } from '../../src/authoring/machine/guard.js'
import { machine } from '../../src/authoring/machine/machine.js'
import { typed } from '../../src/authoring/schema.js'
import { readEngineOptions } from '../../src/engine/options.js'
import { PerdureError } from '../../src/model/errors.js'
import { NO_RETRY } from '../../src/model/retry.js'
import { compiled, KINDS } from './compiled.js'

type Classes = typeof import('./classes.js')

function machineMade(definition: unknown) {
  const made = madeOf(definition)
  if (made?.kind !== 'machine') throw new Error('no machine was made')
  return made
}

function placeIn({ places }: Machine, name: string): Place {
  const place = places.get(name)
  if (!place) throw new Error(`there is no place ${name}`)
  return place
}

const names = (transitions: Iterable<{ readonly name: string }>) =>
  [...transitions].map(({ name }) => name)

function refusal(make: () => unknown): string {
  try {
    make()
  } catch (error) {
    if (PerdureError.is(error)) return `${error.message} [${error.code}] ${error.hint}`
    throw error
  }
  return 'it was not refused'
}

const CTX = { input: { owner: 'ada' }, place: 'somewhere' }
const calling = (self: object | null, state: unknown, payload?: unknown) =>
  ({ self, state, payload, context: CTX }) as never

/** What is said of each wrong class: with either kind of decorators the same. */
const REFUSALS: Record<string, string> = {
  '[E19] no transitions':
    'No transition of class Wrong leaves "start", where every run begins. [DEFINITION_INVALID] let one begin there: from: \'start\'',
  'nothing leaves start':
    'No transition of class Wrong leaves "start", where every run begins. [DEFINITION_INVALID] did you mean "start" by "strat"?',
  '[E19] several leave start':
    '2 transitions of class Wrong leave "start": write, copy. [DEFINITION_INVALID] let one of them leave "start", and choose behind it with guards',
  '[E19] no such guard':
    'Method write of class Wrong asks guard "isOwnr", which the class does not have. [DEFINITION_INVALID] did you mean "isOwner"?',
  'a guard that is a field':
    'Method write of class Wrong asks guard "allowed", which the class does not have. [DEFINITION_INVALID] write a method of that name, or give @Guard a function',
  '[E19] two unguarded':
    'Two transitions of class Wrong leave "a" by themselves, and neither has a guard: one, two. [DEFINITION_INVALID] give the one of higher priority a guard, or let one wait',
  '[E19] an error place without a way out':
    'Method write of class Wrong fails into "faild", which no transition leaves. [DEFINITION_INVALID] did you mean "failed"?',
  'end as an error place':
    'Method write of class Wrong fails into "end", which no transition leaves. [DEFINITION_INVALID] add a transition from: \'end\', such as one with wait: true',
  'a dead end':
    'Method write of class Wrong leads to "reviewin", which no transition leaves. [DEFINITION_INVALID] did you mean "reviewing"?',
  'a dead end without a likeness':
    "Method write of class Wrong leads to \"elsewhere\", which no transition leaves. [DEFINITION_INVALID] add a transition from: 'elsewhere', or end the run with to: 'end'",
  'a place that is never entered':
    'Method approve of class Wrong leaves "reviewing", which no transition leads to. [DEFINITION_INVALID] add a transition to: \'reviewing\', or leave this one out',
  'leaves the end':
    'Method approve of class Wrong leaves "end", where every run is over. [DEFINITION_INVALID] give that place another name, or leave the transition out',
  'one place twice':
    'Method approve of class Wrong leaves "a" twice. [DEFINITION_INVALID] keep one of its transitions from there',
  'after and wait':
    'Method write of class Wrong has both "after" and "wait". [DEFINITION_INVALID] a transition waits for a message or for a time: keep one of them',
  'a schema without wait':
    'Method write of class Wrong has a schema, and takes no payload. [DEFINITION_INVALID] add wait: true, or leave the schema out',
  'waits only sometimes':
    'Method write of class Wrong waits in one of its transitions, and not in another: it would be given a payload only sometimes. [DEFINITION_INVALID] write two, and let both call what they share',
  'two schemas':
    'Method approve of class Wrong has two schemas: whoever sends its payload could not know which one counts. [DEFINITION_INVALID] give all of its transitions the same schema, or write two',
  '[R23] by hand and elsewhere':
    'Method write of class Wrong has retry.attempts -1, and retry.place: a person is to try it again, and it is to go elsewhere. [DEFINITION_INVALID] keep one of them: attempts: 0 goes to the place at the first failure',
  'an unknown option':
    'Unknown option "prioriti" in the transition of method write of class Wrong. [OPTION_UNKNOWN] did you mean "priority"?',
  'an unknown option of the retry':
    'Unknown option "attemps" in retry of the transition of method write of class Wrong. [OPTION_UNKNOWN] did you mean "attempts"?',
  'no target':
    'Option "to" in the transition of method write of class Wrong cannot be undefined: it must be the name of a place. [OPTION_INVALID] give the name of a place',
  'a place that cannot be one':
    '" end" cannot be the name of a place, in the transition of method write of class Wrong. [NAME_INVALID] use a text of 1 to 256 bytes without control characters, without spaces at its ends and without a bracket at its beginning',
  'a guard without a transition':
    'Method write of class Wrong has a guard, and no transition. [DEFINITION_INVALID] add @Transition, or leave @Guard out',
  'two guards':
    'Method write of class Wrong has 2 guards. [DEFINITION_INVALID] write one that asks all of them',
  'a static method': '@Transition stands on the static METHOD write.',
  'an unknown option of the class':
    'Unknown option "vresion" in @Workflow of class Wrong. [OPTION_UNKNOWN] did you mean "version"?',
  'a name that cannot be one':
    '"1st" cannot be the name of a machine. [NAME_INVALID] use a letter, then up to 127 of letters, digits, _ . -',
  'a schema that is none':
    'Option "state" in @Workflow of class Wrong cannot be 5: it must be a Standard Schema (Zod, Valibot, ArkType, …) or typed<T>(). [OPTION_INVALID] give a Standard Schema (Zod, Valibot, ArkType, …) or typed<T>()',
  'a schema in two places':
    'The schema "state" is in @Workflow of class Wrong, and is static in the class too. [DEFINITION_INVALID] keep the static one: types are read from there',
  'twice a workflow': 'class Wrong has @Workflow twice. [DEFINITION_INVALID] keep one',
}

describe.each(KINDS)('with %s decorators', (decorators) => {
  let classes: () => Promise<Classes>
  beforeAll(async () => {
    // What decorators of a class share, where there is such a thing: Node has none yet.
    if (decorators === 'standard, with metadata') {
      Object.defineProperty(Symbol, 'metadata', { value: Symbol('metadata'), configurable: true })
    }
    const made = await compiled<Classes>('classes', decorators)
    classes = async () => made
  })
  afterAll(() => void Reflect.deleteProperty(Symbol, 'metadata'))

  test('a class is a definition, with its schemas and what can be sent to it', async () => {
    const { Review } = await classes()
    const made = machineMade(Review)
    expect(made).toMatchObject({ name: 'review', version: '2', description: 'Two pairs of eyes' })
    expect(made.timeoutMs).toBe(30 * 86_400_000)
    expect([made.input, made.state, made.machine.state, made.machine.output]).toEqual([
      Review.input,
      Review.state,
      Review.state,
      Review.output,
    ])
    expect(Object.keys(made.signals)).toEqual(['approve', 'reject'])
    expect(made.source).toContain('note.by === ctx.input.owner')
  })

  test('[E17] its places know their transitions, by priority and then as they are written', async () => {
    const { Review } = await classes()
    const { machine } = machineMade(Review)
    expect([...machine.places.keys()]).toEqual(['start', 'reviewing', 'end', 'checking', 'broken'])
    const { initial, takesEvents } = machine
    expect({ initial, takesEvents, state: machine.begin({}) }).toEqual({
      initial: 'start',
      takesEvents: false,
      state: {},
    })
    const reviewing = placeIn(machine, 'reviewing')
    expect([...reviewing.waiting.keys()]).toEqual(['approve', 'reject'])
    expect(reviewing.late.map(({ afterMs }) => afterMs)).toEqual([7 * 86_400_000])
    const checking = placeIn(machine, 'checking')
    expect(names(checking.automatic)).toEqual(['again', 'stop'])
    expect(checking.late[0]?.transition).toMatchObject({
      timeoutMs: 5_000,
      errorPlace: 'broken',
      retry: NO_RETRY,
    })
    expect(placeIn(machine, 'end')).toMatchObject({ isFinal: true, automatic: [], late: [] })
  })

  test('[R01] [R02] [R03] retries: a number, none, and by hand', async () => {
    const { Review } = await classes()
    const { machine } = machineMade(Review)
    const { waiting } = placeIn(machine, 'reviewing')
    expect(waiting.get('approve')).toMatchObject({ retry: NO_RETRY, timeoutMs: undefined })
    expect(waiting.get('reject')).toMatchObject({
      retry: { ...NO_RETRY, attempts: 3 },
      timeoutMs: null,
    })
    expect(placeIn(machine, 'broken').late[0]?.transition.retry).toEqual(NO_RETRY)
  })

  test('a method is given the state, the payload if it waits, and ctx', async () => {
    const { Review } = await classes()
    const { machine } = machineMade(Review)
    const self = machine.self() as InstanceType<Classes['Review']>
    expect(self).toBeInstanceOf(Review)
    const [write] = placeIn(machine, 'start').automatic
    expect(await write?.run(calling(self, {}))).toEqual({
      place: 'reviewing',
      state: { rounds: 3 },
      moves: [{ from: 'start', to: 'reviewing', event: 'write' }],
    })
    expect(self.rounds).toBe(1)
    const { waiting } = placeIn(machine, 'reviewing')
    expect(
      await waiting.get('reject')?.run(calling(self, { rounds: 3 }, { by: 'b' })),
    ).toMatchObject({
      place: 'checking',
      state: { rounds: 3, draft: 'b' },
    })
    expect(await waiting.get('approve')?.run(calling(self, { rounds: 3 }, { by: 'b' }))).toEqual({
      place: 'end',
      state: { rounds: 3 },
      output: { value: { by: 'b' } },
      moves: [{ from: 'reviewing', to: 'end', event: 'approve' }],
    })
    const [, stop] = placeIn(machine, 'checking').automatic
    expect(await stop?.run(calling(self, {}))).not.toHaveProperty('output')
  })

  test('a guard is a method or a function, above or below its transition', async () => {
    const { Review } = await classes()
    const { machine } = machineMade(Review)
    const self = machine.self()
    const { waiting } = placeIn(machine, 'reviewing')
    const ask = (name: string, by: string) => waiting.get(name)?.guard?.(calling(self, {}, { by }))
    expect([ask('approve', 'ada'), ask('approve', 'bob')]).toEqual([true, false])
    expect([ask('reject', 'bob'), ask('reject', '')]).toEqual([true, false])
    const [again] = placeIn(machine, 'checking').automatic
    expect(again?.guard?.(calling(self, { draft: 'ab' }))).toBe(true)
    expect(again?.guard?.(calling(self, { draft: 'abc' }))).toBe(false)
  })

  test('transitions are inherited, and the code of the class that has the last word runs', async () => {
    const { Derived } = await classes()
    const { machine } = machineMade(Derived)
    expect([...machine.places.keys()]).toEqual(['start', 'middle', 'end'])
    const [second] = placeIn(machine, 'middle').automatic
    expect(await second?.run(calling(machine.self(), {}))).toMatchObject({
      output: { value: 'derived' },
    })
    class Further extends Derived {}
    expect(madeOf(Further)).toBeNull()
  })

  test('the method may be that of another decorator below', async () => {
    const { Wrapped } = await classes()
    const { machine } = machineMade(Wrapped)
    const [below] = placeIn(machine, 'start').automatic
    expect(await below?.run(calling(machine.self(), {}))).toMatchObject({
      output: { value: 'logged below' },
    })
  })

  test.each(Object.keys(REFUSALS))('%s: refused', async (which) => {
    const { wrong } = await classes()
    const name = which.replace(/^\[\w+\] /, '')
    const method = decorators === 'legacy' ? 'member' : 'method'
    expect(refusal(wrong[name] ?? (() => {}))).toContain(
      REFUSALS[which]?.replace('METHOD', method) ?? 'nothing',
    )
  })

  test('every wrong class is here', async () => {
    const named = Object.keys(REFUSALS).map((which) => which.replace(/^\[\w+\] /, ''))
    expect(Object.keys((await classes()).wrong)).toEqual(named)
  })
})

test('a class without @Workflow is refused by createEngine, with what to do', () => {
  class Plain {}
  const options = { database: 'memory:', workflows: [Plain] }
  expect(refusal(() => readEngineOptions(options, {}))).toBe(
    "workflows[0] is no definition: class Plain has no @Workflow. [DEFINITION_INVALID] write @Workflow({ name: '…' }) above the class",
  )
})

test('another code is another build', () => {
  const build = (run: () => unknown) => {
    const one = machine('m', { transitions: { go: { to: 'end', run } } })
    return readEngineOptions({ database: 'memory:', workflows: [one] }, {}).build
  }
  expect(build(() => 1)).not.toBe(build(() => 2))
})

test('[E18] a guard says true or false, and nothing else', () => {
  expect([asBoolean(true, 'x'), asBoolean(false, 'x')]).toEqual([true, false])
  expect(refusal(() => asBoolean({}, 'The guard of method approve'))).toBe(
    'The guard of method approve gave {}: a guard says true or false. [GUARD_INVALID] compare, as in count > 0, or write Boolean(…)',
  )
})

describe('as an object of transitions', () => {
  const review = machine('review', {
    state: typed<{ draft?: string }>(),
    output: typed<string>(),
    transitions: {
      write: { to: 'reviewing', run: (state) => ({ ...state, draft: 'text' }) },
      approve: {
        from: 'reviewing',
        to: 'end',
        wait: true,
        schema: typed<{ by: string }>(),
        guard: (_state, { by }) => by !== '',
        run: (state, { by }) => `${state.draft} ${by}`,
      },
      back: { from: 'reviewing', to: 'start', wait: true },
    },
  })

  test('it is the same machine', async () => {
    const made = machineMade(review)
    const { machine } = made
    expect([review.kind, made.kind, machine.self()]).toEqual(['machine', 'machine', null])
    const [write] = placeIn(machine, 'start').automatic
    expect(await write?.run(calling(null, {}))).toMatchObject({ state: { draft: 'text' } })
    const { waiting } = placeIn(machine, 'reviewing')
    const approve = waiting.get('approve')
    expect(approve?.guard?.(calling(null, {}, { by: '' }))).toBe(false)
    expect(await approve?.run(calling(null, { draft: 'a' }, { by: 'b' }))).toMatchObject({
      output: { value: 'a b' },
    })
    expect(await waiting.get('back')?.run(calling(null, { draft: 'a' }))).toMatchObject({
      place: 'start',
      state: { draft: 'a' },
    })
    expect(Object.keys(made.signals)).toEqual(['approve', 'back'])
  })

  test('refused: what cannot be one', () => {
    const make = (transitions: unknown) => () => machine('m', { transitions } as never)
    expect(refusal(make([]))).toBe(
      'Option "transitions" in machine("m") cannot be []: it must be an object of transitions, by name. [OPTION_INVALID] give an object of transitions, by name',
    )
    expect(refusal(make({ go: 'end' }))).toBe(
      "Transition go of machine(\"m\") is no transition. [DEFINITION_INVALID] write { from: 'here', to: 'there', run }",
    )
    expect(refusal(make({ go: { to: 'end', rum: () => {} } }))).toBe(
      'Unknown option "rum" in machine("m").transitions.go. [OPTION_UNKNOWN] did you mean "run"?',
    )
    expect(refusal(make({ go: { to: 'end', guard: 'isOwner' } }))).toBe(
      'Option "guard" in transition go of machine("m") cannot be "isOwner": it must be a function: (state, …) => …. [OPTION_INVALID] give a function: (state, …) => …',
    )
    expect(refusal(make({ '(go)': { to: 'end' } }))).toContain(
      '"(go)" cannot be the name of a transition of machine("m"). [NAME_INVALID]',
    )
    expect(refusal(make({ go: { to: 'done' } }))).toContain(
      'Transition go of machine("m") leads to "done", which no transition leaves. [DEFINITION_INVALID]',
    )
    expect(refusal(() => machine('1m', {} as never))).toContain('[NAME_INVALID]')
    expect(refusal(() => machine('m', 5 as never))).toContain(
      'Option "config" in machine("m") cannot be 5',
    )
  })
})

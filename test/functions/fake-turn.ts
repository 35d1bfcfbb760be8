// A hand-driven double of the seam: it executes steps at once, notes every question, and can replay a first
// pass. It is not a kernel: no journal, no retries, no time.

import type { Made, Surroundings } from '../../src/authoring/definition.js'
import { madeOf } from '../../src/authoring/definition.js'
import { programOf } from '../../src/authoring/program.js'
import { throwRecordedAs } from '../../src/authoring/recorded.js'
import type { Log } from '../../src/authoring/types.js'
import { decode, encode } from '../../src/model/codec.js'
import type { RunId, Uid } from '../../src/model/ids.js'
import {
  type Attempt,
  type ChildOrder,
  type Due,
  Failure,
  type StepOrder,
  type Turn,
  type Wish,
} from '../../src/model/program.js'
import type { Message, RunFacts, Stored } from '../../src/model/run.js'

export type Question =
  | { kind: 'step'; name: string; order: StepOrder }
  | { kind: 'sleep'; name: string; due: Due }
  | { kind: 'receive'; name: string; wish: Wish }
  | { kind: 'child'; name: string; order: ChildOrder }
  | { kind: 'mark'; name: string }
  | { kind: 'expires'; name: string }
  | { kind: 'stop' | 'show'; name: string }

export interface Script {
  /** What receive gives, in order. */
  readonly messages?: readonly (Partial<Message> | null)[]
  /** What children give. */
  readonly child?: (order: ChildOrder) => Promise<Stored>
  readonly replaying?: () => boolean
  readonly run?: Partial<RunFacts>
  readonly attempt?: Partial<Attempt>
}

export interface Driven {
  readonly questions: Question[]
  readonly logged: [string, string, object | undefined][]
  readonly outcome: Promise<Stored>
  /** The output, decoded. */
  output(): Promise<unknown>
  /** What the body rejected with. */
  failure(): Promise<Failure>
}

const FACTS: RunFacts = {
  uid: '01890000-0000-7000-8000-000000000001' as Uid,
  id: 'run-1' as RunId,
  workspace: 'default',
  definition: 'w',
  version: '1',
  input: encode(undefined, 'nothing'),
  order: null,
  tags: {},
  parentUid: null,
  parentId: null,
  createdAt: 1_000,
  startedAt: 2_000,
  deadlineAt: null,
}

export const given = (value: unknown): Stored => encode(value, 'a test value')

/** Executes the body of `definition` with this input, once. */
export function drive(
  definition: unknown,
  input?: unknown,
  script: Script = {},
  known: unknown[] = [],
): Driven {
  const made = madeOf(definition) as Made
  const questions: Question[] = []
  const logged: Driven['logged'] = []
  const definitions = new Map(known.map((d) => [madeOf(d)?.name, madeOf(d) as Made]))
  const around: Surroundings = {
    log: logInto(logged),
    throwRecorded: throwRecordedAs(new Map()),
    tx: (client) => client,
    valueBytesMax: 100_000,
    transitionTimeoutMs: null,
    isStateless: false,
    events: null,
    nodeTypes: new Map(),
    http: () => Promise.reject(new Error('nobody is called here')),
    find: (name) => definitions.get(name),
  }
  const run = { ...FACTS, definition: made.name, input: given(input), ...script.run }
  const outcome = programOf(made, around).body(makeTurn(run, questions, script))
  outcome.catch(() => {})
  return {
    questions,
    logged,
    outcome,
    output: async () => decode(await outcome),
    failure: () =>
      outcome.then(
        () => Promise.reject(new Error('the body did not fail')),
        (failure: Failure) => failure,
      ),
  }
}

function logInto(logged: Driven['logged']): Log {
  const say = (level: string) => (message: string, data?: object) => {
    logged.push([level, message, data])
  }
  return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }
}

function makeTurn(run: RunFacts, questions: Question[], script: Script): Turn {
  const messages = [...(script.messages ?? [])]
  const stopping = new AbortController().signal
  return {
    run,
    path: '',
    stopping,
    get replaying() {
      return script.replaying?.() ?? false
    },
    now: () => 5_000,
    step: async (name, order) => {
      questions.push({ kind: 'step', name, order })
      return (await order.execute(attemptOf(name, script))).value
    },
    sleep: async (name, due) => void questions.push({ kind: 'sleep', name, due }),
    receive: async (name, wish) => {
      questions.push({ kind: 'receive', name, wish })
      return (messages.shift() ?? null) as Message | null
    },
    child: async (name, order) => {
      questions.push({ kind: 'child', name, order })
      return script.child ? script.child(order) : given(undefined)
    },
    record: () => Promise.reject(new Error('not used')),
    scope: () => Promise.reject(new Error('not used')),
    race: () => Promise.reject(new Error('not used')),
    loop: () => Promise.reject(new Error('not used')),
    show: ({ state = '' }) => void questions.push({ kind: 'show', name: state }),
    mark: (name) => {
      questions.push({ kind: 'mark', name })
      return true
    },
    expires: (at) => void questions.push({ kind: 'expires', name: String(at) }),
    stop: (name) => {
      questions.push({ kind: 'stop', name })
      return new Promise<never>(() => {})
    },
  }
}

function attemptOf(name: string, script: Script): Attempt {
  return {
    step: name,
    number: 1,
    now: () => 5_000,
    kept: null,
    past: async () => {},
    documents: async () => [],
    idempotencyKey: `key of ${name}`,
    signal: new AbortController().signal,
    outside: null as never,
    publish: () => {},
    transaction: async (_limitMs, work) =>
      work({
        query: async () =>
          Object.assign(Object.create({ driver: () => {} }), {
            rows: [{ a: 1 }],
            rowCount: 1,
            extra: () => {},
          }),
      }),
    ...script.attempt,
  }
}

export const failed = (error: Stored, name: string): Failure =>
  new Failure(error, { question: { name, occurrence: 1 } })

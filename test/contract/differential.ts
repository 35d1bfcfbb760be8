// The same random calls on several stores. The one in memory is what the simulation trusts: it must say what the SQL says.

import type { Store } from '../../src/kernel/store.js'
import { StoreRefused } from '../../src/kernel/store.js'
import type { Driver } from '../../src/store/driver.js'
import { MemoryStore } from '../../src/store/memory.js'
import { openSqlStore } from '../../src/store/sql-store.js'
import { Rng } from '../simulation/scheduler.js'
import { type Operation, Operations, snapshot } from './operations.js'

export interface Compared {
  readonly name: string
  readonly store: Store
  setClock(at: number): Promise<void>
  /** Of all mailboxes. */
  messages(): Promise<unknown>
}

const BASE_AT = 1_700_000_000_000
export const MAILBOX_MAX = 6

/** A schema of its own, with a clock that stands still until it is moved. */
export async function onDriver(name: string, driver: Driver, schema: string): Promise<Compared> {
  const store = await openSqlStore({ driver, schema, mailboxMax: MAILBOX_MAX })
  return {
    name,
    store,
    setClock: (at) =>
      driver.script(
        `create or replace function ${schema}.clock_v1() returns timestamptz language sql volatile as $f$
           select timestamptz '${new Date(at).toISOString()}' $f$`,
      ),
    messages: () =>
      driver.query(
        'read',
        `select uid::text, no, id, kind, name, payload, taken_seq, reply_seq, (extract(epoch from at) * 1000)::float8 as at
           from ${schema}.messages order by uid, no`,
        [],
      ),
  }
}

function inMemory(): Compared & { readonly store: MemoryStore; now(): number } {
  let now = BASE_AT
  const store = new MemoryStore({ now: () => now, mailboxMax: MAILBOX_MAX })
  return {
    name: 'memory',
    store,
    now: () => now,
    setClock: async (at) => {
      now = at
    },
    messages: async () =>
      [...store.runs.values()]
        .toSorted((a, b) => (a.uid < b.uid ? -1 : 1))
        .flatMap(({ uid, messages }) =>
          messages.map(({ no, id, kind, name, payload, takenSeq, replySeq, at }) => {
            const [taken_seq, reply_seq] = [takenSeq, replySeq]
            return { uid, no, id, kind, name, payload, taken_seq, reply_seq, at }
          }),
        ),
  }
}

export interface Difference {
  readonly step: number
  readonly operation: Operation
  /** What each store has answered. */
  readonly answers: Readonly<Record<string, string>>
}

/** null: all stores agree, in every answer and at the end. Each must be empty. */
export async function differ(
  seed: number,
  steps: number,
  others: readonly Compared[],
  baseAt = BASE_AT,
): Promise<Difference | null> {
  const rng = new Rng(seed)
  const memory = inMemory()
  const all = [memory, ...others]
  const operations = new Operations(rng, memory.store, memory.now)
  const setClock = (at: number) => Promise.all(all.map((one) => one.setClock(at)))
  await setClock(baseAt)
  for (let step = 1; step <= steps; step += 1) {
    if (rng.chance(0.12)) await setClock(memory.now() + rng.pick([1, 10, 50, 1_000, 31_000]))
    const operation = operations.next()
    // One after the other would do, but for the time it takes.
    const said = await Promise.all(all.map(({ store }) => answerOf(() => operation.call(store))))
    const difference = compared(step, operation, all, said)
    if (difference) return difference
  }
  const ends: Operation = { name: 'the end', args: null, call: (store) => snapshot(store) }
  const left = all.map(({ store, messages }) =>
    answerOf(async () => ({ snapshot: await snapshot(store), messages: await messages() })),
  )
  return compared(steps, ends, all, await Promise.all(left))
}

function compared(
  step: number,
  operation: Operation,
  all: readonly Compared[],
  said: readonly string[],
): Difference | null {
  if (said.every((one) => one === said[0])) return null
  return {
    step,
    operation,
    answers: Object.fromEntries(all.map(({ name }, i) => [name, said[i] ?? ''])),
  }
}

/** Keys in one order, nothing undefined; a refusal by its SQLSTATE. */
async function answerOf(call: () => Promise<unknown>): Promise<string> {
  try {
    return JSON.stringify(await call(), ordered) ?? 'nothing'
  } catch (error) {
    if (error instanceof StoreRefused) return `refused ${error.sqlState.slice(0, 2)}`
    throw error
  }
}

function ordered(_key: string, value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

export function shown(seed: number, { step, operation, answers }: Difference): string {
  const lines = Object.entries(answers).map(
    ([name, answer]) => `  ${name}: ${around(answer, answers)}`,
  )
  const what = `${operation.name} ${JSON.stringify(operation.args)}`
  return [`seed ${seed}, step ${step}: the stores differ on ${what}`, ...lines].join('\n')
}

/** Where it begins to differ. */
function around(answer: string, answers: Readonly<Record<string, string>>): string {
  const all = Object.values(answers)
  let at = 0
  while (at < answer.length && all.every((one) => one[at] === answer[at])) at += 1
  return `${answer.slice(Math.max(0, at - 200), at)}>>>${answer.slice(at, at + 200)}`
}

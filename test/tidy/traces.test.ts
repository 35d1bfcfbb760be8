// ARCHITECTURE.md follows one run of each style. Here they are executed: what the database sees must be what it says there.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { graph, machine, task, workflow } from '../../src/index.js'
import type { Delta, ToolStore } from '../../src/kernel/store.js'
import type { Uid } from '../../src/model/ids.js'
import { BEGINS_AT } from '../golden/programs.js'
import { memoryShelf, openStage, type Shelf, type Stage } from '../golden/stages.js'
import { read } from './repository.js'

const TWO_DAYS_MS = 48 * 3_600_000

const order = workflow('order', async (wf) => {
  await wf.do('charge', () => 'paid')
  await wf.sleep('cooling-off', '2 days')
  await wf.transaction('ship', async () => 'shipped')
})

const door = machine('door', {
  initial: 'closed',
  context: { opened: 0 },
  states: {
    closed: {
      on: {
        OPEN: {
          target: 'open',
          actions: ({ context }) => {
            context.opened += 1
          },
        },
      },
    },
    open: { on: { LOCK: 'locked' } },
    locked: { final: true },
  },
})

const say = task('say', (text: string) => text)
const greeting = graph({
  id: 'greeting',
  nodes: [
    { id: 'who', type: 'set', config: { name: 'ada' } },
    { id: 'greet', type: 'task', config: { task: 'say', input: { cel: 'name' } } },
  ],
  edges: [
    { from: 'trigger', to: 'who' },
    { from: 'who', to: 'greet' },
  ],
})

// ── a store that tells ──────────────────────────────────────────────────────────────────────────────────────

class Teller {
  readonly told: string[] = []
  private readonly definitions = new Map<Uid, string>()

  /** The same store. Questions that have found nothing are not told of. */
  of(store: ToolStore): ToolStore {
    const own: Partial<ToolStore> = {
      commit: (by, deltas, options) => {
        this.tell('commit', deltas.map((delta) => this.shown(delta)).join(' + '))
        return store.commit(by, deltas, options)
      },
      claim: async (...args) => {
        const answer = await store.claim(...args)
        this.tell('claim', answer.claimed.map(({ definition }) => definition).join(', '))
        return answer
      },
      admit: async (...args) => {
        const answer = await store.admit(...args)
        const taken = answer.claimed.map(({ definition }) => `${definition}, taken`)
        const due = answer.admitted - taken.length
        this.tell('admit', [...taken, ...(due > 0 ? [`${due} due`] : [])].join(' · '))
        return answer
      },
      load: (wanted) => {
        this.tell('load', wanted.map(({ fence }) => this.definitions.get(fence.uid)).join(', '))
        return store.load(wanted)
      },
      open: async (by, limitMs) => {
        const transaction = await store.open(by, limitMs)
        const close: typeof transaction.close = (delta, options) => {
          this.tell('commit', `${this.shown(delta)}, in the transaction of the step`)
          return transaction.close(delta, options)
        }
        return { ...transaction, close }
      },
    }
    return new Proxy(store, {
      get: (target, key) => {
        const value = Reflect.get(own, key) ?? Reflect.get(target, key, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }

  private tell(call: string, what: string): void {
    if (what !== '') this.told.push(`${call.padEnd(7)} ${what}`)
  }

  private shown(delta: Delta): string {
    if (delta.kind === 'message') return `message ${delta.message.name}${taken(delta)}`
    if (delta.kind === 'start') {
      const { uid, definition, limits } = delta.run
      this.definitions.set(uid, definition)
      return `start ${definition}${limits ? ', asks for a slot' : taken(delta)}`
    }
    const brings = (delta.brings?.messages ?? []).map(({ name }) => `message ${name}`)
    const facts = delta.entries.map(({ kind, name }) => `${kind} ${name}`.trim())
    const starts = delta.starts.map((start) => `, ${this.shown(start)}`)
    const messages = delta.messages.map((message) => `, message to its parent${taken(message)}`)
    return `${[...brings, ...facts].join(' · ')} → ${delta.next.kind}${[...starts, ...messages].join('')}`
  }
}

const taken = ({ claim }: { readonly claim: boolean }): string => (claim ? ', taken' : '')

// ── the three runs ──────────────────────────────────────────────────────────────────────────────────────────

describe('ARCHITECTURE.md tells what the database sees', () => {
  const teller = new Teller()
  let stage: Stage

  beforeAll(async () => {
    const shelf = memoryShelf()
    const heard: Shelf = { ...shelf, open: async () => teller.of(await shelf.open()) }
    const definitions = [order, door, say, greeting]
    stage = await openStage(heard, { definitions, errors: [] }, { nowMs: BEGINS_AT, seed: 'told' })
  })
  afterAll(() => stage.close())

  /** What it sees of these calls, each made when nothing goes on by itself any more. */
  const seenOf = async (...calls: readonly (() => Promise<unknown>)[]): Promise<string> => {
    teller.told.splice(0)
    for (const call of calls) {
      await call()
      await stage.settle()
    }
    return teller.told.join('\n')
  }

  test('of a function, with a crash in its middle', async () => {
    const seen = await seenOf(
      () => stage.engine.start(order, undefined, { id: 'o-1' }),
      () => {
        teller.told.push('crash')
        return stage.crash()
      },
      () => stage.advanceTo(BEGINS_AT + TWO_DAYS_MS),
    )
    expect(seen).toBe(saidOf('A function'))
  })

  test('of an event machine that is sent two events', async () => {
    const seen = await seenOf(
      () => stage.engine.start(door, undefined, { id: 'd-1' }),
      () => stage.engine.send(door, 'd-1', { type: 'OPEN' }),
      () => stage.engine.send(door, 'd-1', { type: 'LOCK' }),
    )
    expect(seen).toBe(saidOf('An event machine'))
  })

  test('of a graph of two nodes', async () => {
    const seen = await seenOf(() => stage.engine.start(greeting, undefined, { id: 'g-1' }))
    expect(seen).toBe(saidOf('A graph'))
  })
})

/** The block below that heading. */
function saidOf(heading: string): string {
  const [, section = ''] = read('ARCHITECTURE.md').split(`### ${heading}\n`)
  return /```\n([\s\S]+?)\n```/.exec(section)?.[1] ?? ''
}

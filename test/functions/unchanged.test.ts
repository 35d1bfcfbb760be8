// Code that has not changed never seems to have: small programs made by chance, replayed from the journal at every wait.

import { expect, onTestFinished, test } from 'vitest'
import { composeEngine } from '../../src/compose-engine.js'
import { readEngineOptions } from '../../src/engine/options.js'
import { type Engine, task, type Wf, workflow } from '../../src/index.js'
import { newCounters } from '../../src/kernel/counters.js'
import { openMemory } from '../../src/open-store.js'
import { isFast } from '../support/databases.js'

const quiet = { debug() {}, info() {}, warn() {}, error() {} }

type Op = (wf: Wf, ran: string[]) => Promise<unknown>
type Dice = (sides: number) => number

function diceOf(seed: number): Dice {
  let state = seed
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * sides)
  }
}

const double = task('double', async (n: number) => n * 2)
const napping = workflow('napping', async (wf) => {
  await wf.sleep('nap', 1)
  return wf.do('wake', () => 'awake')
})

function step(name: string): Op {
  return (wf, ran) =>
    wf.do(name, () => {
      ran.push(name)
      return name
    })
}

/** Fails once and is tried again. */
function shaky(name: string): Op {
  return (wf, ran) =>
    wf.do(
      name,
      ({ attempt }) => {
        if (attempt === 1) throw new Error('once')
        ran.push(name)
      },
      { retries: 1, retryDelay: 1 },
    )
}

const SIMPLE: readonly ((name: string, dice: Dice) => Op)[] = [
  step,
  shaky,
  (name) => (wf) => wf.sleep(name, 1),
  () => (wf) => wf.waitFor('go'),
  () => (wf) => wf.waitFor(['go', 'stop']),
  (name) => (wf) => wf.waitFor('never', { timeout: 2, orNull: true }).then(() => name),
  (name) => (wf) => wf.do(name, double, 2),
  (name) => (wf) => wf.do(name, napping),
  (name) => (wf, ran) =>
    wf.transaction(name, async () => {
      ran.push(name)
    }),
  (name) => async (wf, ran) => (wf.patched(name) ? step(`${name} new`)(wf, ran) : undefined),
  (name, dice) => {
    const count = 1 + dice(3)
    return async (wf, ran) => {
      for (let n = 0; n < count; n += 1) await step(`${name} ${n}`)(wf, ran)
    }
  },
]

const NESTED: readonly ((name: string, dice: Dice, ops: readonly Op[]) => Op)[] = [
  (_, __, ops) => (wf, ran) => Promise.all(ops.map((op) => op(wf, ran))),
  (name, __, ops) => (wf, ran) => wf.scope(name, (wf) => inOrder(ops)(wf, ran)),
  (name, __, ops) => (wf, ran) =>
    wf
      .scope(name, async (wf) => {
        await wf.do('held', () => 1, { undo: () => void ran.push(`undo ${name}`) })
        await inOrder(ops)(wf, ran)
        throw new Error('scope fails')
      })
      .catch(() => name),
  (name, __, ops) => (wf, ran) => {
    const branches = ops.map((op, i) => [`b${i}`, (wf: Wf) => op(wf, ran)] as const)
    return wf.race(name, Object.fromEntries(branches))
  },
  (name, dice, ops) => {
    const count = 1 + dice(3)
    return (wf, ran) =>
      wf.loop(name, 1, async (wf, n) => {
        const inRound: string[] = []
        await inOrder(ops)(wf as unknown as Wf, inRound)
        ran.push(...inRound.map((one) => `${name}@${n} ${one}`))
        return n >= count ? wf.done(n) : n + 1
      })
  },
]

const inOrder =
  (ops: readonly Op[]): Op =>
  async (wf, ran) => {
    for (const op of ops) await op(wf, ran)
  }

function programOf(dice: Dice, depth: number, prefix: string): readonly Op[] {
  return Array.from({ length: 2 + dice(3) }, (_, i) => {
    const name = `${prefix}${i}`
    const kind = dice(SIMPLE.length + (depth > 0 ? NESTED.length * 2 : 0))
    const simple = SIMPLE[kind]
    if (simple) return simple(name, dice)
    const nested = NESTED[(kind - SIMPLE.length) % NESTED.length]
    return nested?.(name, dice, programOf(dice, depth - 1, `${name}.`)) ?? step(name)
  })
}

test('no unchanged program of five hundred made by chance is found diverged, and no step of them is executed twice', async () => {
  // The daily run takes fewer.
  const count = isFast() ? 40 : 500
  const programs = Array.from({ length: count }, (_, seed) => {
    const body = inOrder(programOf(diceOf(seed + 1), 2, 'q'))
    const ran: string[] = []
    const code = workflow(`made-${seed}`, async (wf) => {
      await body(wf, ran)
      return wf.waitFor('go')
    })
    return { code, ran }
  })
  const counters = newCounters()
  const workflows = [...programs.map(({ code }) => code), double, napping]
  const engine: Engine = await composeEngine(
    readEngineOptions({ database: 'memory:', workflows, log: quiet }, {}),
    { opened: await openMemory(), kernel: { framesMax: 0, pollMs: 20, counters } },
  )
  onTestFinished(() => engine.close())
  const runs = await Promise.all(programs.map(({ code }) => engine.start(code)))
  const { size } = new Set(runs.map(({ id }) => id))
  const open = async () => {
    const waiting: string[] = []
    let left = 0
    const all = engine.list({ status: ['pending', 'running', 'waiting'], limit: 500 })
    for await (const { id, status } of all) {
      left += 1
      if (status === 'waiting') waiting.push(id)
    }
    await Promise.allSettled(waiting.map((id) => engine.signal(id, 'go')))
    return left
  }
  await expect.poll(open, { timeout: 50_000, interval: 20 }).toBe(0)
  expect(size).toBe(count)
  expect(counters['run.diverged']).toBe(0)
  expect(counters['frame.replayed']).toBeGreaterThan(count)
  for (const { ran } of programs) expect(ran).toEqual([...new Set(ran)])
  for (const run of runs) expect(await run.status()).toBe('completed')
})

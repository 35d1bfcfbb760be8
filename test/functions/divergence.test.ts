// Changed code under runs that are under way: each kind of change is found, or is none.

import { describe, expect, onTestFinished, test } from 'vitest'
import { composeEngine, type Instead } from '../../src/compose-engine.js'
import { readEngineOptions } from '../../src/engine/options.js'
import { type Definition, type Engine, workflow } from '../../src/index.js'
import { openMemory } from '../../src/open-store.js'
import { all, eventually } from '../support/world.js'
import { type Body, CHANGES, CHILDREN, type Change, type Does } from './code-changes.js'

const quiet = { debug() {}, info() {}, warn() {}, error() {} }

interface Deploy {
  readonly engine: Engine
  /** What its code has executed. */
  readonly ran: string[]
}

/** Deploys on one store, each with its own build. */
async function deploys() {
  const { store, hints } = await openMemory()
  return async (build: string, body: Body, kernel: Instead['kernel'] = {}): Promise<Deploy> => {
    const ran: string[] = []
    const does: Does = (name) => () => {
      ran.push(name)
      return name
    }
    const order = workflow('order', async (wf) => body(wf, does))
    const workflows: readonly Definition[] = [order, ...CHILDREN]
    const options = { database: 'memory:', workflows, log: quiet, build }
    const engine = await composeEngine(readEngineOptions(options, {}), {
      opened: { store, hints },
      kernel: { pollMs: 10, ...kernel },
    })
    onTestFinished(() => engine.close())
    return { engine, ran }
  }
}

/** Starts a run and takes it to where it waits for "go". */
async function started({ engine }: Deploy, { sent = [] }: Change) {
  const run = await engine.start('order', undefined, { id: 'o' })
  const waits = async () => {
    const entries = await all(engine.history('o'))
    const opened = entries.filter(({ kind }) => kind === 'wait.opened').length
    const taken = entries.filter(({ kind }) => kind === 'message.taken').length
    const { status } = await run.get()
    return { status, opened, taken }
  }
  for (const [i, name] of sent.entries()) {
    await eventually(waits).toEqual({ status: 'waiting', opened: i + 1, taken: i })
    await run.signal(name)
  }
  const n = sent.length
  await eventually(waits).toEqual({ status: 'waiting', opened: n + 1, taken: n })
  return run
}

const differences = async (engine: Engine) =>
  (await all(engine.history('o'))).flatMap(({ kind, error }) =>
    kind === 'run.diverged' ? [error?.message] : [],
  )

describe('code that is changed under a run', () => {
  test('is tried in more than twenty kinds', () => {
    expect(CHANGES.length).toBeGreaterThan(20)
    expect(new Set(CHANGES.map(({ kind }) => kind)).size).toBe(CHANGES.length)
  })

  test.each(CHANGES)('when it is replayed from its journal: $kind', async (change) => {
    const deploy = await deploys()
    const old = await deploy('old', change.before, { framesMax: 0 })
    await started(old, change)
    await old.engine.close()
    const { engine, ran } = await deploy('new', change.after, { framesMax: 0 })
    await engine.signal('o', 'go')
    await engine.signal('o', 'end')
    if ('runs' in change.expected) {
      await engine.handle('order', 'o').result()
      expect(ran).toEqual(change.expected.runs)
      return
    }
    const { difference } = change.expected
    await eventually(() => engine.get('o')).toMatchObject({ reason: 'diverged' })
    expect((await engine.explain('o')).sentence).toBe(
      `o is not moving because its code no longer matches its history: ${difference}; nothing ran in its place.`,
    )
    expect(await differences(engine)).toEqual([difference])
    expect(ran).toEqual([])
    // It goes on by itself when code that fits is there.
    const { engine: again } = await deploy('old-again', change.before, { framesMax: 0 })
    await again.handle('order', 'o').result()
    expect(await again.get('o')).toMatchObject({ status: 'completed' })
    expect(ran).toEqual([])
  })

  test.each(CHANGES)('while its frame is kept in memory: $kind', async (change) => {
    const deploy = await deploys()
    const old = await deploy('old', change.before)
    const run = await started(old, change)
    const behind = (await all(old.engine.history('o'))).length
    const next = await deploy('new', change.after)
    // The process that has the run in memory goes on with the code it has.
    await run.signal('go')
    const opened = async () => {
      const since = (await all(old.engine.history('o'))).slice(behind)
      return since.filter(({ kind }) => kind === 'wait.opened').length
    }
    await eventually(opened).toBe(1)
    expect(next.ran).toEqual([])
    expect(await differences(old.engine)).toEqual([])
    // Taken by the other one it has to fit; what does not goes back to the code it began with.
    await next.engine.signal('o', 'end')
    await run.result()
    expect(await run.status()).toBe('completed')
    if ('difference' in change.expected) {
      expect(await differences(old.engine)).toEqual([change.later ?? change.expected.difference])
      expect(next.ran).toEqual([])
    } else expect(await differences(old.engine)).toEqual([])
  })

  test('wf.patched says the same of a place whenever it is replayed, also if a later place was new to the run', async () => {
    const deploy = await deploys()
    const code =
      (patched: boolean): Body =>
      async (wf, does) => {
        for (let n = 1; n <= 4; n += 1) {
          if (patched && wf.patched('check')) await wf.do('check', does(`check ${n}`))
          await wf.waitFor('go')
        }
      }
    const old = await deploy('old', code(false), { framesMax: 0 })
    const run = await old.engine.start('order', undefined, { id: 'o' })
    let at = old.engine
    const waits = async () =>
      (await all(at.history('o'))).filter(({ kind }) => kind === 'wait.opened').length
    await eventually(waits).toBe(1)
    await run.signal('go')
    await eventually(waits).toBe(2)
    await old.engine.close()
    const { engine, ran } = await deploy('new', code(true), { framesMax: 0 })
    at = engine
    for (let n = 3; n <= 4; n += 1) {
      await engine.signal('o', 'go')
      await eventually(waits).toBe(n)
    }
    await engine.signal('o', 'go')
    await engine.handle('order', 'o').result()
    expect(ran).toEqual(['check 3', 'check 4'])
    expect(await differences(engine)).toEqual([])
    const marks = (await all(engine.history('o'))).filter(({ kind }) => kind === 'mark')
    expect(marks).toHaveLength(1)
  })
})

// Following runs that other processes execute: heard by hints, found by one question for all, on real databases.

import { expect, test } from 'vitest'
import { workflow } from '../../src/index.js'
import { NO_HINTS } from '../../src/live-hints.js'
import { describeOn } from '../support/databases.js'
import { instead } from '../support/instead.js'
import { all, eventually, fresh, gate, worldOn } from '../support/world.js'

describeOn(['postgres18'], 'who follows', (database) => {
  const world = worldOn(database)
  const reader = { options: { worker: false } } as const

  test('[X11] hears of what another process commits and publishes without any question to the database', async () => {
    const held = gate()
    const flow = workflow(fresh('flow'), async (wf) => {
      await wf.do('first', () => 1)
      await wf.waitFor('go')
      await wf.do('second', async (step) => {
        step.publish('word')
        await held.passed
      })
    })
    const heard: string[] = []
    const worker = await world.open([flow], {
      store: (opened) => {
        opened.hints.subscribe((hint) => {
          if (hint.kind === 'watched') heard.push(hint.uid)
          return true
        })
        return opened
      },
    })
    const other = await world.open([], {
      ...reader,
      // The question is never answered: only hints are left.
      store: (opened) => ({
        ...opened,
        store: instead(opened.store, { standings: () => new Promise(() => {}) }),
      }),
    })
    const run = await worker.start(flow)
    await eventually(() => run.status()).toBe('waiting')
    const events = all(other.handle(flow, run.id).events())
    const words: unknown[] = []
    const streamed = (async () => {
      for await (const { value } of other.handle(flow, run.id).stream()) {
        words.push(value)
        held.open()
      }
    })()
    await eventually(() => heard.length).toBeGreaterThan(0)
    await run.signal('go')
    await streamed
    expect(words).toEqual(['word'])
    const kinds = (await events).map(({ kind }) => kind)
    expect(kinds.at(-1)).toBe('run.completed')
    expect(kinds).toEqual((await all(worker.history(run.id))).map(({ kind }) => kind))
  })

  test('asks one question for all who follow, and reads only what is new', async () => {
    const RUNS = 30
    const flow = workflow(fresh('many'), async (wf) => wf.waitFor('go'))
    const worker = await world.open([flow])
    const asked: number[] = []
    let reads = 0
    const other = await world.open([], {
      ...reader,
      // No hint ever comes: the question is the truth.
      store: ({ store }) => {
        const standings: typeof store.standings = (uids) => {
          asked.push(uids.length)
          return store.standings(uids)
        }
        const history: typeof store.read.history = (...args) => {
          reads += 1
          return store.read.history(...args)
        }
        const read = instead(store.read, { history })
        return { hints: NO_HINTS, store: instead(store, { standings, read }) }
      },
    })
    const runs = await worker.startMany(flow, Array(RUNS).fill({ input: undefined }) as never)
    for (const run of runs) await eventually(() => run.status()).toBe('waiting')
    const followers = runs.map((run) => all(other.handle(flow, run.id).events()))
    const ofAll = () => asked.filter((count) => count === RUNS).length
    await eventually(ofAll).toBeGreaterThan(2)
    // Each has read what there was, once.
    expect(reads).toBe(RUNS)
    for (const run of runs) await run.signal('go', null)
    for (const events of await Promise.all(followers)) {
      expect(events.at(-1)?.kind).toBe('run.completed')
    }
    expect(Math.max(...asked)).toBe(RUNS)
  })

  test('is let go when it has heard enough, and when the engine closes', async () => {
    const flow = workflow(fresh('left'), async (wf) => wf.waitFor('go'))
    const engine = await world.open([flow])
    const run = await engine.start(flow)
    const enough = new AbortController()
    const left = all(run.events({ signal: enough.signal }))
    const closed = all(run.events())
    await eventually(() => run.status()).toBe('waiting')
    enough.abort(new Error('enough'))
    await expect(left).rejects.toThrow('enough')
    await Promise.all([
      engine.close(),
      expect(closed).rejects.toMatchObject({ code: 'ENGINE_CLOSED' }),
    ])
  })
})

// Loops for years: what is read when a run in a late round is taken up by a process that does not know it.

import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { typed, workflow } from '../../src/index.js'
import type { Loaded, Store } from '../../src/kernel/store.js'
import type { Opened } from '../../src/open-store.js'
import { describeOn } from '../support/databases.js'
import { fresh, worldOn } from '../support/world.js'

const ROUNDS = 5_000
const until = (isSo: () => Promise<boolean>) =>
  expect.poll(isSo, { timeout: 50_000, interval: 20 }).toBe(true)
const COLD = { kernel: { framesMax: 0 } }

/** Shows what each load of a whole journal has read. */
function watching(loads: Loaded[]) {
  return ({ store, hints }: Opened): Opened => {
    const load: Store['load'] = async (what) => {
      const loaded = await store.load(what)
      for (const one of loaded) if (one.entries[0]?.seq === 1) loads.push(one)
      return loaded
    }
    const watched = new Proxy(store, {
      get: (of, key) => {
        const value = key === 'load' ? load : Reflect.get(of, key)
        return typeof value === 'function' ? value.bind(of) : value
      },
    })
    return { store: watched, hints }
  }
}

describeOn(['pglite', 'postgres18'], 'rounds', (database) => {
  const world = worldOn(database)

  test('a run in its 5,000th round is loaded with as many entries as in its 5th', async () => {
    const loads: Loaded[] = []
    const years = workflow(fresh('years'), { signals: { go: typed<number>() } }, async (wf) => {
      await wf.do('begin', () => 'begun')
      return wf.loop('years', { n: 1, heard: 0 }, async (wf, { n, heard }) => {
        if (n % 500 === 0 || n < 6) await wf.do('step', () => n)
        // Taken up once more before the wait by a process that does not know it.
        if (n === 5 || n === ROUNDS) await wf.sleep('nap', 5)
        const go = n < 6 || n === ROUNDS ? await wf.waitFor('go') : 0
        return n === ROUNDS ? wf.done(heard + go) : { n: n + 1, heard: heard + go }
      })
    })
    const engine = await world.open([years], { ...COLD, store: watching(loads) })
    const run = await engine.start(years)
    const isWaiting = async (round: number) => {
      const { items } = await engine.history(run.id, { limit: 3, order: 'newest' })
      const { status, owner } = await world.row(run.id)
      return items[0]?.name === `years@${round}/go` && status === 'waiting' && owner === null
    }
    for (let n = 1; n < 5; n += 1) await run.signal('go', n)
    await until(() => isWaiting(5))
    loads.length = 0
    await run.signal('go', 5)
    await until(() => isWaiting(ROUNDS))
    const [early] = loads
    // Its mail has been seen, although nothing that was loaded tells of it: it is not taken up for nothing.
    const { epoch, dueAt } = await world.row(run.id)
    expect(dueAt).toBeNull()
    loads.length = 0
    await sleep(200)
    expect(await world.row(run.id)).toMatchObject({ epoch, dueAt: null })
    await run.signal('go', 6)
    expect(await run.result()).toBe(21)
    const [late] = loads
    expect(late?.entries.map(({ kind }) => kind)).toEqual(early?.entries.map(({ kind }) => kind))
    expect(late?.entries.at(-1)?.seq).toBeGreaterThan(ROUNDS)
    expect(bytesOf(late)).toBeLessThan(bytesOf(early) * 1.3)
    const [all] = await world.sql(
      'select count(*)::int as count from @schema@.journal j join @schema@.runs r using (uid) where r.id = $1::text',
      [run.id],
    )
    expect(all?.count).toBe((await world.row(run.id)).seq)
  })

  test('rounds in rounds, in a scope, beside steps, with a patch, re-opened and forked, are asked once', async () => {
    const loads: Loaded[] = []
    const did: string[] = []
    let isBroken = true
    const shop = workflow(fresh('shop'), async (wf) => {
      const say = (text: string) => () => did.push(text) && text
      await wf.do('open', say('open'))
      const beside = async () => {
        for (let i = 1; i <= 4; i += 1) {
          await wf.sleep('pause', 4)
          await wf.do('beside', say(`beside ${i}`))
        }
      }
      const rounds = wf.scope('all', (wf) =>
        wf.loop('months', { n: 1, sum: 0 }, async (wf, { n, sum }) => {
          const isNew = wf.patched('new')
          const days = await wf.loop('days', 1, async (wf, day) => {
            await wf.do('day', say(`day ${n}.${day}`), { undo: say(`undo ${n}.${day}`) })
            await wf.sleep('night', 2)
            return day === 3 ? wf.done(day) : day + 1
          })
          await wf.do('check', () => {
            if (n === 4 && isBroken) throw new Error('broken')
          })
          await wf.sleep('rest', 3)
          const next = sum + days + (isNew ? 10 : 0)
          return n === 6 ? wf.done(next) : { n: n + 1, sum: next }
        }),
      )
      const [sum] = await Promise.all([rounds, beside()])
      return { sum, last: await wf.do('close', say('close')) }
    })
    const engine = await world.open([shop], { ...COLD, store: watching(loads) })
    const run = await engine.start(shop)
    await expect(run.result()).rejects.toMatchObject({ code: 'WORKFLOW_FAILED' })
    isBroken = false
    await engine.retry(run.id)
    await until(async () => (await engine.get(run.id))?.status === 'completed')
    expect((await engine.get(run.id))?.output).toEqual({ sum: 78, last: 'close' })
    const days = [1, 2, 3, 4, 5, 6].flatMap((n) => [1, 2, 3].map((day) => `day ${n}.${day}`))
    const once = ['open', ...days, 'beside 1', 'beside 2', 'beside 3', 'beside 4', 'close']
    // What was asked after the failure is asked again.
    expect([...new Set(did)].sort()).toEqual([...once].sort())
    expect(did.filter((text) => text.startsWith('day'))).toEqual(days)
    const last = loads.at(-1)
    expect(last?.entries.length).toBeLessThan((last?.entries.at(-1)?.seq ?? 0) / 2)

    did.length = 0
    const fork = await engine.fork(run.id, { from: 'all/months@5/days@2/day' })
    expect(await fork.result()).toEqual({ sum: 78, last: 'close' })
    expect(did.filter((text) => text.startsWith('day'))).toEqual(
      days.slice(days.indexOf('day 5.2')),
    )
    const { items } = await engine.history(fork.id, { limit: 100 })
    expect(items.map(({ name }) => name)).toContain('all/months@1/days@1/day')
  })

  test('a cancelled run that undoes itself waits for the next attempt, whoever has it', async () => {
    const slow = workflow(fresh('slow'), async (wf) => {
      await wf.do('a', () => 1, {
        retries: 3,
        retryDelay: '1h',
        undo: () => {
          throw new Error('not yet')
        },
      })
      await wf.waitFor('never')
    })
    const engine = await world.open([slow], COLD)
    const run = await engine.start(slow)
    const failures = (count: number) =>
      until(async () => {
        const { items } = await engine.history(run.id, { limit: 100 })
        const { owner } = await world.row(run.id)
        return items.filter(({ kind }) => kind === 'undo.failed').length === count && !owner
      })
    await until(async () => (await engine.get(run.id))?.status === 'waiting')
    await run.cancel('enough')
    await failures(1)
    await world.advance(3_700_000)
    await failures(2)
    const { epoch, dueAt } = await world.row(run.id)
    expect(dueAt).toBeGreaterThan(await world.now())
    await sleep(200)
    expect((await world.row(run.id)).epoch).toBe(epoch)
  })
})

const bytesOf = (loaded: Loaded | undefined): number => JSON.stringify(loaded?.entries).length

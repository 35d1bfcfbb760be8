// Forks and retention, on real databases.

import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { type Schema, task, workflow } from '../../src/index.js'
import type { Store } from '../../src/kernel/store.js'
import type { Opened } from '../../src/open-store.js'
import { describeOn, urlOf } from '../support/databases.js'
import { instead } from '../support/instead.js'
import { all, eventually, fresh, kindsOf, pause, refusalOf, worldOn } from '../support/world.js'

const DAY_MS = 86_400_000

const amount: Schema<{ amount: number }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      typeof (value as { amount?: unknown } | null)?.amount === 'number'
        ? { value: value as { amount: number } }
        : { issues: [{ message: 'must have an amount' }] },
  },
}

describeOn(['pglite', 'postgres18'], 'on a real database', (database) => {
  const world = worldOn(database)

  /** Three steps; `ran` says which were executed, in which run. */
  const orders = () => {
    const ran: string[] = []
    const order = workflow(fresh('order'), { input: amount }, async (wf, input) => {
      const lot = wf.random()
      const paid = await wf.do('charge', (step) => {
        ran.push(`charge ${step.run.id}`)
        return input.amount
      })
      const packed = await wf.do('pack', (step) => {
        ran.push(`pack ${step.run.id}`)
        return paid * 2
      })
      const shipped = await wf.do('ship', (step) => {
        ran.push(`ship ${step.run.id}`)
        return packed + 1
      })
      return { lot, paid, packed, shipped }
    })
    return { order, ran }
  }

  describe('fork', () => {
    test('goes on from a step in a new run, and the other is untouched', async () => {
      const { order, ran } = orders()
      const engine = await world.open([order])
      const tags = { team: 'a' }
      const run = await engine.start(order, { amount: 5 }, { id: fresh('o'), tags })
      const first = await run.result()
      const [was, history] = [await run.get(), await all(engine.history(run.id))]
      ran.length = 0

      const id = fresh('fork')
      const fork = await engine.fork(run.id, { from: 'pack', id })
      expect(fork.id).toBe(id)
      // The same random numbers, the same recorded result; what comes after it has run again.
      expect(await fork.result()).toEqual(first)
      expect(ran).toEqual([`pack ${id}`, `ship ${id}`])
      expect(await fork.get()).toMatchObject({ tags, workflow: order.name, parentId: null })
      expect(await kindsOf(engine, id)).toEqual(await kindsOf(engine, run.id))
      expect(await run.get()).toEqual(was)
      expect(await all(engine.history(run.id))).toEqual(history)
    })

    test('takes another input and other results', async () => {
      const { order, ran } = orders()
      const engine = await world.open([order])
      const run = await engine.start(order, { amount: 5 })
      await run.result()
      ran.length = 0
      const outputs = { charge: 100, pack: 300 }
      const fork = await engine.fork(run.id, { from: 'ship', input: { amount: 7 }, outputs })
      expect(await fork.result()).toMatchObject({ paid: 100, packed: 300, shipped: 301 })
      expect(await fork.get()).toMatchObject({ input: { amount: 7 } })
      expect(ran).toEqual([`ship ${fork.id}`])
      const anew = await engine.fork(run.id, { input: { amount: 7 } })
      expect(await anew.result()).toMatchObject({ paid: 7, packed: 14, shipped: 15 })
      const { seq = 0 } =
        (await all(engine.history(run.id))).find(({ name }) => name === 'pack') ?? {}
      const behind = await engine.fork(run.id, { from: seq, outputs: { pack: 50 } })
      expect(await behind.result()).toMatchObject({ paid: 5, packed: 50, shipped: 51 })
    })

    test('goes on where a failed run has failed, with the code of now', async () => {
      let isMended = false
      const fragile = workflow(fresh('fragile'), async (wf) => {
        await wf.do('before', () => 'kept')
        return wf.do('break', () => {
          if (!isMended) throw new Error('broken')
          return 'mended'
        })
      })
      const engine = await world.open([fragile])
      const { id } = await engine.start(fragile)
      await eventually(() => engine.get(id)).toMatchObject({ status: 'failed' })
      const { next } = await engine.explain(id)
      expect(next.map(({ command }) => command)).toEqual([
        `engine.retry('${id}')`,
        `engine.fork('${id}', { from: 'break' })`,
      ])
      isMended = true
      expect(await (await engine.fork(id, { from: 'break' })).result()).toBe('mended')
      expect(await engine.get(id)).toMatchObject({ status: 'failed' })
    })

    test('keeps the signals that were taken, has a mailbox of its own, and starts open children anew', async () => {
      const child = task(fresh('child'), { version: '1' }, async (n: number) => n + 1)
      const parent = workflow(fresh('parent'), async (wf) => {
        const said = await wf.waitFor('say')
        const made = await wf.do('child', child, 1)
        return [said, made, await wf.waitFor('say')]
      })
      // Nobody has the code of the child: it stays open.
      const engine = await world.open([parent])
      const run = await engine.start(parent)
      await run.signal('say', 'one')
      await eventually(() => run.get()).toMatchObject({ reason: 'child' })
      const { seq } = await run.get().then(() => world.row(run.id))
      const fork = await engine.fork(run.id, { from: seq })
      await eventually(() => fork.get()).toMatchObject({ reason: 'child' })
      const children = async (id: string) => (await engine.list({ parentId: id })).items
      const [own, other] = [await children(fork.id), await children(run.id)]
      expect([own.length, other.length]).toEqual([1, 1])
      expect(own[0]?.id).not.toBe(other[0]?.id)
      await fork.signal('say', 'two')
      await world.open([child])
      expect(await fork.result()).toEqual(['one', 2, 'two'])
      await eventually(() => run.get()).toMatchObject({ status: 'waiting', reason: 'signal' })
    })

    test('sleeps and waits anew if it begins before them', async () => {
      const nap = workflow(fresh('nap'), async (wf) => {
        await wf.do('first', () => 1)
        await wf.sleep('nap', '1h')
        return 'rested'
      })
      const engine = await world.open([nap])
      const run = await engine.start(nap)
      await eventually(() => run.get()).toMatchObject({ reason: 'timer' })
      await world.advance(3_600_000)
      await run.result()
      const fork = await engine.fork(run.id, { from: 'nap' })
      await eventually(() => fork.get()).toMatchObject({ reason: 'timer' })
      await world.advance(3_600_000)
      expect(await fork.result()).toBe('rested')
    })

    test('with an id is made once', async () => {
      const { order, ran } = orders()
      const engine = await world.open([order])
      const run = await engine.start(order, { amount: 5 })
      await run.result()
      ran.length = 0
      const id = fresh('fork')
      const forks = await Promise.all(
        [1, 2, 3].map(() => engine.fork(run.id, { from: 'ship', id })),
      )
      expect(forks.map((fork) => fork.id)).toEqual([id, id, id])
      await forks[0]?.result()
      expect(ran).toEqual([`ship ${id}`])
      for (const other of [{ from: 'pack' }, { from: 'ship', input: { amount: 6 } }]) {
        expect(await refusalOf(engine.fork(run.id, { ...other, id }))).toMatchObject({
          code: 'ID_TAKEN',
        })
      }
    })

    test('from a point that is not there, or with what does not fit, is refused and makes nothing', async () => {
      const { order } = orders()
      const engine = await world.open([order])
      const run = await engine.start(order, { amount: 5 })
      await run.result()
      const before = await world.counts()
      const refused = async (options: object, id = run.id) =>
        refusalOf(engine.fork(id, options as never))
      const unknown = await refused({ from: 'shpi' })
      expect(unknown.message).toContain('names "shpi", of which the run has nothing in its history')
      expect(unknown.hint).toBe('there is "charge", "pack", "ship"')
      expect((await refused({ from: 0 })).code).toBe('OPTION_INVALID')
      expect((await refused({ from: 99 })).message).toContain('a position from 1 to 5')
      expect((await refused({ from: 1.5 })).code).toBe('OPTION_INVALID')
      expect((await refused({ from: {} })).code).toBe('OPTION_INVALID')
      expect((await refused({ from: 'pack', outputs: { ship: 1 } })).hint).toBe('there is "charge"')
      expect((await refused({ outputs: [1] })).code).toBe('OPTION_INVALID')
      expect((await refused({ from: 'pack', outputs: { charge: () => 1 } })).code).toBe(
        'VALUE_UNSTORABLE',
      )
      expect((await refused({ input: { amount: 'x' } })).code).toBe('INPUT_INVALID')
      expect((await refused({ id: 'a b' })).code).toBe('ID_INVALID')
      expect((await refused({ form: 'pack' })).hint).toBe('did you mean "from"?')
      expect((await refused({}, 'nobody')).code).toBe('RUN_NOT_FOUND')
      expect(await world.counts()).toEqual(before)
    })

    test('is told to listeners as a run that was created', async () => {
      const { order } = orders()
      const engine = await world.open([order])
      const run = await engine.start(order, { amount: 5 })
      await run.result()
      const heard: string[] = []
      engine.on('workflow.created', ({ runId }) => void heard.push(runId))
      const fork = await engine.fork(run.id, { from: 'ship' })
      await fork.result()
      expect(heard).toEqual([fork.id])
    })
  })
})

describeOn(['postgres18'], 'retention', (database) => {
  const world = worldOn(database)

  test('is left to the one that is at it', async () => {
    const note = task(fresh('note'), async () => 1)
    const other = new pg.Client(urlOf(database))
    await other.connect()
    try {
      await other.query('begin')
      const key = `perdure retention of ${world.schema}`
      await other.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [key])
      const engine = await world.open([note], { retentionEveryMs: 50 })
      const run = await engine.start(note)
      await run.result()
      await world.advance(31 * DAY_MS)
      await pause(300)
      expect(await run.status()).toBe('completed')
      await other.query('commit')
      await eventually(() => engine.get(run.id)).toBeNull()
    } finally {
      await other.end()
    }
  })
})

describeOn(['pglite', 'postgres18'], 'retention', (database) => {
  const world = worldOn(database)
  const often = { retentionEveryMs: 50 }

  test('deletes finished runs after 30 days, with everything that belongs to them, and leaves the open ones', async () => {
    const child = task(fresh('child'), async (n: number) => n)
    const parent = workflow(fresh('parent'), async (wf, isLong: boolean) => {
      await wf.do('child', child, 1)
      return isLong ? wf.waitFor('go') : wf.waitFor('now')
    })
    const first = await world.open([parent, child])
    const short = await first.start(parent, false)
    const long = await first.start(parent, true)
    await short.signal('now', 'ended')
    await short.result()
    await eventually(() => long.get()).toMatchObject({ reason: 'signal' })
    await first.close()

    const engine = await world.open([parent, child], often)
    await world.advance(29 * DAY_MS)
    await world.sql('select pg_sleep(0.3)')
    expect(await engine.get(short.id)).toMatchObject({ status: 'completed' })
    await world.advance(2 * DAY_MS)
    await eventually(() => engine.get(short.id)).toBeNull()
    // What is left is the open run and its child, which ended as long ago.
    expect(await world.counts()).toMatchObject({ runs: 2 })
    const left = await all(engine.list())
    expect(left.map(({ status }) => status).sort()).toEqual(['completed', 'waiting'])
    await engine.signal(long.id, 'go', 'on')
    expect(await engine.handle(parent, long.id).result()).toBe('on')
    await world.advance(31 * DAY_MS)
    await eventually(() => world.counts()).toEqual({ runs: 0, journal: 0, messages: 0 })
    const again = await engine.start(parent, false, { id: short.id })
    await again.signal('now', 'anew')
    expect(await again.result()).toBe('anew')
  })

  test('is a matter of one worker at a time, in small parts', async () => {
    const note = task(fresh('note'), async () => 'x'.repeat(100))
    const first = await world.open([note])
    const handles = await first.startMany(
      note,
      Array.from({ length: 450 }, () => ({})),
    )
    await Promise.all(handles.map((handle) => handle.result()))
    await first.close()
    const { runs } = await world.counts()
    const parts: number[] = []
    const more = {
      ...often,
      options: { retention: '1h' },
      store: (opened: Opened): Opened => {
        const prune: Store['prune'] = async (...args) => {
          const part = await opened.store.prune(...args)
          if (part) parts.push(part.pruned)
          return part
        }
        return { ...opened, store: instead(opened.store, { prune }) }
      },
    }
    await world.open([note], more)
    await world.open([note], more)
    await world.advance(2 * 3_600_000)
    await eventually(async () => (await world.counts()).runs).toBe(0)
    expect(Math.max(...parts)).toBe(100)
    expect(parts.reduce((sum, one) => sum + one, 0)).toBe(runs)
  })

  test('can be switched off, and cannot be so short that nobody hears of an end', async () => {
    const note = task(fresh('note'), async () => 1)
    const engine = await world.open([note], { ...often, options: { retention: false } })
    const run = await engine.start(note)
    await run.result()
    await world.advance(400 * DAY_MS)
    await world.sql('select pg_sleep(0.3)')
    expect(await run.status()).toBe('completed')
    for (const retention of ['1s', 0, true, 'long']) {
      const error = await refusalOf(world.open([note], { options: { retention } }))
      expect(['OPTION_INVALID', 'DURATION_INVALID']).toContain(error.code)
    }
  })

  test('a reader whose run is deleted between two pages hears of it', async () => {
    const many = workflow(fresh('many'), async (wf) => {
      for (let i = 0; i < 5; i += 1) await wf.do(`step ${i}`, () => i)
    })
    const engine = await world.open([many], { ...often, options: { retention: '1h' } })
    const run = await engine.start(many)
    await run.result()
    const pages = engine.history(run.id, { limit: 3 })[Symbol.asyncIterator]()
    await pages.next()
    await world.advance(2 * 3_600_000)
    await eventually(() => engine.get(run.id)).toBeNull()
    await pages.next()
    await pages.next()
    const end = (async () => {
      await pages.next()
    })()
    expect(await refusalOf(end)).toMatchObject({ code: 'RUN_NOT_FOUND' })
  })
})

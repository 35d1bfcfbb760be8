// Events, and other runs: wf.emit, wf.waitForEvent, engine.emit, wf.start, wf.handle. On real databases.

import { describe, expect, test } from 'vitest'
import { type Schema, typed, workflow } from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { instead } from '../support/instead.js'
import { eventually, fresh, gate, kindsOf, refusalOf, worldOn } from '../support/world.js'

const text: Schema<{ id: string }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      typeof (value as { id?: unknown } | null)?.id === 'string'
        ? { value: value as { id: string } }
        : { issues: [{ message: 'must have an id' }] },
  },
}

describeOn(['pglite', 'postgres18'], 'beside the mailbox', (database) => {
  const world = worldOn(database)

  describe('an event', () => {
    test('reaches every run of the workspace that waits for it and matches, once, and no other', async () => {
      const wait = workflow(fresh('wait'), async (wf, id: string) => {
        const heard = await wf.waitForEvent('paid', { match: { id } })
        return heard
      })
      const any = workflow(fresh('any'), async (wf) => wf.waitForEvent('paid'))
      const engine = await world.open([wait, any])
      const acme = engine.workspace(fresh('acme'))
      const [a, b, c] = await Promise.all([
        engine.start(wait, 'a'),
        engine.start(wait, 'b'),
        engine.start(any),
      ])
      const foreign = await acme.start(wait, 'a')
      for (const run of [a, b, c, foreign]) await eventually(() => run.status()).toBe('waiting')
      expect(await a.get()).toMatchObject({ reason: 'event', available: [] })
      expect((await engine.explain(a.id)).sentence).toContain('it waits for event "paid"')

      await engine.emit('paid', { id: 'a', amount: 3 })
      expect(await a.result()).toEqual({ id: 'a', amount: 3 })
      expect(await c.result()).toEqual({ id: 'a', amount: 3 })
      expect(await b.status()).toBe('waiting')
      expect(await foreign.status()).toBe('waiting')
      await engine.emit('paid', { id: 'b' })
      await acme.emit('paid', { id: 'a', of: 'acme' })
      expect(await b.result()).toEqual({ id: 'b' })
      expect(await foreign.result()).toEqual({ id: 'a', of: 'acme' })
    })

    test('that came before the wait is not for it; past its timeout nobody waits any more', async () => {
      const flow = workflow(fresh('late'), async (wf) => {
        await wf.waitFor('go')
        const first = await wf.waitForEvent('news', { timeout: 150, orNull: true })
        const second = await wf.waitForEvent('news', { timeout: '1h' })
        return [first, second]
      })
      const engine = await world.open([flow])
      const run = await engine.start(flow)
      await engine.emit('news', 'old')
      await run.signal('go')
      await eventually(() => kindsOf(engine, run.id)).toContain('wait.withdrawn')
      await eventually(() => run.status()).toBe('waiting')
      await engine.emit('news', 'new')
      expect(await run.result()).toEqual([null, 'new'])
      expect(await world.sql('select * from @schema@.waits')).toEqual([])
    })

    test('of a run goes out with its commit, once, also one that it emits last', async () => {
      const seen: unknown[] = []
      const hear = workflow(fresh('hear'), async (wf) => {
        const waits = [1, 2, 3].map((n) => wf.waitForEvent('step', { match: { n } }))
        return Promise.all(waits)
      })
      const say = workflow(fresh('say'), async (wf) => {
        wf.emit('step', { n: 1 })
        await wf.do('a', () => {
          seen.push('a')
        })
        wf.emit('step', { n: 2 })
        await wf.sleep('nap', 100)
        wf.emit('step', { n: 3 })
        return 'done'
      })
      const engine = await world.open([hear, say], { kernel: { framesMax: 0 } })
      const hearing = await engine.start(hear)
      await eventually(() => hearing.status()).toBe('waiting')
      const saying = await engine.start(say)
      expect(await saying.result()).toBe('done')
      expect(await hearing.result()).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
      expect(seen).toEqual(['a'])
      const records = (await engine.history(saying.id)).items.filter(
        ({ kind }) => kind === 'record',
      )
      expect(records.map(({ name, output }) => [name, output])).toEqual([
        ['emit:step', { n: 1 }],
        ['emit:step#2', { n: 2 }],
        ['emit:step#3', { n: 3 }],
      ])
    })

    test('that is the last word of a scope, of a round or of a race goes out too', async () => {
      const hear = workflow(fresh('hear'), async (wf) => {
        const names = ['scope', 'round 1', 'round 2', 'race', 'failed']
        return Promise.all(names.map((n) => wf.waitForEvent('word', { match: { n } })))
      })
      const say = workflow(fresh('say'), async (wf) => {
        await wf.scope('s', async (wf) => wf.emit('word', { n: 'scope' }))
        await wf.loop('l', 1, async (wf, round) => {
          wf.emit('word', { n: `round ${round}` })
          return round === 2 ? wf.done(null) : round + 1
        })
        await wf.race('r', { a: async (wf) => wf.emit('word', { n: 'race' }) })
        await wf
          .scope('f', async (wf) => {
            wf.emit('word', { n: 'failed' })
            throw new Error('no')
          })
          .catch(() => {})
        await wf.sleep('nap', 50)
        return 'said'
      })
      const engine = await world.open([hear, say], { kernel: { framesMax: 0 } })
      const hearing = await engine.start(hear)
      await eventually(() => hearing.status()).toBe('waiting')
      expect(await engine.run(say)).toMatchObject({ status: 'completed', output: 'said' })
      expect(await hearing.result()).toHaveLength(5)
    })

    test('that happened while the run was taken up elsewhere is heard all the same', async () => {
      const flow = workflow(fresh('moved'), async (wf) =>
        Promise.all([wf.waitForEvent('news'), wf.waitFor('go')]),
      )
      let isHeld = false
      const looks: Promise<unknown>[] = []
      const engine = await world.open([flow], {
        kernel: { framesMax: 0 },
        // Whoever emits may die before it looks for those who wait.
        store: (opened) => ({
          ...opened,
          store: instead(opened.store, {
            fanOut: (atMost) => {
              const look = isHeld ? Promise.resolve([]) : opened.store.fanOut(atMost)
              looks.push(look)
              return look
            },
          }),
        }),
      })
      const run = await engine.start(flow)
      await eventually(() => run.status()).toBe('waiting')
      isHeld = true
      await Promise.allSettled(looks)
      await engine.emit('news', 1)
      await world.advance(5_000)
      await run.signal('go', 2)
      await eventually(() => world.row(run.id)).toMatchObject({ reason: 'event', seq: 4 })
      isHeld = false
      await eventually(() => run.status()).toBe('completed')
      expect(await run.result()).toEqual([1, 2])
    })

    test('is not for a fork that was born later', async () => {
      let isMended = false
      const flow = workflow(fresh('later'), async (wf) => {
        const news = wf.waitForEvent('news')
        await wf.do('first', () => 1)
        await wf.do('second', () => {
          if (!isMended) throw new Error('broken')
        })
        return news
      })
      const engine = await world.open([flow], { kernel: { framesMax: 0 } })
      const run = await engine.start(flow)
      await run.result().catch(() => {})
      expect(await run.status()).toBe('failed')
      await world.advance(5_000)
      await engine.emit('news', 'old')
      await world.advance(5_000)
      isMended = true
      const fork = await engine.fork(run.id, { from: 'second' })
      await eventually(() => fork.status()).toBe('waiting')
      await engine.emit('news', 'new')
      expect(await fork.result()).toBe('new')
    })

    test('passes its schema where it is emitted; an undeclared one is refused', async () => {
      const flow = workflow(fresh('bad'), async (wf) => {
        wf.emit('paid' as never, 7 as never)
      })
      const engine = await world.open([flow], { options: { events: { paid: text } } })
      expect(await refusalOf(engine.emit('paid', 7))).toMatchObject({ code: 'PAYLOAD_INVALID' })
      const { message, hint } = await refusalOf(engine.emit('payd', { id: 'x' }))
      expect([message, hint]).toEqual(['No event "payd" is declared.', 'did you mean "paid"?'])
      const outcome = await engine.run(flow)
      expect(outcome).toMatchObject({ status: 'failed', error: { code: 'PAYLOAD_INVALID' } })
    })

    test('in a transaction happens if that commits, and under one id once', async () => {
      const count = workflow(fresh('count'), async (wf) => {
        const one = await wf.waitForEvent('tick')
        const two = await wf.waitForEvent('tick', { timeout: 300, orNull: true })
        return [one, two]
      })
      const engine = await world.open([count])
      const run = await engine.start(count)
      await eventually(() => run.status()).toBe('waiting')
      await expect(
        engine.transaction(async (transaction) => {
          await engine.emit('tick', 'never', { transaction })
          throw new Error('back')
        }),
      ).rejects.toThrow('back')
      await engine.transaction((transaction) =>
        engine.emit('tick', 'yes', { transaction, id: 'tick-1' }),
      )
      await eventually(() => kindsOf(engine, run.id)).toContain('message.taken')
      await engine.emit('tick', 'again', { id: 'tick-1' })
      expect(await run.result()).toEqual(['yes', null])
    })
  })

  describe('wf.start', () => {
    test('gives a child that runs beside it: its id, its result, a signal; what is left is cancelled', async () => {
      const child = workflow(
        fresh('child'),
        { signals: { go: typed<number>() } },
        async (wf, n: number) => n + (await wf.waitFor('go')),
      )
      const parent = workflow(fresh('parent'), async (wf) => {
        const first = await wf.start('first', child, 1)
        const second = await wf.start('second', child, 2)
        await first.signal('go', 10)
        const result = await first.result()
        return { first: first.id, second: second.id, result }
      })
      const engine = await world.open([parent, child], { kernel: { framesMax: 0 } })
      const run = await engine.start(parent)
      const output = await run.result()
      expect(output.result).toBe(11)
      expect(await engine.get(output.first)).toMatchObject({
        status: 'completed',
        parentId: run.id,
      })
      await eventually(() => engine.handle(child, output.second).status()).toBe('cancelled')
    })

    test('under an id of its own finds it again, refuses one that is taken, and may outlive the run', async () => {
      const child = workflow(fresh('child'), { input: text }, async (wf, { id }) => {
        await wf.sleep('nap', 200)
        return id
      })
      const id = fresh('ship')
      const parent = workflow(fresh('parent'), async (wf) => {
        const own = await wf.start('own', child, { id: 'own' }, { id: `${id}:own` })
        const free = await wf.start('free', child, { id: 'free' }, { id, detached: true })
        const same = await wf.start('same', child, { id: 'free' }, { id, detached: true })
        const taken = await wf
          .start('taken', child, { id: 'other' }, { id })
          .catch((error: { code: string }) => error.code)
        const bad = await wf
          .start('bad', child, { no: 1 } as never, { detached: true })
          .catch((error: { code: string }) => error.code)
        const result = await own.result()
        const stopped = await wf.start('stopped', child, { id: 'x' }, { id: `${id}:stopped` })
        return { ids: [own.id, free.id, same.id, stopped.id], taken, bad, result }
      })
      const engine = await world.open([parent, child])
      const output = await (await engine.start(parent)).result()
      expect(output).toEqual({
        ids: [`${id}:own`, id, id, `${id}:stopped`],
        taken: 'ID_TAKEN',
        bad: 'INPUT_INVALID',
        result: 'own',
      })
      expect(await engine.handle(child, id).result()).toBe('free')
      expect(await engine.get(id)).toMatchObject({ parentId: null })
      await eventually(() => engine.handle(child, `${id}:stopped`).status()).toBe('cancelled')
    })

    test('under the same id twice, at once or later, tells its end to both', async () => {
      const child = workflow(fresh('child'), async (wf) => {
        await wf.sleep('nap', 100)
        return 'done'
      })
      const id = fresh('one')
      const parent = workflow(fresh('parent'), async (wf) => {
        const first = await wf.start('first', child, undefined, { id })
        const second = await wf.start('second', child, undefined, { id })
        const both = await Promise.all([first.result(), second.result()])
        const third = await wf.start('third', child, undefined, { id })
        return [...both, await third.result()]
      })
      const engine = await world.open([parent, child])
      const run = await engine.start(parent)
      expect(await run.result({ timeout: '20s' })).toEqual(['done', 'done', 'done'])
    })

    test('that fails is told as a handle tells it', async () => {
      const child = workflow(fresh('child'), async () => {
        throw new Error('no')
      })
      const parent = workflow(fresh('parent'), async (wf) => {
        const run = await wf.start('run', child)
        return run
          .result()
          .catch((error: Error & { code: string }) => [error.code, (error.cause as Error).message])
      })
      const engine = await world.open([parent, child])
      expect(await (await engine.start(parent)).result()).toEqual(['WORKFLOW_FAILED', 'no'])
    })
  })

  describe('wf.handle', () => {
    test('signals, awaits and cancels another run, each once and durably', async () => {
      const other = workflow(
        fresh('other'),
        { signals: { go: text } },
        async (wf) => (await wf.waitFor('go')).id,
      )
      const caller = workflow(fresh('caller'), async (wf, [a, b]: readonly string[]) => {
        const first = wf.handle(other, a ?? '')
        const bad = await first.signal('go', {} as never).catch((e: { code: string }) => e.code)
        await first.signal('go', { id: 'hello' })
        const result = await first.result()
        const second = wf.handle(other, b ?? '')
        const late = await second
          .result({ timeout: 100 })
          .catch((error: { code: string }) => error.code)
        await second.cancel('not needed')
        const end = await second.result().catch((error: { code: string }) => error.code)
        const nobody = await wf
          .handle(other, 'nobody')
          .result()
          .catch((error: { code: string }) => error.code)
        return { bad, result, late, end, nobody }
      })
      const engine = await world.open([other, caller], { kernel: { framesMax: 0 } })
      const [a, b] = [await engine.start(other), await engine.start(other)]
      const run = await engine.start(caller, [a.id, b.id])
      expect(await run.result()).toEqual({
        bad: 'PAYLOAD_INVALID',
        result: 'hello',
        late: 'WAIT_TIMED_OUT',
        end: 'WORKFLOW_CANCELLED',
        nobody: 'RUN_NOT_FOUND',
      })
      expect(await world.sql('select * from @schema@.waits')).toEqual([])
    })

    test('a run that is cancelled while it waits, where it is not in memory, waits for nothing any more', async () => {
      const other = workflow(fresh('other'), async (wf) => wf.waitFor('go'))
      const patient = workflow(fresh('patient'), async (wf, id: string) =>
        Promise.all([wf.waitForEvent('never'), wf.handle(other, id).result()]),
      )
      const engine = await world.open([other, patient], { kernel: { framesMax: 0 } })
      const run = await engine.start(patient, (await engine.start(other)).id)
      await eventually(() => run.status()).toBe('waiting')
      expect(await world.sql('select * from @schema@.waits')).toHaveLength(2)
      await run.cancel('enough')
      await eventually(() => run.status()).toBe('cancelled')
      expect(await world.sql('select * from @schema@.waits')).toEqual([])
    })
  })

  test('a step that reaches other runs while its process leaves has not failed for that', async () => {
    const friend = workflow(fresh('friend'), async (wf) => wf.waitFor('go'))
    const held = gate()
    let times = 0
    const flow = workflow(fresh('leaving'), async (wf, id: string) => {
      await wf.do('reach', async () => {
        times += 1
        if (times > 1) return
        await held.passed
        await first.signal(id, 'go', 'from a step')
      })
      const other = wf.handle(friend, id)
      return other.result()
    })
    const first = await world.open([friend, flow])
    const to = await first.start(friend)
    const run = await first.start(flow, to.id)
    await eventually(() => times).toBe(1)
    const closed = first.close()
    held.open()
    await closed
    const second = await world.open([friend, flow])
    await second.signal(to.id, 'go', 'from outside')
    expect(await second.handle(flow, run.id).result()).toBe('from outside')
    expect(times).toBe(2)
  })
})

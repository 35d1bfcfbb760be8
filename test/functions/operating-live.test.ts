// Workspaces, priorities, delays, many starts at once, first messages, pause and resume: on real databases.

import { describe, expect, test } from 'vitest'
import { type Schema, task, workflow } from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import {
  all,
  eventually,
  fresh,
  gate,
  kindsOf,
  pause as passes,
  refusalOf,
  worldOn,
} from '../support/world.js'

const text: Schema<string> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      typeof value === 'string' ? { value } : { issues: [{ message: 'must be a text' }] },
  },
}

describeOn(['pglite', 'postgres18', 'redis'], 'on a real database', (database) => {
  const world = worldOn(database)

  describe('a workspace', () => {
    test('[X14] is a space of ids of its own, and its client reaches nothing outside it', async () => {
      const wait = workflow(fresh('wait'), async (wf, _: string) => wf.waitFor('go'))
      const engine = await world.open([wait])
      const [acme, other] = [engine.workspace(fresh('acme')), engine.workspace(fresh('other'))]
      const id = fresh('same')
      await acme.start(wait, 'acme', { id })
      await other.start(wait, 'other', { id })
      await eventually(() => acme.get(id)).toMatchObject({ status: 'waiting', input: 'acme' })
      expect(await other.get(id)).toMatchObject({ input: 'other' })
      expect(await engine.get(id)).toBeNull()
      expect((await all(acme.list({ workflow: wait }))).map(({ input }) => input)).toEqual(['acme'])

      const only = fresh('only')
      await acme.start(wait, 'acme', { id: only })
      for (const call of [
        () => other.signal(only, 'go'),
        () => other.cancel(only),
        () => other.retry(only),
        () => other.pause(only),
        () => other.resume(only),
        () => other.explain(only),
        () => other.history(only),
        () => other.handle(wait, only).get(),
        () => other.handle(wait, only).pause(),
      ]) {
        expect(await refusalOf(Promise.resolve(call()))).toMatchObject({ code: 'RUN_NOT_FOUND' })
      }
      const elsewhere = { workspace: fresh('elsewhere') }
      const { message } = await refusalOf(acme.start(wait, 'x', elsewhere))
      expect(message).toContain('to which this client is confined')
      expect(() => acme.list(elsewhere)).toThrow('to which this client is confined')
    })
  })

  describe('the claim', () => {
    test('takes higher priorities first, and what was not said counts as 5', async () => {
      const order: string[] = []
      const note = task(fresh('note'), async (name: string) => void order.push(name))
      const client = await world.open([note], { options: { worker: false } })
      await client.startMany(note, [
        { input: '0', options: { priority: 0 } },
        { input: 'usual' },
        { input: '4', options: { priority: 4 } },
        { input: '9', options: { priority: 9 } },
        { input: '6', options: { priority: 6 } },
      ])
      await world.open([note], { options: { worker: { concurrency: 1 } } })
      await eventually(() => order.length).toBe(5)
      expect(order).toEqual(['9', '6', 'usual', '4', '0'])
    })

    test('takes a delayed run when its delay is over', async () => {
      const note = task(fresh('note'), async () => 'ran')
      const engine = await world.open([note])
      const run = await engine.start(note, undefined, { delay: '1h', id: fresh('late') })
      await passes(200)
      expect(await run.status()).toBe('pending')
      expect(await engine.explain(run.id)).toMatchObject({ reason: 'pending' })
      await world.advance(3_600_000)
      expect(await run.result()).toBe('ran')
    })
  })

  describe('startMany', () => {
    test('starts thousands in one call, in order, and each id once', async () => {
      const twice = task(fresh('twice'), async (n: number) => n * 2)
      const engine = await world.open([twice], { options: { worker: false } })
      const ids = Array.from({ length: 3_000 }, () => fresh('many'))
      const items = ids.map((id, input) => ({ input, options: { id } }))
      const handles = await engine.startMany(twice, items)
      expect(handles.map(({ id }) => id)).toEqual(ids)
      const again = await engine.startMany(twice, items.slice(0, 10))
      expect(again.map(({ id }) => id)).toEqual(ids.slice(0, 10))
      expect(await all(engine.list({ workflow: twice, limit: 1_000 }))).toHaveLength(3_000)
      expect(engine.counters['commit.batches']).toBeLessThan(30)
      await world.open([twice])
      expect(await handles[2_999]?.result()).toBe(5_998)
    })

    test('with one wrong item starts nothing', async () => {
      const named = workflow(fresh('named'), { input: text }, async (_, name) => name)
      const engine = await world.open([named])
      const before = await world.counts()
      const wrong = [{ input: 'a' }, { input: 5 as never }]
      expect(await refusalOf(engine.startMany(named, wrong))).toMatchObject({
        code: 'INPUT_INVALID',
      })
      const misspelt = [{ input: 'a', options: { priorty: 1 } as never }]
      expect(await refusalOf(engine.startMany(named, misspelt))).toMatchObject({
        code: 'OPTION_UNKNOWN',
      })
      expect(await refusalOf(engine.startMany(named, 'a' as never))).toMatchObject({
        code: 'OPTION_INVALID',
      })
      expect(await world.counts()).toEqual(before)
    })
  })

  describe('a first message', () => {
    const talk = workflow(fresh('talk'), { signals: { say: text } }, async (wf, _: string) => {
      const heard: string[] = []
      for (;;) {
        const said = await wf.waitFor('say')
        if (said === 'bye') return heard
        heard.push(said)
      }
    })

    test('is stored with the run, and delivered when the run exists already', async () => {
      const engine = await world.open([talk])
      const id = fresh('talk')
      await engine.start(talk, 'x', { id, message: { name: 'say', payload: 'one' } })
      const two = { name: 'say', payload: 'two', id: 'm-2' } as const
      await engine.start(talk, 'x', { id, message: two })
      await engine.start(talk, 'x', { id, message: two })
      const last = await engine.start(talk, 'x', { id, message: { name: 'say', payload: 'bye' } })
      expect(await last.result()).toEqual(['one', 'two'])
      const late = engine.start(talk, 'x', { id, message: { name: 'say', payload: 'late' } })
      expect(await refusalOf(late)).toMatchObject({ code: 'RUN_FINISHED' })
      const outcome = await engine.run(talk, 'y', { message: { name: 'say', payload: 'bye' } })
      expect(outcome).toMatchObject({ status: 'completed', output: [] })
    })

    test('of many callers at once makes one run that hears all of them', async () => {
      const engine = await world.open([talk])
      const id = fresh('talk')
      const words = Array.from({ length: 20 }, (_, i) => `w${i}`)
      await Promise.all(
        words.map((payload) => engine.start(talk, 'x', { id, message: { name: 'say', payload } })),
      )
      await engine.signal(id, 'say', 'bye')
      expect(((await engine.handle(talk, id).result()) as string[]).sort()).toEqual(words.sort())
    })

    test('that does not fit is refused, and so is another input; nothing is stored', async () => {
      const engine = await world.open([talk], { options: { worker: false } })
      const id = fresh('talk')
      const before = await world.counts()
      const start = (message: object, input = 'x') =>
        refusalOf(engine.start(talk, input, { id, message: message as never }))
      expect((await start({ name: 'say', payload: 5 })).code).toBe('PAYLOAD_INVALID')
      expect((await start({ name: '', payload: 'a' })).code).toBe('NAME_INVALID')
      expect((await start({ name: 'say', text: 'a' })).code).toBe('OPTION_UNKNOWN')
      expect(await world.counts()).toEqual(before)
      await engine.start(talk, 'x', { id })
      const there = await world.counts()
      expect((await start({ name: 'say', payload: 'a' }, 'y')).code).toBe('ID_TAKEN')
      expect(await world.counts()).toEqual(there)
    })
  })

  describe('pause', () => {
    test('lets what runs finish, starts nothing new, and resume goes on at once', async () => {
      const [began, may] = [gate(), gate()]
      const ran: string[] = []
      const two = workflow(fresh('two'), async (wf) => {
        await wf.do('first', async () => {
          ran.push('first')
          began.open()
          await may.passed
        })
        await wf.do('second', () => void ran.push('second'))
        return 'done'
      })
      const engine = await world.open([two])
      const run = await engine.start(two)
      await began.passed
      await run.pause()
      await run.pause()
      expect(await run.get()).toMatchObject({ status: 'running' })
      expect((await engine.explain(run.id)).sentence).toContain('is being paused')
      may.open()
      await eventually(() => run.get()).toMatchObject({ status: 'waiting', reason: 'paused' })
      await passes(300)
      expect(ran).toEqual(['first'])
      expect(await kindsOf(engine, run.id)).toEqual(['run.created', 'step.completed'])
      await run.resume()
      expect(await run.result()).toBe('done')
      expect(ran).toEqual(['first', 'second'])
    })

    test('reaches a run that another process executes', async () => {
      const [began, may] = [gate(), gate()]
      const one = workflow(fresh('one'), async (wf) => {
        await wf.do('first', async () => {
          began.open()
          await may.passed
        })
        return 'done'
      })
      await world.open([one])
      const client = await world.open([one], { options: { worker: false } })
      const run = await client.start(one)
      await began.passed
      await run.pause()
      may.open()
      // The end itself is progress: it waits for the resume.
      await eventually(() => run.get()).toMatchObject({ status: 'waiting', reason: 'paused' })
      await client.resume(run.id)
      expect(await run.result()).toBe('done')
    })

    test('keeps timers and mail: what came due meanwhile happens on resume', async () => {
      const wait = workflow(fresh('wait'), async (wf) => {
        const word = await wf.waitFor('word')
        await wf.sleep('an hour', '1h')
        return word
      })
      const engine = await world.open([wait])
      const run = await engine.start(wait)
      await eventually(() => run.get()).toMatchObject({ reason: 'signal' })
      await run.pause()
      expect(await run.get()).toMatchObject({ status: 'waiting', reason: 'paused' })
      const { sentence, reason, next } = await engine.explain(run.id)
      expect(sentence).toBe(`${run.id} is not moving because it is paused.`)
      expect(reason).toBe('paused')
      expect(next).toEqual([{ text: 'let it go on', command: `engine.resume('${run.id}')` }])
      await run.signal('word', 'kept')
      await passes(200)
      expect(await run.get()).toMatchObject({ reason: 'paused' })
      await run.resume()
      await eventually(() => run.get()).toMatchObject({ reason: 'timer' })
      await run.pause()
      await world.advance(7_200_000)
      await passes(200)
      expect(await run.get()).toMatchObject({ reason: 'paused' })
      expect((await all(engine.list({ workflow: wait, reason: 'paused' }))).length).toBe(1)
      await run.resume()
      expect(await run.result()).toBe('kept')
    })

    test('of a run that has not begun keeps its delay', async () => {
      const note = task(fresh('note'), async () => 'ran')
      const engine = await world.open([note])
      const run = await engine.start(note, undefined, { delay: '1h' })
      await run.pause()
      expect(await run.get()).toMatchObject({ status: 'waiting', reason: 'paused' })
      await run.resume()
      await passes(200)
      expect(await run.status()).toBe('pending')
      await world.advance(3_600_000)
      expect(await run.result()).toBe('ran')
    })

    test('gives way to a cancel, and a run that is over or unknown refuses it', async () => {
      const wait = workflow(fresh('wait'), async (wf) => wf.waitFor('go'))
      const engine = await world.open([wait])
      const run = await engine.start(wait)
      await run.pause()
      await run.cancel('no more')
      await eventually(() => run.status()).toBe('cancelled')
      expect(await refusalOf(run.pause())).toMatchObject({ code: 'RUN_FINISHED' })
      expect(await refusalOf(run.resume())).toMatchObject({ code: 'RUN_FINISHED' })
      expect(await refusalOf(engine.pause('nobody'))).toMatchObject({ code: 'RUN_NOT_FOUND' })
      expect(await refusalOf(engine.pause('a b'))).toMatchObject({ code: 'ID_INVALID' })
    })

    test('outlives the worker that had the run', async () => {
      const wait = workflow(fresh('wait'), async (wf) => wf.waitFor('go'))
      const first = await world.open([wait])
      const { id } = await first.start(wait)
      await eventually(() => first.get(id)).toMatchObject({ reason: 'signal' })
      await first.pause(id)
      await first.close()
      const second = await world.open([wait])
      await second.signal(id, 'go', 'on')
      await passes(200)
      expect(await second.get(id)).toMatchObject({ reason: 'paused' })
      await second.resume(id)
      expect(await second.handle(wait, id).result()).toBe('on')
    })
  })

  describe('a run that could go on', () => {
    test('while no worker has a place for it waits for a slot, not for a signal', async () => {
      const may = gate()
      const slow = task(fresh('slow'), async () => may.passed)
      const wait = workflow(fresh('wait'), async (wf) => wf.waitFor('go'))
      const engine = await world.open([slow, wait], { options: { worker: { concurrency: 1 } } })
      const run = await engine.start(wait)
      await eventually(() => run.get()).toMatchObject({ status: 'waiting', reason: 'signal' })
      await run.pause()
      const long = await engine.start(slow)
      await eventually(() => long.status()).toBe('running')
      await run.resume()
      expect(await run.get()).toMatchObject({ status: 'waiting', reason: 'slot' })
      expect(await engine.explain(run.id)).toMatchObject({ reason: 'slot' })
      const slots = engine.list({ workflow: wait, reason: 'slot' })
      expect((await slots).items).toMatchObject([{ id: run.id, reason: 'slot' }])
      may.open()
      await eventually(() => run.get()).toMatchObject({ status: 'waiting', reason: 'signal' })
    })
  })

  describe('explain', () => {
    test('has a sentence and a command for everything that a run can wait for', async () => {
      const unknown = task(fresh('unknown'), async () => 1)
      const waits = {
        signal: workflow(fresh('w'), async (wf) => wf.waitFor('go', { timeout: '1d' })),
        timer: workflow(fresh('w'), async (wf) => wf.sleep('a day', '1d')),
        retry: workflow(fresh('w'), async (wf) =>
          wf.do(
            'call',
            () => {
              throw new Error('away')
            },
            { retries: 3, retryDelay: '1d' },
          ),
        ),
        child: workflow(fresh('w'), async (wf) => wf.do('child', unknown)),
      }
      const engine = await world.open(Object.values(waits))
      for (const [reason, definition] of Object.entries(waits)) {
        const { id } = await engine.start(definition, undefined, { id: fresh(reason) })
        await eventually(() => engine.get(id)).toMatchObject({ status: 'waiting', reason })
        const explained = await engine.explain(id)
        expect(explained).toMatchObject({ reason, since: expect.any(Date) })
        expect(explained.sentence).toMatch(new RegExp(`^${id} is not moving because .*\\.$`))
        expect(explained.until === null).toBe(reason === 'child')
        expect(explained.next[0]).toMatchObject({ text: expect.any(String) })
        const child = (await engine.list({ parentId: id })).items[0]?.id
        const command = {
          signal: `engine.signal('${id}', 'go', { … })`,
          timer: `engine.cancel('${id}')`,
          retry: `engine.cancel('${id}')`,
          child: `engine.explain('${child}')`,
        }
        expect(explained.next[0]?.command).toBe(command[reason as keyof typeof command])
        await engine.cancel(id)
      }
      expect((await refusalOf(engine.explain('nobody'))).code).toBe('RUN_NOT_FOUND')
    })
  })

  describe('retry', () => {
    test('of an attempt that somebody else has retried is refused', async () => {
      const fail = workflow(fresh('fail'), async (wf) =>
        wf.do('break', () => {
          throw new Error('broken')
        }),
      )
      const engine = await world.open([fail])
      const { id } = await engine.start(fail)
      await eventually(() => engine.get(id)).toMatchObject({ status: 'failed', attempt: 1 })
      await engine.retry(id, { expectedAttempt: 1 })
      await eventually(() => engine.get(id)).toMatchObject({ status: 'failed', attempt: 2 })
      const before = await world.counts()
      const late = await refusalOf(engine.retry(id, { expectedAttempt: 1 }))
      expect(late).toMatchObject({ code: 'ATTEMPT_CHANGED', details: { expected: 1, found: 2 } })
      expect(await world.counts()).toEqual(before)
    })
  })
})

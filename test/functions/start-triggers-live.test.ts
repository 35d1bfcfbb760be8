// What starts runs by itself, as the code of a definition says it.

import { describe, expect, test } from 'vitest'
import {
  type Engine,
  machine,
  Transition,
  task,
  typed,
  Workflow,
  workflow,
} from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { all, eventually, fresh, refusalOf, worldOn } from '../support/world.js'

async function runsOf(engine: object, definition: string): Promise<string[]> {
  const { list } = engine as Pick<Engine, 'list'>
  const runs = await all(list({ workflow: definition as never, order: 'oldest' }))
  return runs.map(({ id }) => id)
}

describeOn(['pglite', 'postgres18', 'redis'], 'triggers on a real database', (database) => {
  const world = worldOn(database)

  describe('a cron trigger', () => {
    test('[D37] is a schedule as soon as an engine opens, and starts one run for each time', async () => {
      const name = fresh('nightly')
      const triggers = [
        { type: 'manual' },
        { type: 'cron', cron: '0 * * * *', timezone: 'Europe/Berlin', input: 'x' },
      ] as const
      const nightly = task(name, { triggers }, (input: string) => input)
      const engine = await world.open([nightly])
      await world.open([nightly])
      const id = `${name}:1`
      const schedule = await engine.schedules.get(id)
      expect(schedule).toMatchObject({ workflow: name, isTrigger: true, timezone: 'Europe/Berlin' })
      const at = schedule?.nextAt?.getTime() ?? 0
      await world.advance(at - (await world.now()))
      const run = `cron:${id}:${new Date(at).toISOString()}`
      await eventually(() => runsOf(engine, name)).toEqual([run])
      await eventually(() => engine.get(run)).toMatchObject({ output: 'x' })
    })

    test('is changed and removed by the code that opens last; its pause stays', async () => {
      const name = fresh('changing')
      const of = (...crons: string[]) =>
        workflow(
          name,
          { triggers: crons.map((cron) => ({ type: 'cron', cron, missed: 'skip' }) as const) },
          async () => 1,
        )
      const engine = await world.open([of('0 * * * *', '30 * * * *')])
      const ids = async () =>
        (await all(engine.schedules.list())).flatMap(({ id, cron }) =>
          id.startsWith(name) ? [`${id} ${cron}`] : [],
        )
      expect(await ids()).toEqual([`${name}:0 0 * * * *`, `${name}:1 30 * * * *`])
      await engine.schedules.pause(`${name}:0`)
      await world.open([of('0 * * * *')])
      expect(await ids()).toEqual([`${name}:0 0 * * * *`])
      expect(await engine.schedules.get(`${name}:0`)).toMatchObject({ isPaused: true })
      // Without a worker it has no say.
      await world.open([of()], { options: { worker: false } })
      expect(await ids()).toHaveLength(1)
      await world.open([of()])
      expect(await ids()).toEqual([])
    })
  })

  describe('an event trigger', () => {
    const event = fresh('order.paid')
    const triggers = [{ type: 'event', event, match: { kind: 'big' } }] as const

    test('[D38] starts a run for each event that matches, in its workspace; once for each id', async () => {
      const name = fresh('paid')
      const paid = task(name, { triggers }, (input: { no: number }) => input.no)
      const engine = await world.open([paid])
      await engine.emit(event, { kind: 'small', no: 1 })
      await engine.emit(event, { kind: 'big', no: 2 }, { id: `${name}-2` })
      await engine.emit(event, { kind: 'big', no: 2 }, { id: `${name}-2` })
      await engine.emit(event, { kind: 'big', no: 3 })
      await engine.workspace('acme').emit(event, { kind: 'big', no: 4 }, { id: `${name}-4` })
      // Two may be started in one batch: which is the older is not said.
      const outputs = async (client: Pick<Engine, 'list'>) =>
        (await all(client.list({ workflow: name as never }))).map(({ output }) => output).toSorted()
      await eventually(() => outputs(engine.workspace('default'))).toEqual([2, 3])
      await eventually(() => outputs(engine.workspace('acme'))).toEqual([4])
      expect(await engine.get(`event:${name}-2:${name}`)).toMatchObject({ tags: { event } })
    })

    test('starts runs when an engine without the code, a run or a transaction emits it, also while no other is up', async () => {
      const name = fresh('paid')
      const emitting = workflow(fresh('emitting'), async (wf) => {
        wf.emit(event, { kind: 'big', no: 1 })
      })
      const here = await world.open([task(name, { triggers }, (input: { no: number }) => input.no)])
      await here.close()
      const emitter = await world.open([emitting])
      await emitter.run(emitting)
      const second = { kind: 'big', no: 2 }
      // Redis has no transactions.
      if (database.name === 'redis') await emitter.emit(event, second)
      else await emitter.transaction((tx) => emitter.emit(event, second, { transaction: tx }))
      await emitter.emit(event, { kind: 'big', no: 3 })
      await emitter.close()
      const next = await world.open([task(name, { triggers }, (input: { no: number }) => input.no)])
      await eventually(() => runsOf(next, name)).toHaveLength(3)
      for (const id of await runsOf(next, name)) {
        await eventually(() => next.get(id)).toMatchObject({ status: 'completed' })
      }
    })

    test('passes the payload through the schema of the input', async () => {
      const name = fresh('checked')
      const input = {
        '~standard': {
          version: 1 as const,
          vendor: 'test',
          validate: (value: unknown) =>
            (value as { no: number }).no > 0
              ? { value: { no: (value as { no: number }).no * 10 } }
              : { issues: [{ message: 'too small' }] },
        },
      }
      const flow = workflow(name, { triggers, input }, async (_wf, { no }) => no)
      const one = task(`${name}-task`, { triggers, input }, ({ no }) => no)
      const engine = await world.open([flow, one])
      await engine.emit(event, { kind: 'big', no: 2 }, { id: `${name}-ok` })
      await engine.emit(event, { kind: 'big', no: 0 }, { id: `${name}-bad` })
      for (const definition of [name, `${name}-task`]) {
        const run = (id: string) => engine.get(`event:${name}-${id}:${definition}`)
        await eventually(() => run('ok')).toMatchObject({ output: 20 })
        await eventually(() => run('bad')).toMatchObject({ status: 'failed' })
      }
    })

    test('belongs to machines too, and ends with the code that has it no more', async () => {
      const [object, cls] = [fresh('object'), fresh('class')]
      const step = { from: 'start', to: 'end', run: () => {} }
      @Workflow({ name: cls, triggers })
      class Review {
        @Transition({ from: 'start', to: 'end' })
        go() {}
      }
      const engine = await world.open([
        machine(object, { triggers, transitions: { go: step } }),
        Review,
      ])
      await engine.emit(event, { kind: 'big' }, { id: `${object}-1` })
      for (const name of [object, cls]) {
        await eventually(() => engine.get(`event:${object}-1:${name}`)).toMatchObject({
          status: 'completed',
        })
      }
      await world.open([machine(object, { transitions: { go: step } })])
      await engine.emit(event, { kind: 'big' }, { id: `${object}-2` })
      expect(await engine.get(`event:${object}-2:${object}`)).toBeNull()
    })
  })

  describe('what cannot be', () => {
    test('is refused where it is written', () => {
      const of = (one: unknown) => () =>
        workflow('w', { triggers: [one] as never, input: typed<number>() }, async () => 1)
      expect(of({ type: 'cron', cron: '0 0 30 2 *' })).toThrow(
        expect.objectContaining({ code: 'SCHEDULE_INVALID' }),
      )
      expect(of({ type: 'cron', cron: '* * * * *', timezone: 'x/y' })).toThrow(
        /"x\/y" is not a time zone/,
      )
      for (const one of [
        null,
        { type: 'never' },
        { type: 'cron', cron: '* * * * *', missed: 'all' },
      ]) {
        expect(of(one)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
      }
      expect(of({ type: 'event', event: '' })).toThrow(
        expect.objectContaining({ code: 'NAME_INVALID' }),
      )
      expect(of({ type: 'event', event: 'x', mach: 1 })).toThrow(
        expect.objectContaining({ code: 'OPTION_UNKNOWN' }),
      )
    })

    test('is an id that only triggers may have', async () => {
      const one = task(fresh('one'), () => 1)
      const engine = await world.open([one])
      for (const id of ['cron:x', 'event:x']) {
        expect((await refusalOf(engine.start(one, undefined, { id }))).code).toBe('ID_INVALID')
      }
    })
  })
})

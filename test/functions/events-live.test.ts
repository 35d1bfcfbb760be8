// engine.on and reading, on real databases.

import { describe, expect, test } from 'vitest'
import { type EngineEvents, task, workflow } from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { instead } from '../support/instead.js'
import { all, eventually, fresh, refusalOf, worldOn } from '../support/world.js'

const EVENTS = [
  'workflow.created',
  'run.completed',
  'run.failed',
  'run.cancelled',
  'run.timed_out',
  'run.waiting',
  'run.resumed',
  'step.completed',
  'step.failed',
] as const satisfies readonly (keyof EngineEvents)[]

describeOn(['pglite', 'postgres18'], 'on a real database', (database) => {
  const world = worldOn(database)

  describe('engine.on', () => {
    test('tells every kind of event, each with an id of its own', async () => {
      const every = workflow(fresh('every'), async (wf, how: string) => {
        if (how === 'fail') {
          await wf.do(
            'flaky',
            (step) => (step.attempt === 1 ? Promise.reject(new Error('once')) : 1),
            { retries: 1, retryDelay: 1 },
          )
          throw new Error('gone')
        }
        if (how === 'cancel') return wf.cancel('enough')
        await wf.do('first', () => 1)
        await wf.sleep('nap', how === 'late' ? '2h' : '1h')
        return 'done'
      })
      // Nothing is kept in memory, so that a run that has waited is resumed.
      const engine = await world.open([every], { kernel: { framesMax: 0 } })
      const heard: { name: string; id: string; runId: string; workflow: string; at: Date }[] = []
      for (const name of EVENTS) engine.on(name, (event) => void heard.push({ ...event, name }))
      const runs = await Promise.all(
        ['complete', 'fail', 'cancel', 'late'].map((how) =>
          engine.start(every, how, { timeout: how === 'late' ? '1h' : undefined }),
        ),
      )
      for (const run of [runs[0], runs[3]]) {
        await eventually(() => world.row(run?.id ?? '')).toMatchObject({ reason: 'timer' })
      }
      await world.advance(3_600_000)
      await Promise.all(runs.map((run) => run.result().catch(() => {})))
      const of = (i: number) =>
        heard.filter(({ runId }) => runId === runs[i]?.id).map(({ name }) => name)
      await eventually(() => of(0)).toEqual([
        'workflow.created',
        'step.completed',
        'run.waiting',
        'run.resumed',
        'run.completed',
      ])
      await eventually(() => of(1)).toContain('run.failed')
      expect(of(1).filter((name) => !['run.waiting', 'run.resumed'].includes(name))).toEqual([
        'workflow.created',
        'step.failed',
        'step.completed',
        'run.failed',
      ])
      await eventually(() => of(2)).toEqual(['workflow.created', 'run.cancelled'])
      await eventually(() => of(3)).toContain('run.timed_out')
      expect(new Set(heard.map(({ name }) => name))).toEqual(new Set(EVENTS))
      expect(new Set(heard.map(({ id }) => id)).size).toBe(heard.length)
      expect(new Set(heard.map((event) => event.workflow))).toEqual(new Set([every.name]))
      expect(heard.every(({ at }) => at instanceof Date && !Number.isNaN(at.getTime()))).toBe(true)
      const now = await world.now()
      for (const { at, name } of heard)
        expect(Math.abs(now - at.getTime()), name).toBeLessThan(3_660_000)
    })

    test('tells what a listener then finds in the database', async () => {
      const quick = workflow(fresh('quick'), async (wf) => wf.do('step', () => 1))
      const engine = await world.open([quick])
      const seen: unknown[] = []
      engine.on('step.completed', async ({ runId }) => {
        const entries = await all(engine.history(runId))
        seen.push(entries.some(({ kind }) => kind === 'step.completed'))
      })
      engine.on(
        'run.completed',
        async ({ runId }) => void seen.push((await engine.get(runId))?.status),
      )
      await engine.run(quick)
      await eventually(() => seen).toEqual(expect.arrayContaining([true, 'completed']))
    })

    test('a listener that throws or rejects does no harm', async () => {
      const quick = workflow(fresh('quick'), async (wf) => wf.do('step', () => 1))
      const engine = await world.open([quick])
      engine.on('step.completed', () => {
        throw new Error('mine')
      })
      engine.on('run.completed', () => Promise.reject(new Error('mine too')))
      expect(await engine.run(quick)).toMatchObject({ status: 'completed', output: 1 })
      await eventually(() => engine.lines.filter((line) => line.startsWith('error')).length).toBe(2)
    })

    test('what a dead engine had not told is told by the next', async () => {
      const quick = workflow(fresh('quick'), async (wf) => wf.do('step', () => 1))
      const dead = await world.open([quick], {
        kernel: { leaseMs: 300, pollMs: 20 },
        // It dies before it can say that its listeners have heard.
        store: (opened) => ({
          ...opened,
          store: instead(opened.store, {
            delivered: () => Promise.reject(new Error('dead')),
            leave: () => Promise.reject(new Error('dead')),
          }),
        }),
      })
      dead.on('run.completed', () => {})
      const run = await dead.start(quick)
      await run.result()
      const heard: string[] = []
      const next = await world.open([quick], { kernel: { leaseMs: 300, pollMs: 20 } })
      for (const name of ['step.completed', 'run.completed'] as const) {
        next.on(name, ({ runId, id }) => void (runId === run.id && heard.push(`${name} ${id}`)))
      }
      await dead.close()
      await eventually(() => new Set(heard).size).toBe(2)
    })
  })

  describe('engine.list', () => {
    test('filters by status, reason, workflow, tags, parent, time and part of the id, and pages by a cursor', async () => {
      const child = task(fresh('child'), async () => 1)
      const mixed = workflow(fresh('mixed'), async (wf, how: string) => {
        if (how === 'fail') throw new Error('no')
        if (how === 'wait') return wf.waitFor('never')
        return wf.do('child', child)
      })
      const engine = await world.open([mixed, child])
      const word = fresh('l')
      const before = new Date(await world.now())
      for (const [i, how] of ['ok', 'ok', 'fail', 'wait', 'ok'].entries()) {
        const options = { id: `${word}-${i}`, tags: { how, odd: String(i % 2) } }
        const run = await engine.start(mixed, how, options)
        if (how === 'wait')
          await eventually(() => world.row(run.id)).toMatchObject({ reason: 'signal' })
        else await run.result().catch(() => {})
      }
      const ids = async (filter: Parameters<typeof engine.list>[0]) =>
        (await engine.list({ text: word, order: 'oldest', ...filter })).items.map(({ id }) =>
          Number(id.at(-1)),
        )
      expect(await ids({})).toEqual([0, 1, 2, 3, 4])
      expect(await ids({ status: 'failed' })).toEqual([2])
      expect(await ids({ status: ['completed', 'waiting'] })).toEqual([0, 1, 3, 4])
      expect(await ids({ reason: 'signal' })).toEqual([3])
      expect(await ids({ workflow: mixed, tags: { how: 'ok', odd: '0' } })).toEqual([0, 4])
      expect(
        await ids({ createdAfter: before, createdBefore: new Date(before.getTime() + 3_600_000) }),
      ).toHaveLength(5)
      expect(await ids({ createdBefore: before })).toEqual([])
      expect(await ids({ workspace: 'elsewhere' })).toEqual([])
      expect((await engine.list({ parentId: `${word}-0` })).items).toMatchObject([
        { workflow: child.name },
      ])

      for (const order of ['oldest', 'newest'] as const) {
        const seen: number[] = []
        let after: string | undefined
        do {
          const page = await engine.list({ text: word, order, limit: 2, after })
          seen.push(...page.items.map(({ id }) => Number(id.at(-1))))
          after = page.next ?? undefined
          // A new run moves no page of those that were there.
          if (order === 'newest') await engine.start(mixed, 'ok', { id: `${fresh(word)}-9` })
        } while (after !== undefined)
        expect(seen).toEqual(order === 'oldest' ? [0, 1, 2, 3, 4] : [4, 3, 2, 1, 0])
      }
    })
  })

  describe('engine.history', () => {
    test('is read page by page in both orders', async () => {
      const steps = workflow(fresh('steps'), async (wf) => {
        for (let i = 0; i < 7; i += 1) await wf.do('step', () => i)
      })
      const engine = await world.open([steps])
      const { id } = await engine.run(steps)
      const total = (await all(engine.history(id))).length
      for (const order of ['oldest', 'newest'] as const) {
        const seqs: number[] = []
        let after: string | undefined
        do {
          const page = await engine.history(id, { limit: 4, order, after })
          expect(page.items.length).toBeLessThanOrEqual(4)
          seqs.push(...page.items.map(({ seq }) => seq))
          after = page.next ?? undefined
        } while (after !== undefined)
        const expected = Array.from({ length: total }, (_, i) => i + 1)
        expect(seqs).toEqual(order === 'oldest' ? expected : expected.reverse())
      }
      expect((await refusalOf(engine.history('nothing-here') as Promise<unknown>)).code).toBe(
        'RUN_NOT_FOUND',
      )
    })
  })

  describe('handle.events()', () => {
    test('gives every entry once and in order, stored ones and later ones, until the run has ended', async () => {
      const flow = workflow(fresh('followed'), async (wf) => {
        await wf.do('first', () => 1)
        await wf.waitFor('go')
        await wf.do('second', () => 2)
      })
      const engine = await world.open([flow])
      // Executed by one process and followed by another, where there can be two.
      const other =
        database.name === 'pglite'
          ? engine
          : await world.open([flow], { options: { worker: false } })
      const run = await engine.start(flow)
      await eventually(() => run.status()).toBe('waiting')
      const kinds: string[] = []
      const seqs: number[] = []
      for await (const { kind, seq } of other.handle(flow, run.id).events()) {
        kinds.push(kind)
        seqs.push(seq)
        if (kind === 'wait.opened') await run.signal('go')
      }
      expect(kinds.at(-1)).toBe('run.completed')
      expect(seqs).toEqual(seqs.map((_, i) => i + 1))
      const rest = await all(run.events({ after: 3 }))
      expect(rest.map(({ seq }) => seq)).toEqual(seqs.slice(3))
    })

    test('ends with the reason of its signal, and refuses what is no run and no number', async () => {
      const flow = workflow(fresh('waits'), async (wf) => wf.waitFor('go'))
      const engine = await world.open([flow])
      const run = await engine.start(flow)
      const stop = new AbortController()
      const heard: string[] = []
      const following = (async () => {
        for await (const { kind } of run.events({ signal: stop.signal })) heard.push(kind)
      })()
      await eventually(() => Promise.resolve(heard)).toContain('wait.opened')
      stop.abort(new Error('enough'))
      await expect(following).rejects.toThrow('enough')
      const none = engine.handle(flow, fresh('none')).events()
      expect(await refusalOf(all(none))).toMatchObject({ code: 'RUN_NOT_FOUND' })
      expect(await refusalOf(all(run.events({ after: -1 })))).toMatchObject({
        code: 'OPTION_INVALID',
      })
    })
  })
})

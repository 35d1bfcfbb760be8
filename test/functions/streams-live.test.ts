// step.publish and handle.stream, engine.changes: on real databases.

import { expect, test } from 'vitest'
import { type Change, machine, type Published, task, typed, workflow } from '../../src/index.js'
import { type Store, StoreUnavailable } from '../../src/kernel/store.js'
import { PUBLISHED_BYTES_MAX } from '../../src/model/limits.js'
import { describeOn } from '../support/databases.js'
import { instead } from '../support/instead.js'
import { all, fresh, gate, refusalOf, worldOn } from '../support/world.js'

const short = ({ offset, step, attempt, isFirst, value }: Published) =>
  `${offset} ${step} ${attempt}${isFirst ? ' first' : ''} ${JSON.stringify(value)}`

describeOn(['pglite', 'postgres18', 'redis'], 'what steps publish', (database) => {
  const world = worldOn(database)

  test('[X11] is heard while the step runs, from any offset on, in every process, until the run has ended', async () => {
    const held = gate()
    const chat = workflow(fresh('chat'), { stream: typed<{ token: string }>() }, async (wf) => {
      const answer = await wf.do('answer', async (step) => {
        step.publish({ token: 'hel' })
        step.publish({ token: 'lo' })
        await held.passed
        step.publish({ token: '!' })
        return 'hello!'
      })
      await wf.do('again', (step) => step.publish({ token: answer }))
    })
    const engine = await world.open([chat])
    const other = await world.open([], { options: { worker: false } })
    const run = await engine.start(chat)
    const heard: string[] = []
    for await (const chunk of other.handle(chat, run.id).stream()) {
      heard.push(short(chunk))
      // The step waits until its first two were read.
      if (chunk.offset === 2) held.open()
    }
    expect(heard).toEqual([
      '1 answer 1 first {"token":"hel"}',
      '2 answer 1 {"token":"lo"}',
      '3 answer 1 {"token":"!"}',
      '4 again 1 first {"token":"hello!"}',
    ])
    expect((await all(run.stream({ after: 2 }))).map(short)).toEqual(heard.slice(2))
    expect(await all(run.stream({ after: 99 }))).toEqual([])
    const [first] = await all(run.stream())
    expect(first?.value.token).toBe('hel')
    expect(first?.at).toBeInstanceOf(Date)
    expect((await all(run.events())).map(({ kind }) => kind)).not.toContain('published')
  })

  test('is published once however often the run is replayed, and each attempt begins anew', async () => {
    let tries = 0
    const trying = workflow(fresh('trying'), async (wf) => {
      await wf.do(
        'write',
        (step) => {
          tries += 1
          for (let n = 1; n <= tries; n += 1) step.publish(n)
          if (tries === 1) throw new Error('once')
        },
        { retry: { attempts: 1, delay: 1 } },
      )
      await wf.waitFor('go')
      await wf.sleep('a moment', 1)
      return tries
    })
    const engine = await world.open([trying], { kernel: { framesMax: 0 } })
    const run = await engine.start(trying)
    await run.signal('go')
    expect(await run.result()).toBe(2)
    expect((await all(run.stream())).map(short)).toEqual([
      '1 write 1 first 1',
      '2 write 2 first 1',
      '3 write 2 2',
    ])
  })

  test('is of tasks, of transitions and of actions as well', async () => {
    const work = task(fresh('work'), (_input, step) => step.publish('task'))
    const moving = machine(fresh('moving'), {
      transitions: { go: { from: 'start', to: 'end', run: (_state, ctx) => ctx.publish('ctx') } },
    })
    const states = machine(fresh('states'), {
      initial: 'on',
      context: { n: 0 },
      states: {
        on: { on: { GO: { target: 'off', actions: ({ publish }) => publish('action') } } },
        off: { final: true },
      },
    })
    const engine = await world.open([work, moving, states])
    const values = async (id: string, of: Parameters<typeof engine.handle>[0]) =>
      (await all(engine.handle(of, id).stream())).map(({ value }) => value)
    const [worked, moved] = [await engine.start(work), await engine.start(moving)]
    expect(await values(worked.id, work)).toEqual(['task'])
    expect(await values(moved.id, moving)).toEqual(['ctx'])
    await engine.send(states, `${states.name}-1`, { type: 'GO' })
    expect(await values(`${states.name}-1`, states)).toEqual(['action'])
  })

  // Redis has no transactions.
  if (database.name !== 'redis') {
    test('is of transactions as well', async () => {
      const storing = workflow(fresh('storing'), async (wf) => {
        await wf.transaction('store', async (tx, step) => {
          step.publish('before')
          await tx.query('select 1')
          step.publish('after')
        })
        await wf.do('then', (step) => step.publish('then'))
      })
      const engine = await world.open([storing])
      const stored = await engine.start(storing)
      const published = (await all(stored.stream())).map(({ value }) => value)
      expect(published).toEqual(['before', 'after', 'then'])
    })
  }

  test('[X03] an answer that is lost loses nothing and stores nothing twice', async () => {
    let calls = 0
    const store = (opened: { store: Store }) => ({
      ...opened,
      store: instead(opened.store, {
        publish: async (...args: Parameters<Store['publish']>) => {
          calls += 1
          if (calls === 1) throw new StoreUnavailable('away')
          await opened.store.publish(...args)
          if (calls === 2) throw new StoreUnavailable('the answer was lost')
        },
      }),
    })
    const counting = workflow(fresh('counting'), (wf) =>
      wf.do('count', (step) => {
        for (let n = 1; n <= 1_200; n += 1) step.publish(n)
      }),
    )
    const engine = await world.open([counting], { store: store as never })
    const run = await engine.start(counting)
    await run.result()
    const values = (await all(run.stream())).map(({ value }) => value)
    expect(values).toEqual(Array.from({ length: 1_200 }, (_, i) => i + 1))
    // 1200 in batches of 500, and two more calls.
    expect(calls).toBe(5)
  })

  test('has limits and a schema, and nothing comes of a step that has ended', async () => {
    const refused: string[] = []
    const late: (() => void)[] = []
    const stream = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: (value: unknown) =>
          typeof value === 'string' ? { value } : { issues: [{ message: 'must be a text' }] },
      },
    }
    const strict = workflow(fresh('strict'), { stream }, async (wf) => {
      await wf.do('write', async (step) => {
        const attempt = async (value: unknown) => {
          const error = await refusalOf(Promise.resolve().then(() => step.publish(value as string)))
          refused.push(`${error.code} ${error.message}`)
        }
        await attempt(5)
        await attempt('x'.repeat(70_000))
        late.push(() => step.publish('late'))
        step.publish('ok')
      })
      late[0]?.()
      await wf.do('too much', async (step) => {
        const text = 'x'.repeat(60_000)
        for (let sent = 0; ; sent += text.length) step.publish(sent === 0 ? 'first' : text)
      })
    })
    const engine = await world.open([strict])
    const run = await engine.start(strict)
    const failed = await refusalOf(run.result())
    expect(refused[0]).toMatch(/^PAYLOAD_INVALID What step "write" publishes does not fit/)
    expect(refused[1]).toMatch(/^VALUE_TOO_LARGE Cannot store what step "write" publishes/)
    expect(failed.cause).toMatchObject({ code: 'STREAM_FULL' })
    const values = (await all(run.stream())).map(({ value }) => value)
    expect(values.slice(0, 2)).toEqual(['ok', 'first'])
    const bytes = values.reduce<number>((sum, value) => sum + String(value).length + 2, 0)
    expect(bytes).toBeLessThanOrEqual(PUBLISHED_BYTES_MAX)
    const abort = AbortSignal.abort(new Error('enough'))
    await expect(all(run.stream({ signal: abort }))).rejects.toThrow('enough')
    const wrong = await refusalOf(all(run.stream({ after: -1 })))
    expect(wrong).toMatchObject({ code: 'OPTION_INVALID' })
  })
})

type Told = Extract<Change, { isReload: false }>

describeOn(['pglite', 'postgres18', 'redis'], 'changes of all runs', (database) => {
  const world = worldOn(database)

  test('[X11] come once and in order, and go on behind a cursor in another process, after a restart', async () => {
    const stop = new AbortController()
    const order = workflow(fresh('order'), async (wf, n: number) => {
      await wf.do('charge', () => n)
      return wf.waitFor('go')
    })
    const first = await world.open([order])
    const space = fresh('space')
    const ids: string[] = []
    const told: Told[] = []
    let cursor = ''
    // As a list that stays current: begins with a reload, ends somewhere in the middle.
    for await (const change of first.workspace(space).changes({ signal: stop.signal })) {
      cursor = change.cursor
      if (change.isReload) {
        for (let n = 0; n < 5; n += 1) {
          const run = await first.workspace(space).start(order, n)
          ids.push(run.id)
          await first.start(order, n)
        }
        continue
      }
      told.push(change)
      if (told.length === 7) break
    }
    await first.close()
    const second = await world.open([order])
    for (const id of ids) await second.workspace(space).signal(id, 'go')
    for (const id of ids) await second.workspace(space).handle(order, id).result()
    for await (const change of second.workspace(space).changes({ after: cursor })) {
      if (change.isReload) throw new Error('told to reload')
      told.push(change)
      if (told.filter(({ kind }) => kind === 'run.completed').length === ids.length) break
    }
    for (const id of ids) {
      const entries = await all(second.workspace(space).history(id))
      const seen = told.filter(({ runId, kind }) => runId === id && kind !== null)
      expect(seen.map(({ seq, kind, name }) => ({ seq, kind, name }))).toEqual(
        entries.map(({ seq, kind, name }) => ({ seq, kind, name })),
      )
      expect(seen.at(-1)).toMatchObject({ status: 'completed', workflow: order.name })
    }
    expect(new Set(told.map(({ runId }) => runId))).toEqual(new Set(ids))
    expect(new Set(told.map((one) => one.workspace))).toEqual(new Set([space]))
  })

  test('[X11] with a cursor that is too old begin with a reload', async () => {
    const engine = await world.open([])
    for (const after of ['1-0-0', '999999999999-1-1']) {
      for await (const change of engine.changes({ after })) {
        expect(change).toEqual({ cursor: expect.stringMatching(/^\d+-0-0$/), isReload: true })
        break
      }
    }
    const refused = await refusalOf(all(engine.changes({ after: 'x' })))
    expect(refused).toMatchObject({ code: 'OPTION_INVALID' })
    const over = AbortSignal.abort(new Error('enough'))
    await expect(all(engine.changes({ signal: over }))).rejects.toThrow('enough')
  })
})

// Scopes, races, loops and undo. Each on a frame that stays in memory, and replayed from the journal at every wait.

import { describe, expect, test } from 'vitest'
import { PerdureError, task, typed, type Wf, workflow } from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { eventually, fresh, worldOn } from '../support/world.js'

const FRAMES = [
  ['kept in memory', {}],
  ['replayed at every wait', { kernel: { framesMax: 0 } }],
] as const

/** What ends well around a scope that fails. */
const AROUND: readonly (readonly [
  string,
  (wf: Wf, body: (wf: Wf) => Promise<string>) => Promise<string>,
])[] = [
  ['a run', (wf, body) => body(wf)],
  ['a scope', (wf, body) => wf.scope('trip', body)],
  ['a branch of a race', async (wf, body) => (await wf.race('trip', { one: body })).value],
  ['a round of a loop', (wf, body) => wf.loop('trip', '', async (wf) => wf.done(await body(wf)))],
]

class Refused extends Error {
  override name = 'Refused'
}

describeOn(['pglite', 'postgres18'], 'scopes', (database) => {
  const world = worldOn(database)

  describe.each(FRAMES)('of a run %s', (_, more) => {
    test('wf.scope gives back what its function did, and its steps are named after it', async () => {
      const booking = workflow(fresh('booking'), async (wf) => {
        const total = await wf.scope('hotel', async (wf) => {
          const room = await wf.do('room', () => 100)
          await wf.sleep('think', 5)
          return room + (await wf.do('parking', () => 10))
        })
        return wf.do('room', () => total + 1)
      })
      const engine = await world.open([booking], more)
      const run = await engine.start(booking)
      expect(await run.result()).toBe(111)
      const { items } = await engine.history(run.id, { limit: 100 })
      const names = items.filter(({ kind }) => /completed|ended/.test(kind)).map(({ name }) => name)
      expect(names.slice(0, 4)).toEqual(['hotel/room', 'hotel/parking', 'hotel', 'room'])
    })

    test('rule 1: a scope that fails has undone itself, newest first, before the body hears of it', async () => {
      const did: string[] = []
      const booking = workflow(fresh('booking'), async (wf) => {
        await wf.do('before', () => did.push('before'), { undo: () => did.push('undo before') })
        try {
          await wf.scope('hotel A', async (wf) => {
            await wf.do('room', () => 'room 7', { undo: (room) => did.push(`give back ${room}`) })
            await wf.sleep('think', 5)
            await wf.do('parking', () => 'lot 3', { undo: (lot) => did.push(`give back ${lot}`) })
            await wf.do('breakfast', () => {
              throw new Refused('no breakfast')
            })
          })
        } catch (error) {
          did.push(`caught ${(error as Error).message}`)
        }
        return wf.do('hotel B', () => did.push('hotel B') && 'B')
      })
      const engine = await world.open([booking], more)
      expect((await engine.run(booking)).output).toBe('B')
      const once = did.filter((line, i) => did.indexOf(line) === i)
      expect(once).toEqual([
        'before',
        'give back lot 3',
        'give back room 7',
        'caught no breakfast',
        'hotel B',
      ])
      expect(did.filter((line) => line.startsWith('give back'))).toHaveLength(2)
    })

    test('a scope past its timeout is withdrawn and undone, and throws STEP_TIMED_OUT', async () => {
      const did: string[] = []
      const slow = workflow(fresh('slow'), async (wf) => {
        const code = await wf
          .scope(
            'quick',
            async (wf) => {
              await wf.do('reserve', () => 1, { undo: () => did.push('release') })
              await wf.waitFor('never')
            },
            { timeout: 400 },
          )
          .catch((error: PerdureError) => error.code)
        await wf.sleep('later', 5)
        return code
      })
      const engine = await world.open([slow], more)
      expect((await engine.run(slow)).output).toBe('STEP_TIMED_OUT')
      expect(did).toEqual(['release'])
    })

    test.each(AROUND)(
      'what is being undone in %s, and is not waited for, is undone before that ends well',
      async (_, around) => {
        const did: string[] = []
        let open = (): void => {}
        const gate = new Promise<void>((resolve) => {
          open = resolve
        })
        const hasty = workflow(fresh('hasty'), async (wf) => {
          const body = async (wf: Wf): Promise<string> => {
            const hotel = wf.scope('hotel', async (wf) => {
              await wf.do('room', () => 1, { undo: () => did.push('room') })
              await wf.do('lot', () => 1, {
                undo: async () => {
                  did.push('lot')
                  await gate
                },
              })
              throw new Refused('no breakfast')
            })
            // As Promise.all does when another has failed before.
            await Promise.race([hotel, wf.waitFor('hurry')])
            return 'went on'
          }
          return around(wf, body)
        })
        const engine = await world.open([hasty], more)
        const run = await engine.start(hasty)
        const told = async () =>
          (await engine.history(run.id, { limit: 100 })).items.map(
            ({ kind, name }) => `${kind} ${name.replace(/^.*\//, '')}`,
          )
        await eventually(async () => did).toEqual(['lot'])
        await run.signal('hurry')
        await eventually(told).toContain('message.taken hurry')
        open()
        expect(await run.result()).toBe('went on')
        const ends = (await told()).filter((text) => /^undo.com|^scope|^run.com/.test(text))
        expect(ends.slice(0, 3)).toEqual([
          'undo.completed lot',
          'undo.completed room',
          'scope.ended hotel',
        ])
        expect(did).toEqual(['lot', 'room'])
      },
    )

    test('rule 8: the first branch of wf.race decides; losers are withdrawn, aborted and undone', async () => {
      const did: string[] = []
      const child = workflow(fresh('child'), async (wf) => {
        await wf.sleep('long', '1h')
      })
      const racing = workflow(fresh('racing'), async (wf) => {
        const end = await wf.race('first', {
          answer: async (wf) => {
            await wf.do('hold', () => 1, { undo: () => did.push('undo hold') })
            return (await wf.waitFor('answer')) as { ok: boolean }
          },
          child: async (wf) => {
            await wf.do('started', () => 1, { undo: () => did.push('undo started') })
            return wf.do('child', child)
          },
          slow: (wf) =>
            wf.do(
              'slow',
              (step) =>
                new Promise<void>((resolve) => {
                  const ends = () => {
                    did.push('aborted')
                    resolve()
                  }
                  if (step.signal.aborted) ends()
                  else step.signal.addEventListener('abort', ends)
                }),
            ),
        })
        // The wait of the race is gone: this one takes the next signal.
        const next = await wf.waitFor('answer')
        return [end, next]
      })
      const engine = await world.open([racing, child], more)
      const run = await engine.start(racing)
      await eventually(async () => (await engine.list({ parentId: run.id })).items.length).toBe(1)
      await eventually(() => run.get()).toMatchObject({ undo: [{}, {}] })
      await run.signal('answer', { ok: true })
      await run.signal('answer', 'second')
      expect(await run.result()).toEqual([{ winner: 'answer', value: { ok: true } }, 'second'])
      expect(did.sort()).toEqual(['aborted', 'undo started'])
      await eventually(async () => (await engine.list({ parentId: run.id })).items[0]?.status).toBe(
        'cancelled',
      )
    })

    test('a race whose first branch throws has undone itself, and throws', async () => {
      const did: string[] = []
      const racing = workflow(fresh('racing'), async (wf) => {
        await wf.race('first', {
          bad: async (wf) => {
            await wf.do('a', () => 1, { undo: () => did.push('undo a') })
            await wf.sleep('a moment', 10)
            throw new Refused('bad luck')
          },
          other: async (wf) => {
            await wf.do('b', () => 1, { undo: () => did.push('undo b') })
            await wf.waitFor('never')
          },
        })
      })
      const engine = await world.open([racing], more)
      expect(await engine.run(racing)).toMatchObject({
        status: 'failed',
        error: { name: 'Refused', message: 'bad luck' },
      })
      expect(did.sort()).toEqual(['undo a', 'undo b'])
    })

    test('rule 7: wf.loop goes from state to state; a signal per round, undo only of the last', async () => {
      const did: string[] = []
      const subscription = workflow(
        fresh('subscription'),
        { signals: { pay: typed<number>(), cancel: typed<string>() } },
        async (wf, input: { plan: string }) => {
          await wf.do('welcome', () => did.push('welcome'))
          const end = await wf.loop('months', { paid: 0 }, async (wf, sub) => {
            const message = await wf.waitFor(['pay', 'cancel'])
            if (message.name === 'cancel') return wf.done({ ...sub, why: message.payload })
            const fee = await wf.do('charge', () => message.payload, {
              undo: (fee) => did.push(`refund ${fee}`),
            })
            if (fee > 100) throw new Refused('too much')
            return { paid: sub.paid + fee }
          })
          return { ...end, plan: input.plan }
        },
      )
      const engine = await world.open([subscription], more)
      const run = await engine.start(subscription, { plan: 'pro' })
      for (const fee of [1, 2, 3]) await run.signal('pay', fee)
      await run.signal('cancel', 'moved')
      expect(await run.result()).toEqual({ paid: 6, why: 'moved', plan: 'pro' })
      const other = await engine.start(subscription, { plan: 'pro' })
      for (const fee of [1, 2, 300]) await other.signal('pay', fee)
      await expect(other.result()).rejects.toMatchObject({ code: 'WORKFLOW_FAILED' })
      expect(did).toEqual(['welcome', 'welcome', 'refund 300'])
    })

    test('random and uuid of a round are the same whenever it is repeated', async () => {
      const seen: string[] = []
      const drawing = workflow(fresh('drawing'), async (wf) =>
        wf.loop('draws', 0, async (wf, n) => {
          const drawn = `${n} ${wf.uuid()}`
          seen.push(drawn)
          await wf.sleep('a moment', 5)
          const again = await wf.do('remember', () => drawn)
          expect(again).toBe(drawn)
          return n === 3 ? wf.done(again) : n + 1
        }),
      )
      const engine = await world.open([drawing], more)
      expect((await engine.run(drawing)).status).toBe('completed')
      expect(new Set(seen).size).toBe(4)
    })

    test.each([
      ['fails', 'failed'],
      ['is cancelled from inside', 'cancelled'],
      ['is cancelled', 'cancelled'],
      ['times out', 'timed_out'],
    ] as const)(
      'a run that %s undoes its steps, newest first, each as a step',
      async (how, status) => {
        const did: string[] = []
        const attempts: number[] = []
        const remote = task(fresh('remote'), async () => 'remote result')
        const saga = workflow(fresh('saga'), async (wf) => {
          await wf.do('a', () => 1, {
            retries: 2,
            retryDelay: 5,
            undo: (_, step) => {
              attempts.push(step.attempt)
              if (step.attempt < 3) throw new Refused('not yet')
              did.push('undo a')
            },
          })
          await wf.do('b', remote, undefined, { undo: (result) => did.push(`undo ${result}`) })
          await wf.transaction('c', async () => 'c', { undo: (c) => did.push(`undo ${c}`) })
          if (how === 'fails') throw new Refused('bad end')
          if (how === 'is cancelled from inside') return wf.cancel('thought better of it')
          await wf.waitFor('never')
          return null
        })
        const engine = await world.open([saga, remote], more)
        const timeout = how === 'times out' ? 2_000 : undefined
        const run = await engine.start(saga, undefined, { timeout })
        if (how === 'is cancelled') {
          await eventually(() => run.get()).toMatchObject({ status: 'waiting', reason: 'signal' })
          await engine.cancel(run.id, 'not wanted')
        }
        await eventually(() => run.status()).toBe(status)
        expect(did).toEqual(['undo c', 'undo remote result', 'undo a'])
        expect(attempts).toEqual([1, 2, 3])
        const { items } = await engine.history(run.id, { limit: 100 })
        expect(
          items.map(({ kind }) => kind).filter((kind) => /undo|stopping|run\./.test(kind)),
        ).toEqual([
          'run.created',
          'run.stopping',
          'undo.completed',
          'undo.completed',
          'undo.failed',
          'undo.failed',
          'undo.completed',
          `run.${status}`,
        ])
      },
    )

    test.each(['fails', 'is late', 'loses a race'] as const)(
      'a step with an undo that runs when its scope %s may end, is recorded, and is undone before anybody hears of it',
      async (how) => {
        const did: string[] = []
        let isRunning = false
        const late = (wf: Wf) =>
          wf.do(
            'slow',
            async (step) => {
              isRunning = true
              await new Promise((resolve) => step.signal.addEventListener('abort', resolve))
              await new Promise((resolve) => setTimeout(resolve, 30))
              did.push('slow')
              return 'late'
            },
            { undo: (value) => did.push(`undo ${value}`) },
          )
        const fails = async (wf: Wf) => {
          await wf.waitFor('go')
          throw new Refused('no')
        }
        const saga = workflow(fresh('saga'), async (wf) => {
          if (how === 'loses a race')
            await wf.race('both', { late, quick: (wf) => wf.waitFor('go') })
          else if (how === 'is late') await wf.scope('both', late, { timeout: 500 }).catch(() => {})
          else await wf.scope('both', (wf) => Promise.all([late(wf), fails(wf)])).catch(() => {})
          await wf.do('after', () => did.push('after'))
          await wf.sleep('more', 5)
          return 'end'
        })
        const engine = await world.open([saga], more)
        const run = await engine.start(saga)
        await eventually(() => isRunning).toBe(true)
        if (how !== 'is late') await run.signal('go')
        expect(await run.result()).toBe('end')
        expect(did).toEqual(['slow', 'undo late', 'after'])
        const { items } = await engine.history(run.id, { limit: 100 })
        const told = items.filter(({ kind }) => /step.completed|undo|scope.ended/.test(kind))
        const slow = how === 'loses a race' ? 'both/late/slow' : 'both/slow'
        expect(told.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
          `step.completed ${slow}`,
          `undo.completed undo:${slow}`,
          'scope.ended both',
          'step.completed after',
        ])
      },
    )

    test('a step whose scope has failed is not tried again, and one that waits for that has failed', async () => {
      const calls: string[] = []
      const saga = workflow(fresh('saga'), async (wf) => {
        const undo = () => calls.push('undo')
        await wf
          .scope(
            'both',
            async (wf) => {
              const running = wf.do(
                'running',
                async (step) => {
                  calls.push('running')
                  await new Promise((resolve) => step.signal.addEventListener('abort', resolve))
                  throw new Refused('told to stop')
                },
                { undo, retries: 5, retryDelay: 1 },
              )
              const waiting = wf.do(
                'waiting',
                () => {
                  calls.push('waiting')
                  throw new Refused('not yet')
                },
                { undo, retries: 5, retryDelay: '1h' },
              )
              await Promise.all([running, waiting])
              throw new Refused('no')
            },
            { timeout: 500 },
          )
          .catch(() => {})
        await wf.sleep('more', 5)
        return 'end'
      })
      const engine = await world.open([saga], more)
      const run = await engine.start(saga)
      expect(await run.result()).toBe('end')
      expect(calls.sort()).toEqual(['running', 'waiting'])
      const { items } = await engine.history(run.id, { limit: 100 })
      expect(items.filter(({ kind }) => kind === 'step.failed')).toHaveLength(3)
    })

    test('a child with an undo has ended before the scope around it is undone', async () => {
      const did: string[] = []
      const child = workflow(fresh('child'), async (wf) => {
        await wf.do('in child', () => 1, { undo: () => did.push('undo in child') })
        await wf.waitFor('never')
      })
      const parent = workflow(fresh('parent'), async (wf) => {
        await wf
          .scope(
            'both',
            async (wf) => {
              await wf.do('before', () => 1, { undo: () => did.push('undo before') })
              await wf.do('child', child, undefined, { undo: () => did.push('undo child') })
            },
            { timeout: 400 },
          )
          .catch(() => did.push('caught'))
        await wf.sleep('more', 5)
      })
      const engine = await world.open([parent, child], more)
      expect((await engine.run(parent)).status).toBe('completed')
      const once = did.filter((line, i) => did.indexOf(line) === i)
      expect(once).toEqual(['undo in child', 'undo before', 'caught'])
    })

    test('wf.signal inside a scope aborts when the scope ends, and when the run is cancelled', async () => {
      const aborted: string[] = []
      const watching = workflow(fresh('watching'), async (wf) => {
        await wf.scope('first', async (wf) => {
          wf.signal.addEventListener('abort', () => aborted.push('first'))
          await wf.do('a', () => 1)
        })
        await wf.scope('second', async (wf) =>
          wf.scope('inner', async (wf) => {
            wf.signal.addEventListener('abort', () => aborted.push('inner'))
            await wf.waitFor('never')
          }),
        )
      })
      const engine = await world.open([watching])
      const run = await engine.start(watching)
      await eventually(() => run.get()).toMatchObject({ status: 'waiting', reason: 'signal' })
      await run.cancel('enough')
      await eventually(() => run.status()).toBe('cancelled')
      expect(aborted).toEqual(['first', 'inner'])
    })

    test('children end before their parent is undone', async () => {
      const did: string[] = []
      const child = workflow(fresh('child'), async (wf) => {
        await wf.do('in child', () => 1, { undo: () => did.push('undo in child') })
        await wf.waitFor('never')
      })
      const parent = workflow(fresh('parent'), async (wf) => {
        await wf.do('in parent', () => 1, { undo: () => did.push('undo in parent') })
        await wf.do('child', child)
      })
      const engine = await world.open([parent, child], more)
      const run = await engine.start(parent)
      await eventually(async () => (await engine.list({ parentId: run.id })).items[0]?.status).toBe(
        'waiting',
      )
      await run.cancel('enough')
      await eventually(() => run.status()).toBe('cancelled')
      expect(did).toEqual(['undo in child', 'undo in parent'])
    })

    test('an undo that fails for good ends the run with UNDO_FAILED; retry runs it again, and then the rest', async () => {
      const did: string[] = []
      let mended = false
      const saga = workflow(fresh('saga'), async (wf) => {
        await wf.do('a', () => 1, { undo: () => did.push('undo a') })
        await wf.do('b', () => 1, {
          undo: () => {
            if (!mended) throw new Refused('the bank is closed')
            did.push('undo b')
          },
        })
        throw new Refused('bad end')
      })
      const engine = await world.open([saga], more)
      const run = await engine.start(saga)
      await eventually(() => run.status()).toBe('failed')
      expect((await run.get()).error).toMatchObject({ code: 'UNDO_FAILED', step: 'undo:b' })
      expect(did).toEqual([])
      mended = true
      await engine.retry(run.id)
      await eventually(async () => (await run.get()).error).toMatchObject({ message: 'bad end' })
      expect(did).toEqual(['undo b', 'undo a'])
      const error = await engine.retry(run.id).catch((reason: unknown) => reason)
      expect(PerdureError.is(error, 'RUN_NOT_RETRYABLE')).toBe(true)
      expect(await run.get()).toMatchObject({
        retryable: false,
        undo: [
          { step: 'a', state: 'done' },
          { step: 'b', state: 'done' },
        ],
      })
      expect((await engine.explain(run.id)).sentence).toMatch(/What it had done is undone\.$/)
    })

    test.each(['fail', 'are cancelled'] as const)(
      'steps that %s together are recorded, and the run goes on undoing after a replay',
      async (how) => {
        const did: string[] = []
        let running = 0
        const saga = workflow(fresh('saga'), async (wf) => {
          await wf.do('a', () => 1, {
            retries: 1,
            retryDelay: 20,
            undo: (_, step) => {
              if (step.attempt === 1) throw new Refused('not yet')
              did.push('undo a')
            },
          })
          const both = new Promise<void>((resolve) => setTimeout(resolve, 5))
          const step = (name: string) =>
            wf.do(name, async (step) => {
              running += 1
              if (how === 'are cancelled')
                await new Promise((resolve) => step.signal.addEventListener('abort', resolve))
              await both
              throw new Refused(name)
            })
          await Promise.all([step('b'), step('c')])
          await wf.do('never', () => did.push('never'))
        })
        const engine = await world.open([saga], more)
        const run = await engine.start(saga)
        if (how === 'are cancelled') {
          await eventually(() => running).toBe(2)
          await run.cancel('enough')
        }
        await eventually(() => run.status()).toBe(how === 'fail' ? 'failed' : 'cancelled')
        expect(did).toEqual(['undo a'])
        const { items } = await engine.history(run.id, { limit: 100 })
        expect(items.filter(({ kind }) => kind === 'step.failed')).toHaveLength(2)
      },
    )

    test('a run that is past its time stays so when its undo is retried, and the attempts are counted on', async () => {
      const attempts: number[] = []
      const saga = workflow(fresh('saga'), async (wf) => {
        await wf.do('a', () => 1, {
          retries: 1,
          retryDelay: 5,
          undo: (_, step) => {
            attempts.push(step.attempt)
            if (step.attempt < 3) throw new Refused('the bank is closed')
          },
        })
        await wf.waitFor('never')
      })
      const engine = await world.open([saga], more)
      const run = await engine.start(saga, undefined, { timeout: 300 })
      await eventually(() => run.status()).toBe('failed')
      await engine.retry(run.id)
      await eventually(() => run.status()).toBe('timed_out')
      expect(attempts).toEqual([1, 2, 3])
      expect((await run.get()).error?.message).toContain('300 ms')
    })

    test('retry of a run whose child has undone itself starts a new child', async () => {
      const did: string[] = []
      const child = workflow(fresh('child'), async (wf) => {
        await wf.do('a', () => did.push('a'), { undo: () => did.push('undo a') })
        await wf.do('b', () => {
          if (did.length === 1) throw new Refused('not yet')
        })
        return 'done'
      })
      const parent = workflow(fresh('parent'), async (wf) => wf.do('child', child))
      const engine = await world.open([parent, child], more)
      const run = await engine.start(parent)
      await eventually(() => run.status()).toBe('failed')
      await engine.retry(run.id)
      await eventually(() => run.status()).toBe('completed')
      expect(did).toEqual(['a', 'undo a', 'a'])
    })

    test('retry of a run whose race has failed runs all branches of it again', async () => {
      let isThere = false
      const carriers = workflow(fresh('carriers'), (wf) =>
        wf.race('carriers', {
          quick: (wf) =>
            wf.do('ask', () => {
              if (!isThere) throw new Refused('nobody there')
              return 'tomorrow'
            }),
          slow: (wf) =>
            wf.do('ask', ({ signal }) =>
              isThere ? 'next week' : new Promise((_, no) => signal.addEventListener('abort', no)),
            ),
        }),
      )
      const engine = await world.open([carriers], more)
      const run = await engine.start(carriers)
      await eventually(() => run.status()).toBe('failed')
      isThere = true
      await engine.retry(run.id)
      expect(await run.result()).toMatchObject({ value: expect.stringMatching(/tomorrow|next/) })
    })

    test('a run that is retried hears of a child under an id that was stopped by its failure', async () => {
      let isThere = false
      const child = workflow(fresh('child'), (wf) => wf.waitFor('never'))
      const parent = workflow(fresh('parent'), async (wf) => {
        const started = await wf.start('child', child, undefined, { id: `${wf.run.id}-child` })
        await wf.do('ask', () => {
          if (!isThere) throw new Refused('nobody there')
        })
        return started.result()
      })
      const engine = await world.open([parent, child], more)
      const run = await engine.start(parent)
      await eventually(() => run.status()).toBe('failed')
      const handle = engine.handle(child, `${run.id}-child`)
      await eventually(() => handle.status()).toBe('cancelled')
      isThere = true
      await engine.retry(run.id)
      await eventually(async () => (await run.get()).error?.message).toMatch(/cancelled|has ended/)
      expect(await run.get()).toMatchObject({ status: 'failed', attempt: 2 })
    })

    test('a second cancel changes nothing while it is undone; force ends it, and says what was skipped', async () => {
      const did: string[] = []
      const saga = workflow(fresh('saga'), async (wf) => {
        await wf.do('a', () => 1, { undo: () => did.push('undo a') })
        await wf.do('b', () => 1, {
          retries: 1000,
          retryDelay: '1h',
          undo: () => {
            did.push('try b')
            throw new Refused('closed')
          },
        })
        await wf.waitFor('never')
      })
      const engine = await world.open([saga], more)
      const run = await engine.start(saga)
      await eventually(() => run.status()).toBe('waiting')
      await run.cancel('first')
      await eventually(() => did.length).toBe(1)
      await eventually(() => run.status()).toBe('waiting')
      await run.cancel('second')
      // It hears of the second cancel, and goes on waiting for its undo.
      await new Promise((resolve) => setTimeout(resolve, 50))
      await eventually(() => run.status()).toBe('waiting')
      expect(did).toEqual(['try b'])
      expect((await run.get()).undo).toEqual([
        { step: 'a', state: 'planned' },
        { step: 'b', state: 'planned' },
      ])
      const { sentence, next } = await engine.explain(run.id)
      expect(sentence).toContain('is being cancelled: "b", "a" are still to be undone at ')
      expect(next[0]?.command).toBe(`engine.cancel('${run.id}', 'by force', { force: true })`)
      await engine.cancel(run.id, 'by force', { force: true })
      await eventually(() => run.status()).toBe('cancelled')
      expect(did).toEqual(['try b'])
      expect((await run.get()).undo.map(({ state }) => state)).toEqual(['skipped', 'skipped'])
    })
  })
})

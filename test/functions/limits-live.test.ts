// Limits: on real databases, with two engines.

import { describe, expect, onTestFinished, test } from 'vitest'
import { machine, task, workflow } from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { all, eventually, fresh, gate, worldOn } from '../support/world.js'

/** Counts how many are inside at once, in all engines of this process. */
function turnstile() {
  let inside = 0
  const seen = { most: 0, order: [] as string[], most_of: new Map<string, number>() }
  const of = new Map<string, number>()
  return {
    seen,
    async pass(name: string, whose = '', work: () => Promise<unknown> = breath): Promise<string> {
      inside += 1
      of.set(whose, (of.get(whose) ?? 0) + 1)
      seen.most = Math.max(seen.most, inside)
      seen.most_of.set(whose, Math.max(seen.most_of.get(whose) ?? 0, of.get(whose) ?? 0))
      seen.order.push(name)
      try {
        await work()
      } finally {
        inside -= 1
        of.set(whose, (of.get(whose) ?? 0) - 1)
      }
      return name
    },
  }
}

const breath = () => new Promise((resolve) => setTimeout(resolve, 15))
const soon = { timeout: 30_000, interval: 20 }

describeOn(['pglite', 'postgres18', 'redis'], 'on a real database', (database) => {
  const world = worldOn(database)

  describe('limits', () => {
    test('[D22] no more runs of a definition, and of a workspace, are under way than allowed, over two engines', async () => {
      const { seen, pass } = turnstile()
      const limits = { concurrency: 3, perWorkspace: 4 }
      const make = (name: string) =>
        workflow(name, { limits }, async (wf, input: string) =>
          wf.do('work', () => pass(input, name)),
        )
      const [a, b] = [make(fresh('a')), make(fresh('b'))]
      const engine = await world.open([a, b])
      await world.open([a, b])
      const space = engine.workspace(fresh('space'))
      const items = Array.from({ length: 12 }, (_, i) => ({ input: `${i}` }))
      const handles = (
        await Promise.all([space.startMany(a, items), space.startMany(b, items)])
      ).flat()
      await Promise.all(handles.map((handle) => handle.result()))
      expect(seen.order).toHaveLength(24)
      expect(seen.most).toBeLessThanOrEqual(4)
      expect(seen.most_of.get(a.name)).toBeLessThanOrEqual(3)
      expect(seen.most_of.get(b.name)).toBeLessThanOrEqual(3)
    })

    test('runs that a process without their code starts are counted like all others', async () => {
      const turn = turnstile()
      const limits = { concurrency: 3, perKey: { key: 'of', concurrency: 1 } }
      const busy = workflow(
        fresh('busy'),
        { limits },
        async (wf, { of, n }: { of: string; n: number }) =>
          wf.do('work', () => turn.pass(`${n}`, of)),
      )
      await world.open([busy])
      const elsewhere = await world.open([], { options: { worker: false } })
      const inputs = Array.from({ length: 12 }, (_, n) => ({ of: n % 2 ? 'a' : 'b', n }))
      const handles = []
      for (const input of inputs) handles.push(await elsewhere.start(busy.name, input))
      await Promise.all(handles.map((handle) => handle.result()))
      expect(turn.seen.order).toHaveLength(12)
      expect(turn.seen.most_of.get('a')).toBe(1)
      expect(turn.seen.most_of.get('b')).toBe(1)
    })

    test('runs that events and schedules start are counted by their key', async () => {
      const turn = turnstile()
      const name = fresh('heard')
      const heard = workflow(
        name,
        {
          limits: { perKey: { key: 'order.of', concurrency: 1 } },
          triggers: [{ type: 'event', event: `${name}-came` }],
        },
        async (wf, { order, n }: { order: { of: string }; n: number }) =>
          wf.do('work', () => turn.pass(`${n}`, order.of)),
      )
      const engine = await world.open([heard])
      await world.open([heard])
      const input = (n: number) => ({ order: { of: n % 2 ? 'a' : 'b\n"ö"' }, n })
      for (let n = 0; n < 8; n += 1) await engine.emit(`${name}-came`, input(n))
      const schedule = { id: fresh('s'), workflow: heard, every: '1d', input: input(9) } as const
      await engine.schedules.set(schedule)
      await engine.schedules.runNow(schedule.id)
      await engine.start(heard, input(10))
      await eventually(() => turn.seen.order.length).toBe(10)
      expect(turn.seen.most_of.get('a')).toBe(1)
      expect(turn.seen.most_of.get('b\n"ö"')).toBe(1)
    })

    test('[D23] what is over the limit is pending, begins in the order of creation, and holds nobody else up', async () => {
      const [first, turn] = [gate(), turnstile()]
      const narrow = task(
        fresh('narrow'),
        { limits: { concurrency: 1, perWorkspace: 5 } },
        (input: string) => turn.pass(input, '', input === '0' ? () => first.passed : undefined),
      )
      const wide = task(fresh('wide'), { limits: { perWorkspace: 5 } }, async () => 'through')
      const engine = await world.open([narrow, wide])
      const handles = []
      for (let i = 0; i < 6; i += 1) handles.push(await engine.start(narrow, `${i}`))
      await eventually(() => turn.seen.order).toEqual(['0'])
      expect(await (await engine.start(wide)).result()).toBe('through')
      expect(await handles[1]?.status()).toBe('pending')
      expect(await engine.explain(handles[1]?.id ?? '')).toMatchObject({
        reason: 'pending',
        sentence: `${handles[1]?.id} waits for a slot: limit 1 of "${narrow.name}", held by ${handles[0]?.id}.`,
      })
      expect((await engine.limits()).filter(({ workflow }) => workflow === narrow.name)).toEqual([
        {
          kind: 'definition',
          workflow: narrow.name,
          name: null,
          limit: 1,
          rate: null,
          used: 1,
          waiting: 5,
        },
      ])
      first.open()
      await Promise.all(handles.map((handle) => handle.result()))
      expect(turn.seen.order).toEqual(['0', '1', '2', '3', '4', '5'])
    })

    test('[D24] a run that waits holds no slot; to go on it takes one, or waits for its turn', async () => {
      const [held, order] = [gate(), [] as string[]]
      const approve = workflow(
        fresh('approve'),
        { limits: { concurrency: 1 } },
        async (wf, input: string) => {
          if (input !== 'second') await wf.waitFor('go')
          await wf.do('work', async () => {
            order.push(input)
            if (input === 'second') await held.passed
          })
        },
      )
      const engine = await world.open([approve])
      const one = await engine.start(approve, 'first')
      await expect.poll(() => one.status(), soon).toBe('waiting')
      const two = await engine.start(approve, 'second')
      await expect.poll(() => order, soon).toEqual(['second'])
      await one.signal('go')
      await expect.poll(() => one.get(), soon).toMatchObject({ status: 'waiting', reason: 'slot' })
      expect(order).toEqual(['second'])
      expect(
        (await all(engine.list({ workflow: approve, reason: 'slot' }))).map(({ id }) => id),
      ).toEqual([one.id])
      held.open()
      await Promise.all([one.result(), two.result()])
      expect(order).toEqual(['second', 'first'])
    })

    test('[D25] the slots of a worker that died are used again', async () => {
      let isDead = false
      const order: string[] = []
      const slow = task(fresh('slow'), { limits: { concurrency: 1 } }, async (input: string) => {
        order.push(input)
        if (!isDead) await new Promise(() => {})
        return input
      })
      const kernel = { leaseMs: 500, pollMs: 20, closeGraceMs: 0 }
      const never = () => new Promise<never>(() => {})
      const client = await world.open([slow], { options: { worker: false } })
      await world
        .open([slow], {
          kernel,
          store: (opened) => {
            onTestFinished(() => opened.store.close())
            const get = (store: typeof opened.store, name: keyof typeof store) =>
              isDead && typeof store[name] === 'function' ? never : store[name]
            return { ...opened, store: new Proxy(opened.store, { get: get as never }) }
          },
        })
        .then((engine) => Object.assign(engine, { close: async () => {} }))
      const handles = await client.startMany(slow, [{ input: 'a' }, { input: 'b' }])
      await expect.poll(() => order, soon).toEqual(['a'])
      isDead = true
      await world.open([slow], { kernel })
      expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual(['a', 'b'])
      expect(order).toEqual(['a', 'a', 'b'])
    })

    test('a parent that waits for a child under the same limit gives its slot to it', async () => {
      const nest = workflow(
        fresh('nest'),
        { limits: { concurrency: 1 } },
        async (wf, depth: number): Promise<number> =>
          depth === 0 ? 0 : 1 + Number(await wf.do('below', nest.name, depth - 1)),
      )
      const engine = await world.open([nest])
      const handles = await engine.startMany(nest, [{ input: 3 }, { input: 3 }])
      expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual([3, 3])
    })

    test('a key of the input has its own limit, and many runs of one key do not hold up another', async () => {
      const [open, order] = [gate(), [] as string[]]
      const perKey = { key: 'customer.id', concurrency: 1 }
      const serve = task(
        fresh('serve'),
        { limits: { perKey } },
        async ({ customer, no }: { customer: { id: string }; no: number }) => {
          order.push(`${customer.id}${no}`)
          if (customer.id === 'busy') await open.passed
        },
      )
      const engine = await world.open([serve])
      const items = (id: string, count: number) =>
        Array.from({ length: count }, (_, no) => ({ input: { customer: { id }, no } }))
      const busy = await engine.startMany(serve, items('busy', 20))
      const calm = await engine.startMany(serve, items('calm', 2))
      await Promise.all(calm.map((handle) => handle.result()))
      expect(order.filter((one) => one.startsWith('calm'))).toEqual(['calm0', 'calm1'])
      expect(order.filter((one) => one.startsWith('busy'))).toEqual(['busy0'])
      open.open()
      await Promise.all(busy.map((handle) => handle.result()))
    })

    test('a child of whose input code cannot say the key is counted without one, and fails by its own check', async () => {
      const key = (input: { customer: { id: string } }) => input.customer.id
      const serve = workflow(
        fresh('serve'),
        { limits: { concurrency: 1, perKey: { key, concurrency: 1 } } },
        async (_, input: { customer: { id: string } }) => input.customer.id,
      )
      const ask = workflow(fresh('ask'), async (wf) => {
        const nobody = {} as { customer: { id: string } }
        const failed = await wf.do('nobody', serve, nobody).catch((error: Error) => error.message)
        return [failed, await wf.do('ada', serve, { customer: { id: 'ada' } })]
      })
      const engine = await world.open([serve, ask])
      const [failed, ada] = await (await engine.start(ask)).result()
      expect(failed).toContain('undefined')
      expect(ada).toBe('ada')
    })

    test('a rate lets so many begin, and the others when their time has come', async () => {
      const order: number[] = []
      const mail = task(
        fresh('mail'),
        { limits: { rate: { runs: 2, per: '1h' } } },
        async (no: number) => {
          order.push(no)
        },
      )
      const engine = await world.open([mail])
      const handles = await engine.startMany(
        mail,
        [0, 1, 2].map((input) => ({ input })),
      )
      await Promise.all(handles.slice(0, 2).map((handle) => handle.result()))
      expect(await handles[2]?.status()).toBe('pending')
      await world.advance(3_600_000)
      await handles[2]?.result()
      expect(order).toEqual([0, 1, 2])
    })

    test('starts with a debounce key are one run, which begins with the last input when nobody has come for so long', async () => {
      const inputs: string[] = []
      const save = task(fresh('save'), async (text: string) => void inputs.push(text))
      const engine = await world.open([save])
      const debounce = { key: 'draft', for: '1h' } as const
      const runs = []
      for (const text of ['a', 'ab', 'abc']) runs.push(await engine.start(save, text, { debounce }))
      expect(new Set(runs.map(({ id }) => id)).size).toBe(1)
      expect(await runs[0]?.get()).toMatchObject({ status: 'pending', input: 'abc' })
      await world.advance(3_600_000)
      await runs[0]?.result()
      expect(inputs).toEqual(['abc'])
      const next = await engine.start(save, 'd', { debounce })
      expect(next.id).not.toBe(runs[0]?.id)
      const wrong = { debounce, delay: '1s' } as const
      await expect(engine.start(save, 'd', wrong)).rejects.toMatchObject({ code: 'OPTION_INVALID' })
    })

    test('a machine has limits too', async () => {
      const { seen, pass } = turnstile()
      const door = machine(fresh('door'), {
        limits: { concurrency: 1 },
        transitions: {
          walk: { from: 'start', to: 'end', run: async () => void (await pass('walk')) },
        },
      })
      const engine = await world.open([door])
      const handles = await Promise.all(Array.from({ length: 4 }, () => engine.start(door)))
      await Promise.all(handles.map((handle) => handle.result()))
      expect(seen).toMatchObject({ most: 1, order: ['walk', 'walk', 'walk', 'walk'] })
    })
  })
})

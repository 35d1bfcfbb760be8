// Runs that outlive the code they were started with.

import { expect, test } from 'vitest'
import {
  type Definition,
  type Engine,
  task,
  type WaitReason,
  type Wf,
  workflow,
} from '../../src/index.js'
import { describeOn } from '../support/databases.js'
import { all, eventually, fresh, gate, pause, worldOn } from '../support/world.js'

describeOn(['pglite', 'postgres18', 'redis'], 'deploys', (database) => {
  const world = worldOn(database)

  /** A deploy: executes until it is closed. */
  const deploy = (code: Definition) => world.open([code], { options: { build: fresh('build') } })
  type Body = (wf: Wf, ran: string[]) => Promise<unknown>
  const step = (wf: Wf, ran: string[], name: string) =>
    wf.do(name, () => {
      ran.push(name)
      return name
    })
  const standard: Body = async (wf, ran) => {
    await step(wf, ran, 'reserve')
    await step(wf, ran, 'charge')
    const go = await wf.waitFor('go')
    await step(wf, ran, 'ship')
    return go
  }

  /** A run of the standard code that waits, and the next deploy with other code. */
  async function redeployed(body: Body) {
    const ran: string[] = []
    const name = fresh('order')
    const code = (of: Body) => workflow(name, async (wf) => of(wf, ran))
    const first = await deploy(code(standard))
    const { id } = await first.start(code(standard), undefined, { id: fresh('o') })
    await eventually(() => first.get(id)).toMatchObject({ reason: 'signal' })
    await first.close()
    ran.length = 0
    const engine = await deploy(code(body))
    await engine.signal(id, 'go', 'on')
    return { engine, id, ran, code, name }
  }

  const differences: readonly [string, Body, string][] = [
    [
      'inserted',
      async (wf, ran) => {
        await step(wf, ran, 'check')
        return standard(wf, ran)
      },
      'at question 1 the history has step "reserve" (inline), the code asks step "check" (inline)',
    ],
    [
      'removed',
      async (wf, ran) => {
        await step(wf, ran, 'charge')
        return wf.waitFor('go')
      },
      'at question 1 the history has step "reserve" (inline), the code asks step "charge" (inline)',
    ],
    [
      'renamed',
      async (wf, ran) => {
        await step(wf, ran, 'reserve')
        await step(wf, ran, 'take money')
        return wf.waitFor('go')
      },
      'at question 2 the history has step "charge" (inline), the code asks step "take money" (inline)',
    ],
    [
      'reordered',
      async (wf, ran) => {
        await step(wf, ran, 'charge')
        await step(wf, ran, 'reserve')
        return wf.waitFor('go')
      },
      'at question 1 the history has step "reserve" (inline), the code asks step "charge" (inline)',
    ],
  ]

  test.each(differences)(
    '[P25] a step that was %s before completed ones parks the run as diverged, names both and the position, and runs nothing',
    async (_, body, sentence) => {
      const { engine, id, ran, code } = await redeployed(body)
      await eventually(() => engine.get(id)).toMatchObject({
        status: 'waiting',
        reason: 'diverged',
      })
      const explained = await engine.explain(id)
      expect(explained.reason).toBe('diverged')
      expect(explained.sentence).toBe(
        `${id} is not moving because its code no longer matches its history: ${sentence}; nothing ran in its place.`,
      )
      expect(explained.next.length).toBeGreaterThan(0)
      const last = (await all(engine.history(id))).at(-1)
      expect(last).toMatchObject({ kind: 'run.diverged', error: { code: 'DIVERGED' } })
      expect(last?.error?.message).toBe(sentence)
      expect(ran).toEqual([])
      await engine.close()
      const mended = await deploy(code(standard))
      expect(await mended.handle(code(standard), id).result()).toBe('on')
      expect(ran).toEqual(['ship'])
    },
  )

  test('[P25] a step that was appended at the end is accepted', async () => {
    const { engine, id, ran, code } = await redeployed(async (wf, ran) => {
      const go = await standard(wf, ran)
      await step(wf, ran, 'thank')
      return go
    })
    expect(await engine.handle(code(standard), id).result()).toBe('on')
    expect(ran).toEqual(['ship', 'thank'])
  })

  test('[P25] wf.patched admits a deliberate change: runs before it keep the old way, later ones take the new', async () => {
    const { engine, id, ran, name } = await redeployed(async (wf, ran) => {
      if (wf.patched('checks first')) await step(wf, ran, 'check')
      return standard(wf, ran)
    })
    const result = (of: string) => engine.handle(name, of).result()
    expect(await result(id)).toBe('on')
    expect(ran).toEqual(['ship'])
    ran.length = 0
    const later = await engine.start(name)
    await later.signal('go', 'on')
    await later.result()
    expect(ran).toEqual(['check', 'reserve', 'charge', 'ship'])
  })

  test('[P26] a run keeps its version: without a worker that has it, it shows as missing code and no other code runs', async () => {
    const name = fresh('order')
    const ran: string[] = []
    const code = (version: string) =>
      workflow(name, { version }, async (wf) => {
        await wf.waitFor('go')
        return wf.do('ship', () => {
          ran.push(version)
          return version
        })
      })
    const [v1, v2] = [code('1'), code('2')]
    const first = await deploy(v1)
    const { id } = await first.start(v1)
    await eventually(() => first.get(id)).toMatchObject({ reason: 'signal', version: '1' })
    await first.close()
    const second = await deploy(v2)
    await second.signal(id, 'go')
    await eventually(() => second.get(id)).toMatchObject({
      status: 'waiting',
      reason: 'missing-code',
      version: '1',
    })
    const idsOf = async (reason: WaitReason) =>
      (await second.list({ workflow: name, reason })).items.map((run) => run.id)
    expect(await idsOf('missing-code')).toEqual([id])
    expect(await idsOf('slot')).toEqual([])
    const { sentence, next } = await second.explain(id)
    expect(sentence).toContain(`no live worker has the code of "${name}" version 1`)
    expect(next[0]?.command).toContain('createEngine')
    await pause(300)
    expect(ran).toEqual([])
    await deploy(v1)
    expect(await second.handle(v2, id).result()).toBe('1')
    expect(ran).toEqual(['1'])
    expect(await idsOf('missing-code')).toEqual([])
  })

  test('[X16] a rolling deploy with both versions running loses and duplicates nothing', async () => {
    const name = fresh('order')
    const ran = new Map<string, string[]>()
    const code = (version: string) =>
      workflow(name, { version }, async (wf) => {
        const note = (what: string) =>
          wf.do(what, (at) => {
            ran.set(at.run.id, [...(ran.get(at.run.id) ?? []), `${what} ${version}`])
          })
        await note('first')
        await wf.waitFor('go')
        await note('second')
        return version
      })
    const [v1, v2] = [code('1'), code('2')]
    const old = await Promise.all([deploy(v1), deploy(v1)])
    const start = async (engine: Engine, count: number) =>
      Promise.all(Array.from({ length: count }, () => engine.start(name)))
    const before = await start(old[0] as Engine, 20)
    // One after another is replaced; meanwhile runs are started by both and go on by both.
    const fresh1 = await deploy(v2)
    const during = [...(await start(old[1] as Engine, 10)), ...(await start(fresh1 as Engine, 10))]
    await Promise.all(before.slice(0, 10).map((run) => run.signal('go')))
    await old[0]?.close()
    await Promise.all(during.slice(5, 15).map((run) => run.signal('go')))
    const fresh2 = await deploy(v2)
    const handle = (id: string) => fresh2.handle(name, id)
    const rest = [...before.slice(10), ...during.slice(0, 5), ...during.slice(15)]
    await Promise.all(rest.map(({ id }) => handle(id).signal('go')))
    const ended = await Promise.all([...before, ...during].map(({ id }) => handle(id).result()))
    expect(ended).toEqual([...Array(30).fill('1'), ...Array(10).fill('2')])
    for (const [i, { id }] of [...before, ...during].entries()) {
      const version = i < 30 ? '1' : '2'
      expect(ran.get(id)).toEqual([`first ${version}`, `second ${version}`])
    }
    await old[1]?.close()
  })

  test('[X10] one slow run does not delay the others while there is a second worker', async () => {
    const may = gate()
    const quick = task(fresh('quick'), async (n: number) => n)
    const slow = task(fresh('slow'), async () => may.passed)
    const alone = { options: { worker: { concurrency: 1 } } }
    await world.open([quick, slow], alone)
    await world.open([quick, slow], alone)
    const client = await world.open([quick, slow], { options: { worker: false } })
    const long = await client.start(slow)
    await eventually(() => long.status()).toBe('running')
    const took: number[] = []
    for (let n = 0; n < 10; n += 1) {
      const startedAt = performance.now()
      expect(await client.run(quick, n)).toMatchObject({ output: n })
      took.push(performance.now() - startedAt)
    }
    expect(await long.status()).toBe('running')
    expect(took.sort((a, b) => a - b)[5]).toBeLessThan(1_000)
    may.open()
    await long.result()
  })

  test('[X09] ten blocked runs of one definition do not delay a run of another, whatever blocks them', async () => {
    const may = gate()
    const quick = task(fresh('quick'), async (n: number) => n)
    const slow = task(fresh('slow'), async () => may.passed)
    const missing = task(fresh('missing'), async () => {})
    const waiting = workflow(fresh('waiting'), async (wf) => wf.waitFor('go'))
    const failing = task(fresh('failing'), { retry: { attempts: 9, delay: '1h' } }, async () => {
      throw new Error('later')
    })
    const all10 = <T>(work: (n: number) => Promise<T>) =>
      Promise.all(Array.from({ length: 10 }, (_, n) => work(n)))
    const client = await world.open([missing], { options: { worker: false } })
    const engine = await world.open([quick, slow, waiting, failing], {
      options: { worker: { concurrency: 20 } },
    })
    const blocked = [
      ...(await all10(() => engine.start(slow))),
      ...(await all10(() => client.start(missing))),
      ...(await all10(() => engine.start(waiting))),
      ...(await all10(() => engine.start(failing))),
    ]
    const resting = await all10(() => engine.start(quick, 0, { delay: '1h' }))
    for (const run of resting) await run.pause()
    for (let n = 1; n <= 10; n += 1) {
      const { output } = (await engine.run(quick, n)) as { readonly output?: unknown }
      expect(output).toBe(n)
    }
    const ends = ['completed', 'failed', 'cancelled', 'timed_out']
    for (const run of [...blocked, ...resting]) expect(ends).not.toContain(await run.status())
    may.open()
    for (const run of blocked.slice(0, 10)) await run.result()
  })

  test('[X07] a child that failed and is retried tells its parent of every end once, and a parent that no longer asks goes its way', async () => {
    let isMended = false
    const inner = workflow(fresh('inner'), async (wf) =>
      wf.do('work', () => {
        if (!isMended) throw new Error('broken')
        return 'mended'
      }),
    )
    const outer = workflow(fresh('outer'), async (wf, catches: boolean) => {
      if (!catches) return wf.do('inner', inner)
      const heard = await wf.do('inner', inner).catch((error: Error) => error.message)
      return [heard, await wf.waitFor('go')]
    })
    const engine = await world.open([outer, inner])
    const childOf = async (id: string) => (await engine.list({ parentId: id })).items[0]?.id ?? ''
    const ends = async (id: string) =>
      (await all(engine.history(id))).filter(({ kind }) => kind === 'child.ended')

    // The parent has caught the failure and waits for something else: the second end does not move it.
    const catching = await engine.start(outer, true)
    await eventually(() => catching.get()).toMatchObject({ reason: 'signal' })
    // The parent has failed with it: its own retry re-opens the child, whose end it then takes.
    const failing = await engine.start(outer, false)
    await eventually(() => failing.status()).toBe('failed')
    isMended = true
    await engine.retry(await childOf(catching.id))
    expect(await engine.handle(inner, await childOf(catching.id)).result()).toBe('mended')
    await pause(200)
    expect(await catching.get()).toMatchObject({ status: 'waiting', reason: 'signal' })
    await catching.signal('go', 'on')
    expect(await catching.result()).toEqual(['broken', 'on'])
    expect(await ends(catching.id)).toHaveLength(1)

    await failing.retry()
    expect(await failing.result()).toBe('mended')
    expect(await ends(failing.id)).toHaveLength(2)
    expect((await engine.list({ parentId: failing.id })).items).toHaveLength(1)
  })
})

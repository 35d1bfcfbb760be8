// createEngine as users call it, on the embedded database.

import { describe, expect, onTestFinished, test } from 'vitest'
import {
  createEngine,
  type Definition,
  type Engine,
  PerdureError,
  task,
  workflow,
} from '../../src/index.js'

async function open<const W extends readonly Definition[]>(workflows: W): Promise<Engine<W>> {
  const engine = await createEngine({ database: 'memory:', workflows })
  onTestFinished(() => engine.close())
  return engine
}

describe('on the embedded database', () => {
  test('a workflow with tasks, signals and sleeps runs to its end', async () => {
    const double = task('double', async (n: number) => n * 2)
    const order = workflow('order', async (wf, n: number) => {
      const [a, b] = await Promise.all([wf.do('a', double, n), wf.do('b', () => n + 1)])
      const by = await wf.waitFor('approval', { timeout: '1h' })
      await wf.sleep('a moment', 10)
      return [a, b, by]
    })
    const engine = await open([double, order])
    const run = await engine.start(order, 5, { id: 'o-1' })
    await run.signal('approval', 'ada')
    expect(await run.result({ timeout: '10s' })).toEqual([10, 6, 'ada'])
    expect(await engine.get('o-1')).toMatchObject({ status: 'completed', input: 5 })
    expect((await engine.list({ status: 'completed', workflow: order })).items).toHaveLength(1)
    expect((await engine.history('o-1')).items.at(-1)).toMatchObject({ kind: 'run.completed' })
  })

  test('a transaction and its answer commit together; a failed one leaves no trace', async () => {
    const ship = workflow('ship', async (wf) => {
      await wf.transaction('table', (tx) => tx.query('create table shipments (id text)'))
      const failed = await wf
        .transaction('fails', async (tx) => {
          await tx.query("insert into shipments values ('lost')")
          throw new Error('after the insert')
        })
        .catch((error: unknown) => (error as Error).message)
      const made = await wf.transaction('ship', (tx) =>
        tx.query<{ id: string }>('insert into shipments values ($1) returning id', ['s-1']),
      )
      const { rows } = await wf.transaction('read', (tx) => tx.query('select id from shipments'))
      return { failed, made, rows }
    })
    const engine = await open([ship])
    expect(await engine.run(ship)).toMatchObject({
      status: 'completed',
      output: {
        failed: 'after the insert',
        made: { rows: [{ id: 's-1' }], rowCount: 1 },
        rows: [{ id: 's-1' }],
      },
    })
  })

  test('a write of the engine inside a transaction is refused with INSIDE_TRANSACTION', async () => {
    const engines: Engine[] = []
    const inner = workflow('inner', async () => 1)
    const outer = workflow('outer', async (wf) =>
      wf.transaction('t', async () => {
        const [engine] = engines
        const calls = [
          () => engine?.start(inner),
          () => engine?.run(inner),
          () => engine?.signal('x', 'y'),
          () => engine?.cancel('x'),
          () => engine?.retry('x'),
        ]
        const codes: string[] = []
        for (const call of calls) {
          await call()?.catch((error: unknown) =>
            codes.push(PerdureError.is(error) ? error.code : 'other'),
          )
        }
        return codes
      }),
    )
    const engine = await open([inner, outer])
    engines.push(engine)
    expect(await engine.run(outer)).toMatchObject({ output: Array(5).fill('INSIDE_TRANSACTION') })
  })

  test('a stateless run writes nothing', async () => {
    const plain = workflow('plain', async (wf) => wf.do('a', () => 1))
    const engine = await open([plain])
    expect(await engine.run(plain, undefined, { stateless: true })).toMatchObject({ output: 1 })
    expect((await engine.list()).items).toEqual([])
  })
})

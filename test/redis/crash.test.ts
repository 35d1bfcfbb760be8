// kill -9 of Redis under `appendfsync always`, and of a worker, while two worker processes work.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { composeEngine } from '../../src/compose-engine.js'
import { readEngineOptions } from '../../src/engine/options.js'
import { type Engine, workflow } from '../../src/index.js'
import { startRedis } from '../support/redis.mjs'
import { all } from '../support/world.js'
import { FAST, freshSchema, QUIET, redis, TITLE } from './stage.js'

const WORKER = fileURLToPath(new URL('worker.mjs', import.meta.url))
const RUNS = 120
const KILLS = 5
/** Of what a worker adds to its input, step by step. */
const ADDED = 1 + 2 + 3 + 4 + 5 + 6

/** What the workers execute; here it is only started. */
const payment = workflow('payment', async (_wf, n: number) => n)

describe.skipIf(redis.skip !== null || !redis.isOurs)(`${TITLE} under kill -9`, () => {
  test('nothing that was acknowledged is lost, every run ends once, and no recorded step is executed again', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-redis-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    let server = await startRedis({ kept: folder })
    onTestFinished(() => server.stop())
    const { url, port } = server
    const ledger = join(folder, 'ledger')
    const place = { database: url, schema: freshSchema() }
    const order = { ...place, ledger }
    const [first] = [await workerOn(order), await workerOn(order)]
    const given = { ...place, workflows: [payment], worker: false, log: QUIET }
    const engine = await engineOn(given)

    const acknowledged: string[] = []
    const starting = (async () => {
      for (let n = 0; n < RUNS; n += 1) {
        const run = await engine.start(payment, n, { id: `p-${n}` })
        acknowledged.push(run.id)
        await sleep(15)
      }
    })()
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const enough = (RUNS / (KILLS + 1)) * kill
      while (acknowledged.length < enough) await sleep(5)
      await server.stop()
      if (kill === 2) first.kill('SIGKILL')
      server = await startRedis({ port, kept: folder })
      if (kill === 2) await workerOn(order)
    }
    await starting
    const results = await Promise.all(acknowledged.map((id) => engine.handle(payment, id).result()))
    expect(results).toEqual(acknowledged.map((_, n) => n + ADDED))
    for (const id of acknowledged) {
      const kinds = (await all(engine.history(id))).map(({ kind }) => kind)
      expect(kinds.filter((kind) => kind.startsWith('run.'))).toEqual([
        'run.created',
        'run.completed',
      ])
    }
    // A step behind an earlier one that comes again: the result of that one was lost.
    const last = new Map<string, number>()
    for (const line of readFileSync(ledger, 'utf8').trim().split('\n')) {
      const [id = '', step] = line.split(' ')
      expect(Number(step), `${id} has gone back`).toBeGreaterThanOrEqual(last.get(id) ?? 1)
      last.set(id, Number(step))
    }
    expect(last.size).toBe(RUNS)
  })
})

async function engineOn(given: object): Promise<Engine<readonly []>> {
  const engine = await composeEngine(readEngineOptions(given, {}), { kernel: FAST })
  onTestFinished(() => engine.close())
  return engine as unknown as Engine<readonly []>
}

async function workerOn(order: object): Promise<ChildProcess> {
  const child = spawn(process.execPath, [WORKER], {
    env: { ...process.env, ORDER: JSON.stringify(order) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

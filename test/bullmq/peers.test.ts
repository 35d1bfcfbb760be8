// The oldest versions of BullMQ and ioredis that package.json allows: the project bullmq-5 runs this folder with them.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createEngine, workflow } from '../../src/index.js'
import { provideRedis } from '../support/redis.mjs'
import { redis } from './stage.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FOLDER = process.env.PEER_MAJOR
  ? `${ROOT}test/bullmq/majors/${process.env.PEER_MAJOR}/`
  : ROOT
const PINNED = read(`${ROOT}test/bullmq/majors/5/package.json`).dependencies

test('what is loaded is what the project is named after, and the oldest is where the ranges begin', () => {
  const there = createRequire(`${FOLDER}package.json`)
  expect(there('ioredis').Redis).toBe(Redis)
  expect(there('bullmq/package.json').version.split('.')[0]).toBe(process.env.PEER_MAJOR ?? '6')
  const { peerDependencies } = read(`${ROOT}package.json`)
  for (const [name, version] of Object.entries(PINNED)) {
    expect(peerDependencies[name]).toBe(`^${version} || ^6.0.0`)
  }
  expect(Queue.name).toBe('Queue')
})

describe.skipIf(redis.skip !== null)('Redis as the database', () => {
  test('works with this ioredis', async () => {
    const server = await provideRedis()
    onTestFinished(() => server.stop())
    const paid = workflow('paid', async (wf) => {
      await wf.sleep('nap', 20)
      return wf.waitFor('paid')
    })
    const engine = await createEngine({ database: server.url, workflows: [paid] })
    onTestFinished(() => engine.close())
    const run = await engine.start(paid, undefined, { id: 'o-1' })
    await run.signal('paid', 12)
    expect(await run.result()).toBe(12)
  })
})

function read(file: string) {
  return JSON.parse(readFileSync(file, 'utf8'))
}

// Faults of the Redis that carries the hints.

import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { freePorts } from '../../support/guarded.mjs'
import { startRedis } from '../../support/redis.mjs'
import { crew, dismissed, STEADY, unended } from './load.mjs'
import { executedOnce } from './looks.mjs'

/** One of so many flushes is a restart. */
const RESTART_EVERY = 5

export const flushes = {
  id: 'f13',
  title: 'Redis, which carries the hints, is flushed and restarted, and was absent at boot',
  ...{ unit: 'flushes', count: 100, short: 6, seconds: 130, needs: 'redis' },
  checked: 'as F1; runs go on by the poll, and no attempt of a step is executed twice',
  tests: [
    [
      'test/bullmq/redis-away.test.ts',
      '[X03] flushed again and again, loses no run, timer, retry or signal (F13)',
    ],
  ],
  async run(ground, count) {
    const options = { perWorld: 25, leaseMs: 30_000, more: executedOnce }
    return ground.worlds(count, options, async (world, share, outcome) => {
      const [port] = await freePorts(1)
      const redis = `redis://127.0.0.1:${port}`
      // It is not there yet.
      const victims = await crew(world, 2, { pollMs: 1_000, concurrency: 20, redis })
      const [caller] = await crew(world, 1, { worker: false, redis })
      let server = await startRedis({ port })
      const client = new Redis(redis)
      client.on('error', () => {})
      try {
        for (let i = 1; i <= share && ground.goesOn(outcome, count); i += 1) {
          caller.tell({ runs: world.newRuns(...STEADY, ...(ground.isShort ? [] : STEADY)) })
          await sleep(ground.isShort ? 100 : ground.between(500, 1_500))
          if (i % RESTART_EVERY === 0) {
            await server.stop()
            server = await startRedis({ port })
            outcome.note({ restarts: 1 })
          } else await client.flushall()
          outcome.did()
        }
        const runs = [...world.runs].map(([id, kind]) => ({ id, kind }))
        outcome.broken.push(...(await unended([caller], runs)))
        await dismissed([...victims, caller], outcome)
      } finally {
        client.disconnect()
        await server.stop()
      }
    })
  },
}

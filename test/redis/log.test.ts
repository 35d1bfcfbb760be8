// The log of calls in Redis: every process has the same state, whatever happens to its connection, to the log and to Redis.

import { inspect } from 'node:util'
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { StoreUnavailable, type ToolStore } from '../../src/kernel/store.js'
import {
  commit,
  ended,
  fenceOf,
  historyOf,
  ownedRun,
  PLAIN,
  RESENT,
  start,
  step,
  viewOf,
  worker,
} from '../contract/builders.js'
import { type Compared, differ, MAILBOX_MAX, shown } from '../contract/differential.js'
import { startRedis } from '../support/redis.mjs'
import { eventually } from '../support/world.js'
import { freshSchema, QUIET, redis, Stage, TITLE } from './stage.js'

/** Behind the time of every server: the clock of a schema stands there until it is moved. */
const LATER = 2_000_000_000_000
const STEPS = 250
const EVERYTHING = { workspace: null, definition: null, ids: null }

describe.skipIf(redis.skip !== null)(TITLE, () => {
  const stage = new Stage()

  async function everything(store: ToolStore): Promise<unknown> {
    const uids = (await store.selectRuns(EVERYTHING)).map(({ uid }) => uid)
    return { records: await store.runRecords(uids), workers: await store.read.workers() }
  }

  test.each([1, 2])(
    'the same random calls have the same answers in memory and on Redis, of two stores in turn (%i)',
    async (seed) => {
      const schema = freshSchema()
      const options = { mailboxMax: MAILBOX_MAX, snapshotEvery: 20 }
      const stores = [
        await stage.store(schema, options),
        await stage.store(schema, options),
      ] as const
      const compared: Compared = {
        name: 'redis',
        store: inTurn(...stores),
        setClock: async (at) =>
          void (await stage.client.hset(stage.key(schema, 'state'), 'now', at)),
        messages: async () => messagesOf(stores[0]),
      }
      const difference = await differ(seed, STEPS, [compared], LATER)
      if (difference) expect.fail(shown(seed, difference))
      const [one, two] = await Promise.all(stores.map(everything))
      expect(two).toEqual(one)
      // Of the snapshot and what is behind it.
      expect(await everything(await stage.store(schema, options))).toEqual(one)
      expect((await stage.ends(schema)).base).toBeGreaterThan(20)
    },
  )

  test('snapshots are written while others write, and those who were behind them go on from there', async () => {
    const schema = freshSchema()
    const sleeper = await stage.store(schema, { snapshotEvery: 1_000 })
    const busy = [
      await stage.store(schema, { snapshotEvery: 5 }),
      await stage.store(schema, { snapshotEvery: 7 }),
    ]
    const started = busy.flatMap((store) =>
      Array.from({ length: 60 }, () => ({ store, delta: start() })),
    )
    for (let i = 0; i < 60; i += 1) {
      const now = started.filter((_, at) => at % 60 === i)
      await Promise.all(now.map(({ store, delta }) => store.commit(worker(), [delta], PLAIN)))
    }
    expect((await stage.ends(schema)).base).toBeGreaterThan(20)
    await eventually(async () => {
      const { last, base } = await stage.ends(schema)
      return last - base - (await stage.client.xlen(stage.key(schema, 'log')))
    }).toBe(0)
    expect(await sleeper.selectRuns(EVERYTHING)).toHaveLength(started.length)
    expect(await everything(sleeper)).toEqual(await everything(busy[0] ?? sleeper))
  })

  test('a batch whose answer was lost is sent again and applied once, with its answer', async () => {
    const schema = freshSchema()
    const { Client, lose } = losing()
    const store = await stage.store(schema, { Client })
    const by = worker()
    const run = await ownedRun(store, by)
    const before = await stage.ends(schema)
    lose(2)
    const { answers } = await store.commit(by, [step(fenceOf(run, by))], PLAIN)
    expect(answers).toMatchObject([{ kind: 'done', repeated: false }])
    expect(await stage.ends(schema)).toEqual({ ...before, last: before.last + 1 })
    expect(await historyOf(store, run)).toHaveLength(2)
  })

  test('connections that are cut under load lose no call and repeat none', async () => {
    const schema = freshSchema()
    let cuts = 0
    const warn = (message: string) => {
      if (message.startsWith('Redis is away')) cuts += 1
    }
    const store = await stage.store(schema, { log: { ...QUIET, warn } })
    const own = await stage.client.client('ID')
    const cut = async () => {
      for (const line of String(await stage.client.client('LIST')).split('\n')) {
        const id = /^id=(\d+) .*cmd=(evalsha|eval|subscribe)/.exec(line)?.[1]
        if (id && Number(id) !== own) await stage.client.client('KILL', 'ID', id).catch(() => {})
      }
    }
    const by = worker()
    const runs = Array.from({ length: 150 }, () => start())
    const committing = runs.map(async (delta, i) => {
      await new Promise((resolve) => setTimeout(resolve, i * 2))
      return commit(store, by, delta)
    })
    let isOver = false
    const cutting = (async () => {
      while (!isOver) {
        await cut()
        await new Promise((resolve) => setTimeout(resolve, 25))
      }
    })()
    const answers = await Promise.all(committing)
    isOver = true
    await cutting
    expect(cuts).toBeGreaterThan(3)
    expect(answers.flat()).toHaveLength(runs.length)
    expect(await store.selectRuns(EVERYTHING)).toHaveLength(runs.length)
  })

  test('a process that has seen more than Redis has kept goes back to where the log ends', async () => {
    const schema = freshSchema()
    const [one, two] = [await stage.store(schema), await stage.store(schema)]
    const by = worker()
    const [kept, lost] = [start(), start()]
    await commit(one, by, kept)
    const { last } = await stage.ends(schema)
    await commit(one, by, lost)
    expect((await viewOf(one, lost.run)).status).toBe('pending')
    // As after a power cut with appendfsync everysec.
    await stage.client.xdel(stage.key(schema, 'log'), `${last + 1}-0`)
    await stage.client.hset(stage.key(schema, 'state'), 'last', last)
    await stage.client.call('XSETID', stage.key(schema, 'log'), `${last}-0`)
    const other = start()
    await commit(two, by, other)
    for (const store of [one, two]) {
      const uids = (await store.selectRuns(EVERYTHING)).map(({ uid }) => uid)
      expect(uids).toEqual([kept.run.uid, other.run.uid].sort())
    }
  })

  test('another version is refused while there is a log of this one, and goes on where all have closed', async () => {
    const schema = freshSchema()
    const store = await stage.store(schema)
    const by = worker()
    await store.join(by)
    const run = await ownedRun(store, by)
    const next = () => stage.store(schema, { version: 'next' })
    await expect(next()).rejects.toMatchObject({ code: 'DATABASE_VERSION' })
    await store.leave(by)
    await store.close()
    const later = await next()
    expect((await viewOf(later, run)).status).toBe('pending')
    await later.join(worker())
    await expect(stage.store(schema)).rejects.toMatchObject({ code: 'DATABASE_VERSION' })
  })

  test('polls with nothing to do write nothing', async () => {
    const schema = freshSchema()
    const store = await stage.store(schema)
    const by = worker()
    await store.join(by)
    const run = await ownedRun(store, by)
    await store.commit(by, [ended(fenceOf(run, by))], PLAIN)
    const { last } = await stage.ends(schema)
    await store.claim(by, 10, 1)
    await store.admit(true)
    await store.fanOut(100)
    await store.reap([{ id: by.id, beat: 0 }], true)
    await store.prune(60_000, null)
    await store.delivered([])
    await store.letters(10)
    await store.awaited(null, 10)
    expect((await stage.ends(schema)).last).toBe(last)
  })

  test('a Redis that drops keys when it is full is refused', async () => {
    await stage.client.config('SET', 'maxmemory-policy', 'allkeys-lru')
    try {
      await expect(stage.store(freshSchema())).rejects.toMatchObject({ code: 'DATABASE_UNSAFE' })
    } finally {
      await stage.client.config('SET', 'maxmemory-policy', 'noeviction')
    }
  })

  test('a Redis that is full refuses what is written, answers what is read, and goes on when it has room', async () => {
    const store = await stage.store(freshSchema())
    const by = worker()
    const run = await ownedRun(store, by)
    await stage.client.config('SET', 'maxmemory', '1')
    try {
      const refused = store.commit(by, [step(fenceOf(run, by))], PLAIN)
      await expect(refused).rejects.toThrow(StoreUnavailable)
      await expect(refused).rejects.toThrow('OOM')
      expect((await viewOf(store, run)).status).toBe('running')
    } finally {
      await stage.client.config('SET', 'maxmemory', '0')
    }
    const { answers } = await store.commit(by, [step(fenceOf(run, by))], RESENT)
    expect(answers).toMatchObject([{ kind: 'done', repeated: false }])
  })

  test.skipIf(!redis.isOurs)(
    'an outage is told, and the store closes although Redis is away',
    async () => {
      const server = await startRedis()
      onTestFinished(() => server.stop())
      const store = await stage.store(freshSchema(), { url: server.url })
      await server.stop()
      await expect(commit(store, worker(), start())).rejects.toThrow(StoreUnavailable)
      await store.close()
    },
  )

  test('a Redis that is away is told without its password', async () => {
    const refused = stage.store('s', { url: 'redis://user:secret@127.0.0.1:1/3' })
    await expect(refused).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    await expect(refused).rejects.toThrow(
      'redis://127.0.0.1:1/3 cannot be used: connect ECONNREFUSED',
    )
  })

  test('a wrong password is told, and stands in no error and in no line of the log', async () => {
    const lines: string[] = []
    const say = (message: string, data?: unknown) => void lines.push(inspect([message, data]))
    const log = { debug: say, info: say, warn: say, error: say }
    await stage.client.config('SET', 'requirepass', 'right')
    try {
      const [, host] = stage.url.split('//')
      const opened = stage.store(freshSchema(), { url: `redis://:verysecret@${host}`, log })
      const error: unknown = await opened.catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
      expect(inspect(error, { depth: 9 })).toContain('WRONGPASS')
      expect(inspect(error, { depth: 9 }) + lines.join()).not.toContain('verysecret')
      await stage.store(freshSchema(), { url: `redis://:right@${host}` })
    } finally {
      await stage.client.config('SET', 'requirepass', '')
    }
  })
})

/** Each call goes to the other one; who reaps is who has joined. */
function inTurn(one: ToolStore, two: ToolStore): ToolStore {
  let calls = 0
  const pick = (name: PropertyKey): ToolStore => {
    calls += 1
    return calls % 2 === 0 || name === 'join' || name === 'reap' ? one : two
  }
  return new Proxy(one, { get: (_, name) => Reflect.get(pick(name), name) })
}

async function messagesOf(store: ToolStore): Promise<unknown> {
  const uids = (await store.selectRuns(EVERYTHING)).map(({ uid }) => uid)
  return (await store.runRecords(uids)).flatMap(({ uid, messages }) =>
    messages.map(({ no, id, kind, name, payload, takenSeq, replySeq, at }) => {
      const [taken_seq, reply_seq] = [takenSeq, replySeq]
      return { uid, no, id, kind, name, payload, taken_seq, reply_seq, at }
    }),
  )
}

/** A client whose next answers do not arrive: what was sent has been done. */
function losing(): { readonly Client: typeof Redis; lose(answers: number): void } {
  let left = 0
  class Losing extends Redis {
    constructor(path: string, options: object) {
      super(path, options)
      const whole = this.evalsha.bind(this) as (...args: unknown[]) => Promise<unknown>
      this.evalsha = async (...args: unknown[]) => {
        const answer = await whole(...args)
        if (left === 0) return answer
        left -= 1
        throw new Error('the answer was lost')
      }
    }
  }
  return {
    Client: Losing as unknown as typeof Redis,
    lose: (answers) => {
      left = answers
    },
  }
}

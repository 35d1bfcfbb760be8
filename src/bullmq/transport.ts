// From the options to open hints.

import { importPeer } from '../engine/peer.js'
import type { Transport } from '../kernel/ports.js'
import { checkOptions, optionInvalid } from '../model/errors.js'
import { openBullHints } from './hints.js'
import { type Connection, Redises } from './redises.js'

const WHERE = 'bullmq'
const HERE = 'redis://127.0.0.1:6379'
/** BullMQ takes no colon. */
const QUEUE = /^[\w.-]{1,100}$/

export interface BullMQOptions {
  /** 'redis://…', or the options of ioredis. Default: REDIS_URL, else 'redis://127.0.0.1:6379'. */
  readonly connection?: Connection | undefined
  /** The name of the queue. Default: the schema. Databases that share a Redis need different ones. */
  readonly queue?: string | undefined
}

/** For the option `transport` of createEngine. */
export function bullmq(options: BullMQOptions = {}): Transport {
  checkOptions(options, WHERE, ['connection', 'queue'])
  const connection = options.connection ?? (process.env.REDIS_URL || HERE)
  const isUrl = typeof connection === 'string' && /^rediss?:\/\/./.test(connection)
  if (!isUrl && (typeof connection !== 'object' || connection === null)) {
    // Not shown: it may hold a password.
    throw optionInvalid('connection', WHERE, typeof connection, "'redis://…' or options of ioredis")
  }
  if (options.queue !== undefined && !QUEUE.test(String(options.queue))) {
    const expected = '1 to 100 letters, digits and ._-'
    throw optionInvalid('queue', WHERE, options.queue, expected)
  }
  return {
    open: async ({ schema, executes, log }) => {
      const bull = await importPeer('bullmq', 'perdure/bullmq', () => import('bullmq'))
      const { Redis } = await importPeer('ioredis', 'perdure/bullmq', () => import('ioredis'))
      const redises = new Redises(Redis, connection, log)
      return openBullHints({ bull, redises, queue: options.queue ?? schema, executes })
    },
  }
}

// Hints over publish and subscribe of Redis. A hint only shortens a wait: one that is lost is found by the poll.

import type { Hint, Hints } from '../kernel/ports.js'
import { makeSender, readHints, writeHint } from '../live-hints.js'
import type { Connection } from './connection.js'

export function openRedisHints({ commands, subscriber }: Connection, schema: string): Hints {
  const channel = `perdure:{${schema}}:hints`
  const listeners = new Set<(hint: Hint) => boolean>()
  const sender = makeSender((payload) => {
    if (commands.status === 'ready') commands.publish(channel, payload).catch(() => {})
  })
  subscriber.on('message', (_channel, payload) => {
    for (const hint of readHints(payload)) for (const listener of listeners) listener(hint)
  })
  // Waits for the connection, and is done again on every later one.
  subscriber.subscribe(channel).catch(() => {})
  return {
    publish: (hint) => sender.send(writeHint(hint)),
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: async () => {
      sender.close()
      listeners.clear()
    },
  }
}

// Hints over publish and subscribe of Redis. A hint only shortens a wait: one that is lost is found by the poll.

import type { Hints } from '../kernel/ports.js'
import { hintsOver } from '../live-hints.js'
import type { Connection } from './connection.js'

export function openRedisHints({ commands, subscriber }: Connection, schema: string): Hints {
  const channel = `perdure:{${schema}}:hints`
  const { hints, heard } = hintsOver((payload) => {
    if (commands.status === 'ready') commands.publish(channel, payload).catch(() => {})
  })
  subscriber.on('message', (_channel, payload) => heard(payload))
  // Waits for the connection, and is done again on every later one.
  subscriber.subscribe(channel).catch(() => {})
  return hints
}

// The end of a server. Clients keep their connections: each answer that is still given says that its connection ends with it,
// so that nobody sends the next request to a process that is about to go.

import type { Server, ServerResponse } from 'node:http'

const GRACE_MS = 5_000

/** Gives the way to end it: it stops listening, and resolves when the last answer is out, or its time is over. */
export function endable(server: Server): () => Promise<void> {
  const open = new Set<ServerResponse>()
  let isEnding = false
  server.prependListener('request', (_, response) => {
    if (isEnding) sayLast(response)
    open.add(response)
    response.once('close', () => {
      open.delete(response)
      // A stream had said that it stays.
      if (isEnding) setImmediate(() => server.closeIdleConnections())
    })
  })
  return () =>
    new Promise((resolve) => {
      isEnding = true
      for (const response of open) sayLast(response)
      const timer = setTimeout(() => server.closeAllConnections(), GRACE_MS)
      server.close(() => {
        clearTimeout(timer)
        resolve()
      })
      server.closeIdleConnections()
    })
}

function sayLast(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close')
}

// handle.events(), handle.stream() and client.changes() over server-sent events. A connection that breaks is made again behind the last
// one that came: they are numbered in the database, so none is missed and none comes twice, whichever process answers.

import { decode } from '../model/codec.js'
import { Patience } from './again.js'
import type { Connection } from './connection.js'

const ACCEPT = 'text/event-stream, application/vnd.perdure.value'

export interface Followed<E> {
  readonly path: string
  readonly workflow?: string | undefined
  readonly workspace: string | undefined
  readonly after: string | number | undefined
  readonly signal: AbortSignal | undefined
  /** What to go on behind. */
  readonly placeOf: (item: E) => string | number
}

export async function* follow<E>(
  connection: Connection,
  { path, workflow, workspace, after, signal, placeOf }: Followed<E>,
): AsyncGenerator<E> {
  const patience = new Patience(connection)
  let last = after
  for (;;) {
    try {
      const asked = { path, query: { workflow, after: last }, workspace }
      const response = await connection.send({ ...asked, signal }, ACCEPT)
      patience.reached()
      for await (const { event, data } of messagesOf(response)) {
        if (event === 'end') return
        const item = decode(data) as E
        last = placeOf(item)
        yield item
      }
      // It broke without an error: the server is closing.
    } catch (error) {
      signal?.throwIfAborted()
      await patience.failed(error, signal)
    }
  }
}

interface Message {
  readonly event: string
  readonly data: string
}

async function* messagesOf(response: Response): AsyncGenerator<Message> {
  const reader = response.body?.getReader()
  if (!reader) return
  const decoder = new TextDecoder()
  let text = ''
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }))
      if (done) return
      text += decoder.decode(value, { stream: true })
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        const field = (name: string): string =>
          new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? ''
        if (field('event') !== '') yield { event: field('event'), data: field('data') }
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

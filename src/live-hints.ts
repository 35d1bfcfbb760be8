// Hints over NOTIFY. A hint only shortens a wait, so everything here may fail without harm.
//
// The first hint goes out at once; those of the next moment are gathered, each once, into one notification:
// PostgreSQL serialises commits that notify.

import type { Hint, Hints, Log } from './kernel/ports.js'
import type { Uid } from './model/ids.js'
import type { Driver } from './store/driver.js'

const GATHER_MS = 5
/** PostgreSQL takes payloads up to 8000 bytes. */
const PAYLOAD_MAX = 7_000

export const NO_HINTS: Hints = {
  publish: () => {},
  subscribe: () => () => {},
  close: async () => {},
}

export async function openHints(driver: Driver, schema: string, log: Log): Promise<Hints> {
  const channel = `perdure_${schema}`
  const { hints, heard } = hintsOver((payload) => driver.notify(channel, payload))
  const unlisten = await driver.listen(channel, heard).catch((error: unknown) => {
    log.warn('this process hears no notifications; it polls', { error })
    return async () => {}
  })
  return {
    ...hints,
    close: async () => {
      await hints.close()
      await unlisten()
    },
  }
}

/** Hints over what carries texts between processes. `heard` takes a text that has come; `hear` says whether a hint helped anybody here. */
export function hintsOver(send: (payload: string) => void): {
  readonly hints: Hints
  readonly heard: (payload: string) => void
  readonly hear: (hint: Hint) => boolean
} {
  const listeners = new Set<(hint: Hint) => boolean>()
  const sender = makeSender(send)
  const hear = (hint: Hint): boolean =>
    [...listeners].filter((listener) => listener(hint)).length > 0
  return {
    hints: {
      publish: (hint) => sender.send(writeHint(hint)),
      subscribe: (listener) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
      close: async () => {
        sender.close()
        listeners.clear()
      },
    },
    heard: (payload) => {
      for (const hint of readHints(payload)) hear(hint)
    },
    hear,
  }
}

/** One word per hint, a space between: definitions and uids hold none. */
export function writeHint(hint: Hint): string {
  switch (hint.kind) {
    case 'due':
      return `d${hint.definition ?? ''}`
    case 'mail':
      return `m${hint.uid}`
    case 'ended':
      return 'e'
    case 'saved':
      return 's'
    case 'watched':
      return `w${hint.uid}`
    case 'changed':
      return `c${hint.uid}`
  }
}

export function readHints(payload: string): Hint[] {
  return payload.split(' ').flatMap((word): Hint[] => {
    const rest = word.slice(1)
    switch (word[0]) {
      case 'd':
        return [{ kind: 'due', definition: rest === '' ? null : rest }]
      case 'm':
        return [{ kind: 'mail', uid: rest as Uid }]
      case 'e':
        return [{ kind: 'ended' }]
      case 's':
        return [{ kind: 'saved' }]
      case 'w':
        return [{ kind: 'watched', uid: rest as Uid }]
      case 'c':
        return [{ kind: 'changed', uid: rest as Uid }]
      default:
        // Written by a newer version.
        return []
    }
  })
}

export function makeSender(notify: (payload: string) => void): {
  send(word: string): void
  close(): void
} {
  const gathered = new Set<string>()
  let timer: NodeJS.Timeout | null = null
  const flush = (): void => {
    timer = null
    if (gathered.size === 0) return
    for (const payload of packed(gathered)) notify(payload)
    gathered.clear()
    pause()
  }
  const pause = (): void => {
    timer = setTimeout(flush, GATHER_MS).unref()
  }
  return {
    send: (word) => {
      gathered.add(word)
      if (timer === null) flush()
    },
    close: () => {
      if (timer !== null) clearTimeout(timer)
      timer = null
      for (const payload of packed(gathered)) notify(payload)
      gathered.clear()
    },
  }
}

function packed(words: ReadonlySet<string>): string[] {
  const payloads: string[] = []
  let payload = ''
  for (const word of words) {
    if (payload.length + word.length >= PAYLOAD_MAX) {
      payloads.push(payload)
      payload = ''
    }
    payload += payload === '' ? word : ` ${word}`
  }
  return payload === '' ? payloads : [...payloads, payload]
}

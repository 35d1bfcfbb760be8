// handle.events(): the entries of a run as they are stored, from a point on until it has ended. Asked for again and again,
// soon at first: an entry that another process has stored is seen like one of this.

import { setTimeout as sleep } from 'node:timers/promises'
import type { RunView } from '../kernel/store.js'
import { optionInvalid } from '../model/errors.js'
import { POLL_MS } from '../model/limits.js'
import { isFinal } from '../model/run.js'
import { beforeRead, type Core } from './core.js'
import { journalEntry } from './info.js'
import { optionsObject } from './paged.js'
import type { JournalEntry } from './types.js'

const PAGE = 100
const SOON_MS = 5

/** `look`: the run as it is now, which must be there when it begins. */
export async function* follow(
  core: Core,
  look: () => Promise<RunView>,
  options: unknown,
): AsyncGenerator<JournalEntry> {
  const { after, signal } = readFollow(options)
  let last = after
  let waitMs = SOON_MS
  for (;;) {
    signal?.throwIfAborted()
    beforeRead(core)
    // The row first: what it says is over has all its entries.
    const { uid, status, seq } = await look()
    const page = { after: last, limit: PAGE, newestFirst: false }
    const entries = await core.kernel.read.history(uid, page)
    for (const entry of entries) {
      last = entry.seq
      yield journalEntry(entry)
    }
    if (isFinal(status) && last >= seq) return
    if (entries.length === PAGE) continue
    waitMs = entries.length > 0 ? SOON_MS : Math.min(waitMs * 2, POLL_MS)
    await rest(waitMs, signal)
  }
}

async function rest(ms: number, signal: AbortSignal | null): Promise<void> {
  await sleep(ms, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted())
}

function readFollow(options: unknown) {
  const where = 'events()'
  const { after = 0, signal } = optionsObject(options, where, ['after', 'signal'])
  if (!Number.isInteger(after) || Number(after) < 0) {
    throw optionInvalid('after', where, after, 'the number of an entry')
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw optionInvalid('signal', where, signal, 'an AbortSignal')
  }
  return { after: Number(after), signal: signal ?? null }
}

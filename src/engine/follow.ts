// handle.events() and handle.stream(): what a run stores, from a point on until it has ended. Read again whenever there is more
// (following.ts): what another process has stored is seen like what this one has.

import { setTimeout as sleep } from 'node:timers/promises'
import type { RunView, Standing } from '../kernel/store.js'
import { decode } from '../model/codec.js'
import { optionInvalid } from '../model/errors.js'
import type { Uid } from '../model/ids.js'
import { isFinal } from '../model/run.js'
import { beforeRead, type Core } from './core.js'
import { journalEntry } from './info.js'
import { optionsObject } from './paged.js'
import type { JournalEntry, Published } from './types.js'

const PAGE = 500

type Look = () => Promise<RunView>

interface Source<E> {
  /** The next ones behind that number, in order. */
  readonly page: (uid: Uid, after: number) => Promise<readonly E[]>
  readonly numberOf: (item: E) => number
  /** Of a run that has ended: the number of the last one, or null if a page that is not full is the end. */
  readonly lastOf: (run: RunView) => number | null
  /** That of the last one there is. */
  readonly reached: (standing: Standing) => number
}

/** `look`: the run as it is now, which must be there when it begins. */
export async function* followEvents(core: Core, look: Look, options: unknown) {
  const { read } = core.kernel
  const source: Source<JournalEntry> = {
    page: async (uid, after) =>
      (await read.history(uid, { after, limit: PAGE, newestFirst: false })).map(journalEntry),
    numberOf: ({ seq }) => seq,
    lastOf: ({ seq }) => seq,
    reached: ({ seq }) => seq,
  }
  const from = readFollow(options, 'events()', 'the number of an entry')
  yield* follow(core, look, source, from)
}

export async function* followStream(core: Core, look: Look, options: unknown) {
  const { streams } = core.kernel
  const source: Source<Published> = {
    page: async (uid, after) =>
      (await streams.chunks(uid, after, PAGE)).map(({ no: offset, at, value, ...chunk }) => {
        return { offset, ...chunk, value: decode(value), at: new Date(at) }
      }),
    numberOf: ({ offset }) => offset,
    lastOf: () => null,
    reached: ({ published }) => published,
  }
  yield* follow(core, look, source, readFollow(options, 'stream()', 'an offset'))
}

async function* follow<E>(
  core: Core,
  look: Look,
  { page, numberOf, lastOf, reached }: Source<E>,
  { after, signal }: ReturnType<typeof readFollow>,
): AsyncGenerator<E> {
  const { following } = core
  let last = after
  let uid: Uid | null = null
  for (;;) {
    signal?.throwIfAborted()
    beforeRead(core)
    const mark = uid === null ? 0 : following.mark(uid)
    // The row first: what it says is over has all that belongs to it.
    const run = await look()
    uid = run.uid
    const items = await page(run.uid, last)
    for (const item of items) {
      last = numberOf(item)
      yield item
    }
    if (items.length === PAGE) continue
    if (isFinal(run.status) && last >= (lastOf(run) ?? last)) return
    const seen = last
    const isBehind = (now: Standing): boolean => now.isFinal || reached(now) > seen
    await following.wait(run.uid, mark, isBehind, signal)
  }
}

export async function rest(ms: number, signal: AbortSignal | null): Promise<void> {
  await sleep(ms, undefined, signal ? { signal } : {}).catch(() => signal?.throwIfAborted())
}

function readFollow(options: unknown, where: string, what: string) {
  const { after = 0, signal } = optionsObject(options, where, ['after', 'signal'])
  if (!Number.isInteger(after) || Number(after) < 0) {
    throw optionInvalid('after', where, after, what)
  }
  return { after: Number(after), signal: signalOf(signal, where) }
}

export function signalOf(signal: unknown, where: string): AbortSignal | null {
  if (signal === undefined || signal instanceof AbortSignal) return signal ?? null
  throw optionInvalid('signal', where, signal, 'an AbortSignal')
}

// All runs, live: a line when one is new or has changed.

import { setTimeout as sleep } from 'node:timers/promises'
import type { RunInfo } from '../index.js'
import type { Talk } from './connect.js'
import { EXIT, type Exit } from './exit.js'
import type { Io } from './io.js'
import { changeLine } from './show/run.js'
import { json } from './show/text.js'

const EVERY_MS = 1_000
/** The newest, and those that are not over. */
const LIMIT = 200
const FIRST = 20

export async function watchRuns(
  talk: Talk,
  io: Io,
  filter: object,
  isJson: boolean,
): Promise<Exit> {
  const stop = new AbortController()
  const off = io.onInterrupt(() => stop.abort())
  const seen = new Map<string, string>()
  try {
    for (let isFirst = true; !stop.signal.aborted; isFirst = false) {
      const { items } = await talk.client.list({ ...filter, limit: LIMIT } as never)
      const changed = items.filter((run) => seen.get(run.id) !== stateOf(run)).reverse()
      for (const run of changed) seen.set(run.id, stateOf(run))
      for (const run of isFirst ? changed.slice(-FIRST) : changed) {
        io.out(isJson ? json(run) : changeLine(run, io))
      }
      await sleep(EVERY_MS, undefined, { signal: stop.signal }).catch(() => {})
    }
  } finally {
    off()
  }
  return EXIT.done
}

const stateOf = (run: RunInfo): string =>
  [run.status, run.place, run.attempt, run.status === 'waiting' ? run.reason : ''].join(' ')

// 25 and 27: a finished journal, driven again by the same code, asks the same, starts nothing and ends the same.

import { errorRecord } from '../../src/model/error-record.js'
import { type Entry, isFinal } from '../../src/model/run.js'
import type { MemoryRun } from '../../src/store/memory.js'
import { finalStatusOf } from './fold.js'
import { optionsOf } from './options.js'
import { World } from './world.js'

const CALM = {
  workers: 1,
  concurrency: 8,
  framesMax: 0,
  split: false,
  drift: 0,
  starts: 0,
}
const NO_CALLS = { signals: 0, cancels: 0, retries: 0, closes: 0, rests: 0, messages: 0, races: 0 }

/** A world that has machines and graphs too takes longer to make. */
const FUNCTIONS = ['flow', 'task']

/** What is wrong with the replay of this run; null if nothing. Alone: its family would interfere. */
export async function replayed(row: MemoryRun): Promise<string | null> {
  if (!endedByItself(row)) return null
  const machines = FUNCTIONS.includes(row.run.definition) ? 0 : 1
  const world = new World({ ...optionsOf(1), ...CALM, ...NO_CALLS, machines, chaosMs: 0 })
  world.heal()
  // Later than anything in the journal.
  world.jumpClock(86_400_000)
  world.memory.keep(beforeItsEnd(row, world.dbNow()))
  world.boot(0)
  const again = world.memory.runs.get(row.uid)
  const isOver = (): boolean => !again || isFinal(again.status) || again.reason === 'diverged'
  await world.scheduler.run(20_000, isOver, 20_000)
  if (world.scheduler.failure) return world.scheduler.failure
  const [was, is] = [row.journal.at(-1), again?.journal.at(-1)]
  if (was?.kind !== is?.kind || payloadOf(was) !== payloadOf(is)) {
    const said = world.scheduler.last.filter((line) => line.includes('says')).join('\n')
    return `${row.uid} ended ${was?.kind} ${was?.payload}; its replay ${is?.kind} ${is?.payload}\n${said}`
  }
  if (row.journal.length !== again?.journal.length) return `the replay of ${row.uid} added entries`
  const [started] = world.executions
  return started ? `the replay of ${started.uid} executed "${started.name}"` : null
}

/** The payload; of an error without its stack, which tells how the body was called. */
function payloadOf(entry: Entry | undefined): string | null {
  if (entry?.kind !== 'run.failed' || entry.payload === null) return entry?.payload ?? null
  const { stack: _, ...error } = errorRecord(entry.payload)
  return JSON.stringify(error)
}

/** Its body came to the end: the journal has all that led to it. */
function endedByItself(row: MemoryRun): boolean {
  const last = row.journal.at(-1)
  if (row.journal.some((entry) => entry.kind === 'run.reopened')) return false
  if (last?.kind === 'run.completed') return true
  // Not so if the database refused what it had to say, or if its workers crashed.
  const text = last?.payload ?? ''
  const isOurs = text.includes('VALUE_UNSTORABLE') || text.includes('WORKER_CRASHED')
  // An undo that failed for good would be tried again: its failure and the end are one commit.
  if (text.includes('UNDO_FAILED')) return false
  return last?.kind === 'run.failed' && !isOurs
}

function beforeItsEnd(row: MemoryRun, now: number): MemoryRun {
  const journal = row.journal.filter((entry) => finalStatusOf(entry) === null)
  const open = { status: 'waiting', reason: 'timer', owner: null, stop: null, epoch: 0 } as const
  const fresh = {
    dueAt: now,
    slot: null,
    asksAt: null,
    crashes: 0,
    finishedAt: null,
    deadlineAt: null,
    divergedBuilds: [],
  }
  const messages = row.messages.map((message) => ({ ...message }))
  return { ...row, ...open, ...fresh, run: { ...row.run, parent: null }, journal, messages }
}

// Every deliberate defect, the worlds in which it is looked for, and which of the canaries of the reliability bar it is.

import type { Defect } from '../../src/kernel/defects.js'
import type { MemoryDefect } from '../../src/store/memory.js'
import type { Aim } from './options.js'
import { runSeed } from './seed.js'
import type { Switches } from './world.js'

interface Look {
  /** The canary that it is, in the words of the bar. */
  readonly canary?: string
  readonly aim?: Aim
}

/** Messages come while runs park. */
const MAIL: Aim = { waits: 0.6, races: 60, crowdMs: 40, starts: 10, concurrency: 8 }
/** Processes stand still for longer than their lease, with much in their hands. */
const ZOMBIES: Aim = {
  workers: 4,
  starts: 10,
  concurrency: 8,
  depth: 3,
  faults: { pauses: 6, slow: 0.15, late: 0.1 },
}
/** What was sent and given up comes late, to a run that the same worker has taken again. */
const LATE: Aim = {
  workers: 1,
  starts: 12,
  concurrency: 8,
  chaosMs: 8_000,
  faults: { late: 0.3, slow: 0.1, replyLost: 0.1, pauses: 0, crashes: 0, outages: 0 },
}
const CLOCKS: Aim = { waits: 0.5, starts: 8, faults: { clockJumps: 4 } }
const CANCELS: Aim = { races: 60, starts: 8, crowdMs: 10 }
const UNDO: Aim = { starts: 10, depth: 3, cancels: 3 }

/** Machines, and callers that wait for what they bring about. */
const PLACES: Aim = { machines: 12, starts: 10 }
/** Runs that wait for slots. */
const LIMITED: Aim = { limits: 2, starts: 10 }
/** As they were before there were machines, and limits. */
const NO_MACHINES: Aim = { machines: 0, limits: 0 }

const KERNEL: Readonly<Record<Defect, Look>> = {
  'start-before-durable': { canary: 'step starts before earlier outcomes are durable' },
  'seen-is-the-counter': {
    canary: 'seen = the counter instead of the highest number held',
    aim: MAIL,
  },
  'end-ignores-stop': { canary: 'end ignores stop', aim: CANCELS },
  'frame-without-seq': {},
  'early-timer': { aim: CLOCKS },
  'forget-children': { canary: 'forget child cancel' },
  'event-before-commit': { canary: 'emit event before commit' },
  'no-adoption': {},
  'ack-before-commit': { canary: 'ack before commit' },
  'assume-committed': {},
  'start-while-replaying': { canary: 'resolve race by completion time' },
  'no-poll': { canary: 'poll disabled when LISTEN up' },
  'taken-not-marked': {},
  'ignore-stale': { canary: "reuse zombie's connection", aim: ZOMBIES },
  'undo-oldest-first': { aim: UNDO },
  'scope-without-withdraw': {},
  'round-not-forgotten': { aim: UNDO },
  'undo-before-children': { aim: UNDO },
  'loser-not-undone': { aim: UNDO },
  'undo-open-not-stored': {},
  'scope-without-leaving': {},
  'busy-is-done': { canary: 'swallow 40001' },
  'due-one-early': { canary: '>=/> on due', aim: { waits: 0.5, drift: 0.03 } },
  'new-id-after-loss': { canary: 'retry after unknown commit' },
  'shown-not-stored': { aim: PLACES },
  'shown-though-rolled-back': { aim: { ...PLACES, faults: { busy: 0.3 } } },
  'kept-forgotten': { aim: PLACES },
  'reply-before-commit': { aim: { ...PLACES, faults: { crashes: 4, notApplied: 0.1 } } },
}
const STORE: Readonly<Record<MemoryDefect, Look>> = {
  'fence-without-epoch': { canary: 'drop epoch check', aim: ZOMBIES },
  'fence-without-seq': { canary: 'fence without seq' },
  'park-ignores-inbox': { aim: MAIL },
  'message-ids-forgotten': { canary: 'messages deleted when taken' },
  'terminal-overwrite': { canary: 'terminal overwrite' },
  'early-accepted': { canary: 'early timer accepted', aim: CLOCKS },
  'crashes-not-counted': {},
  'fence-by-worker': { canary: 'epoch=worker id', aim: LATE },
  'unlock-unfenced': { canary: 'unconditional unlock', aim: ZOMBIES },
  'taken-though-refused': { canary: 'mailbox delete before append', aim: MAIL },
  'park-keeps-slot': { aim: LIMITED },
  'admit-without-count': { aim: LIMITED },
  'reap-without-lease': { canary: 'Node clock for lease', aim: ZOMBIES },
}

/** Canaries that have no counterpart here, and why. */
export const NOT_HERE: Readonly<Record<string, string>> = {
  'publish before commit':
    'a hint carries nothing: one that comes too early finds nothing, and the poll finds the rest',
  'positional step ids':
    'a question is known by its name and how often that was asked; no number of a place is stored',
  'dedupe key outlives work': 'the id of a run is a column of its row: it goes with it',
}

export interface Mutant extends Look {
  readonly name: string
  readonly where: 'kernel' | 'store'
  readonly switches: Switches
}

/** These are noticed only where there are scopes. */
const SCOPED = /^(undo|scope|round|loser)-/

export const MUTANTS: readonly Mutant[] = [
  ...(Object.keys(KERNEL) as Defect[]).map((name): Mutant => {
    const { aim = {} } = KERNEL[name]
    const scopes = SCOPED.test(name)
    const scoped = { ...NO_MACHINES, ...aim, ...(scopes && { scopes }) }
    const switches = { defects: new Set([name]), scopes, aim: scoped }
    return { name, where: 'kernel', ...KERNEL[name], switches }
  }),
  ...(Object.keys(STORE) as MemoryDefect[]).map((name): Mutant => {
    const { aim = {} } = STORE[name]
    const switches = { memoryDefects: new Set([name]), aim: { ...NO_MACHINES, ...aim } }
    return { name, where: 'store', ...STORE[name], switches }
  }),
]

export interface Noticed {
  /** So many worlds it took. */
  readonly seeds: number
  readonly failure: string
}

/** null: nothing was noticed in so many worlds. */
export async function notice(
  { switches }: Mutant,
  first: number,
  most: number,
): Promise<Noticed | null> {
  const { defects: _, memoryDefects: __, ...sane } = switches
  for (let seed = first; seed < first + most; seed += 1) {
    const { failure } = await runSeed(seed, switches)
    if (failure === null) continue
    // A world that is red without the defect proves nothing.
    const isProof = (await runSeed(seed, sane)).failure === null
    if (isProof) return { seeds: seed - first + 1, failure }
  }
  return null
}

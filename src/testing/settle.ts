// Waiting until nothing can go on, and moving the clock. The only real time here is the patience with code that does
// something of its own.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Execution } from '../kernel/attempt.js'
import { shownName } from '../model/ids.js'
import { POLL_MS } from '../model/limits.js'
import { bodyUnsettled, neverQuiet, stepUnsettled } from './errors.js'
import type { Life } from './life.js'
import type { Lives } from './lives.js'
import type { TestClock } from './test-clock.js'
import { turn } from './turns.js'

/** Taken when this is loaded: a test may replace the global ones. */
const { performance } = globalThis

/** Something happens all the time, and it does not end: so many times the patience, and at least this long. */
const BUSY_TIMES = 15
const BUSY_MIN_MS = 10_000
/** Quiet turns of the event loop that count as rest: what is awaited may be a few promises away. */
const QUIET_TURNS = 3
/** After so many turns without anything the next look waits a little. */
const SPINS = 100

export interface Settling {
  readonly lives: Lives
  readonly clock: TestClock
  readonly patienceMs: number
  setNow(ms: number): Promise<void>
  lastStepOf(execution: Execution['run']): string | null
}

/** Until nothing can go on without time or a message. */
export async function settle(what: Settling): Promise<void> {
  const busyMs = Math.max(BUSY_MIN_MS, BUSY_TIMES * what.patienceMs)
  const until = performance.now() + busyMs
  for (;;) {
    await rest(what, { until, busyMs })
    const { lives } = what
    const { claimed } = lives
    for (const life of lives.living) life.poke()
    await rest(what, { until, busyMs })
    // What the poke has found has come to rest too.
    if (lives.claimed === claimed) return
  }
}

/** Through every due time in order, settling at each. */
export async function advance(what: Settling, ms: number): Promise<void> {
  const { clock } = what
  const target = clock.nowMs + ms
  await settle(what)
  for (;;) {
    const next = clock.nextAt
    if (next === null || next > target) break
    await moveTo(what, next)
  }
  if (clock.nowMs < target) await moveTo(what, target)
}

async function moveTo(what: Settling, at: number): Promise<void> {
  const { lives, clock } = what
  // In this time a live engine has told the database what its listeners have heard.
  if (at - clock.nowMs >= POLL_MS) {
    for (const life of lives.living) await life.kernel?.host.events.flush()
  }
  await what.setNow(at)
  clock.moveTo(at)
  await settle(what)
}

type State = 'busy' | 'code' | 'quiet'

async function rest(
  what: Settling,
  limit: { readonly until: number; readonly busyMs: number },
): Promise<void> {
  let quiet = 0
  let spins = 0
  let moves = movesOf(what)
  let since = performance.now()
  for (;;) {
    await (spins > SPINS ? sleep(1) : turn())
    const state = stateOf(what)
    quiet = state === 'quiet' ? quiet + 1 : 0
    if (quiet >= QUIET_TURNS) return
    spins += 1
    const now = performance.now()
    if (movesOf(what) !== moves) {
      moves = movesOf(what)
      since = now
      spins = 0
    }
    if (now > limit.until) throw neverQuiet(activeOf(what.lives.living), limit.busyMs)
    if (state === 'code' && now - since > what.patienceMs) losePatience(what)
  }
}

function stateOf({ lives }: Settling): State {
  const { living } = lives
  if (lives.isBeginning || living.some(({ pending }) => pending > 0)) return 'busy'
  return living.some((life) => codeOf(life).length > 0 || stuckOf(life).length > 0)
    ? 'code'
    : 'quiet'
}

function movesOf({ lives }: Settling): number {
  return lives.living.reduce((sum, { moves }) => sum + moves, 0)
}

/** What has a time limit goes on with time; anything else would never end. */
function losePatience({ lives, patienceMs, lastStepOf }: Settling): void {
  for (const life of lives.living) {
    for (const { run } of stuckOf(life)) throw bodyUnsettled(run, lastStepOf(run), patienceMs)
    for (const execution of codeOf(life)) {
      const { run, name, occurrence, order } = execution
      if (order.timeoutMs === null && run.deadlineAt === null) {
        throw stepUnsettled(run, shownName(name, occurrence), patienceMs)
      }
      life.slow.add(execution)
    }
  }
}

function codeOf(life: Life): Execution[] {
  return [...life.running].filter((execution) => !life.slow.has(execution))
}

/** Runs in memory that do nothing: their bodies await something that is not a step. */
function stuckOf(life: Life): readonly { readonly run: Execution['run'] }[] {
  const frames = life.kernel?.host.frames.active.values() ?? []
  const busy = new Set([...life.running].map(({ run }) => run.uid))
  return [...frames].filter(({ run }) => !busy.has(run.uid))
}

function activeOf(living: readonly Life[]): string[] {
  return living.flatMap((life) => {
    const frames = life.kernel?.host.frames.active.values() ?? []
    return [...frames].map(({ run }) => run.id)
  })
}

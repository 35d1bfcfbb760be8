// One seed, from its options to its verdict.

import type { Counters } from '../../src/kernel/counters.js'
import { isFinal } from '../../src/model/run.js'
import { checkEnd } from './at-end.js'
import { Clients } from './clients.js'
import { aimed, type Faults, type Options, optionsOf, wholeOptionsOf } from './options.js'
import { rareAtEnd } from './rare.js'
import { replayed } from './replay-check.js'
import { differsFromFunction } from './same-effects.js'
import { type Struck, type Switches, World } from './world.js'

export interface Verdict {
  readonly seed: number
  readonly options: Options
  /** null: everything held. */
  readonly failure: string | null
  readonly hash: number
  readonly events: number
  readonly counters: Counters
  /** How often each rare state was met. */
  readonly rare: Readonly<Record<string, number>>
  readonly last: readonly string[]
  readonly runs: number
  readonly struck: readonly Struck[]
  readonly plans: number
  readonly codes: ReadonlyMap<string, number>
}

const EVENTS_MAX = 60_000
/** Everything is over so long after the faults: leases, retries, crash limits, and time to spare. */
const HEAL_MS = 150_000
/** Runs of each world whose journals are driven again. */
const REPLAYS = 6
/** Machines of each world whose programs are executed as functions, too. */
const COMPARED = 2

export async function runSeed(seed: number, switches: Switches = {}): Promise<Verdict> {
  const chosen = switches.whole ? wholeOptionsOf(seed) : optionsOf(seed)
  const drawn = aimed(chosen, switches.aim ?? {})
  const options = { ...drawn, scopes: drawn.scopes && (switches.scopes ?? true) }
  const world = new World(options, switches)
  const clients = new Clients(world)
  const { scheduler } = world
  for (let slot = 0; slot < options.workers; slot += 1) world.boot(slot)
  clients.plan()
  planFaults(world)
  await scheduler.run(options.chaosMs, () => false, EVENTS_MAX)
  // Who is paused comes back before it is judged.
  const held = world.processes.map(({ life }) => life.heldUntil)
  await scheduler.run(Math.max(scheduler.now, ...held), () => false, EVENTS_MAX)
  world.heal()
  await settle(world, clients)
  return {
    seed,
    options,
    failure: scheduler.failure,
    hash: scheduler.hash,
    events: scheduler.events,
    counters: world.counters,
    rare: { ...world.counters, ...rareAtEnd(world, clients) },
    last: scheduler.last,
    runs: world.memory.runs.size,
    codes: clients.codes,
    struck: world.struck,
    plans: clients.plans,
  }
}

function planFaults(world: World): void {
  const { scheduler, options } = world
  const { rng } = scheduler
  const { crashes, pauses, clockJumps, outages } = options.faults
  const some = (count: number, kind: keyof Faults, happen: () => void): void => {
    for (let i = 0; i < count; i += 1) {
      const ms = rng.int(options.chaosMs)
      if (world.mayStrike(kind)) scheduler.after(null, ms, `fault: ${kind}`, happen)
    }
  }
  some(crashes, 'crashes', () => {
    if (world.open.length > 0) world.crash(rng.pick(world.open))
  })
  some(pauses, 'pauses', () => {
    if (world.open.length > 0) world.pause(rng.pick(world.open), rng.pick([500, 2_500, 5_000]))
  })
  some(clockJumps, 'clockJumps', () => {
    world.jumpClock(rng.pick([-60_000, -900, 900, 4_000, 3_600_000]))
  })
  some(outages, 'outages', () => {
    world.awayUntil = scheduler.now + rng.pick([500, 2_500, 6_000])
  })
}

/** A worker that is gone has still a row: after a clock that was set back, for long. */
function hasDead(world: World): boolean {
  const living = new Set(world.open.map(({ host }) => host?.lease.worker.id))
  for (const id of world.memory.workers.keys()) if (!living.has(id)) return true
  return false
}

/** What a living process asked before the healing is not answered: the answer may bear what it has inherited. */
function hasUnanswered(world: World, healedAt: number): boolean {
  return world.processes.some(({ life, store }) => life.alive && store.awaits(healedAt))
}

/** Without faults every run comes to its end (32), and then all the rest must hold. */
async function settle(world: World, clients: Clients): Promise<void> {
  const { scheduler } = world
  const isOver = (): boolean => {
    for (const row of world.memory.runs.values()) if (!isFinal(row.status)) return false
    return true
  }
  const healedAt = scheduler.now
  const until = healedAt + HEAL_MS
  const isUnsaid = (): boolean => hasDead(world) || hasUnanswered(world, healedAt)
  await scheduler.run(scheduler.now + 200, () => false, EVENTS_MAX)
  while (!scheduler.failure) {
    if (isOver()) {
      // Leases of the dead run out, and what they had to say is inherited; a start that was late may still come.
      await scheduler.run(until, () => !isUnsaid(), EVENTS_MAX)
      await scheduler.run(scheduler.now + 2_000, () => false, EVENTS_MAX)
      // What was retried meanwhile may have ended just now: whoever stored that has not heard so.
      const { now } = scheduler
      await scheduler.run(now + 2_000, () => !hasUnanswered(world, now), EVENTS_MAX)
      if (isOver()) break
    }
    if (scheduler.now > until) {
      const open = [...world.memory.runs.values()].filter((row) => !isFinal(row.status))
      const shown = open.map((row) => `${row.uid} ${row.status} ${row.reason} owner ${row.owner}`)
      return scheduler.fail('invariant 32', `not over after healing: ${shown.join('; ')}`)
    }
    clients.answerAll()
    const { now, events } = scheduler
    await scheduler.run(now + 500, isOver, EVENTS_MAX)
    // Without this it would be asked for ever, and no timer would ever say so.
    if (scheduler.now === now && scheduler.events === events)
      scheduler.fail('stuck', 'nothing can happen any more, and not all runs are over')
  }
  if (scheduler.failure) return
  checkEnd(world, clients)
  for (const row of [...world.memory.runs.values()].slice(0, REPLAYS)) {
    const difference = await replayed(row)
    if (difference) scheduler.fail('invariant 25', difference)
  }
  const others = [...world.memory.runs.values()].filter(({ run }) =>
    ['machine', 'graph'].includes(run.definition),
  )
  for (const row of others.slice(0, COMPARED)) {
    const difference = await differsFromFunction(world, row)
    if (difference) scheduler.fail('one kernel', difference)
  }
}

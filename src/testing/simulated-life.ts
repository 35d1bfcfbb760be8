// One life of a workflow in a simulation: does to the engine what the plan of its seed says, and notes what happens.

import type { Delta } from '../kernel/store.js'
import { shownName, type Uid } from '../model/ids.js'
import type { Attempt, Effect } from '../model/program.js'
import type { RunFacts } from '../model/run.js'
import type { CommitFate, CommitPlan } from './commits.js'
import { inPlace } from './effect.js'
import { type Executed, Ledger, type LedgerDeps, type Repeated } from './ledger.js'
import type { Fault, Point, SeedPlan, Wakes } from './seed-plan.js'
import type { Called, Trouble } from './trouble.js'
import { turn, turns } from './turns.js'

/** What a life shows that must not be. */
export type Found =
  | Repeated
  | { readonly kind: 'outside-step'; readonly effect: string; readonly run: RunFacts }
  | { readonly kind: 'diverged'; readonly run: RunFacts | null }

interface Paused {
  readonly executed: Executed
  readonly wakes: Wakes
  go(): Promise<unknown>
}

/** Turns of the event loop for code of a stopped worker that goes on. */
const LATE_TURNS = 200

export class SimulatedLife implements Trouble {
  /** Where a crash could fall, in the order in which the life came by. */
  readonly points: Point[] = []
  /** What has happened, for people. */
  private readonly trace: (() => string)[] = []
  found: Found | null = null
  private foundAt: number | null = null
  readonly isFound: Promise<void>
  /** Workers that died or were stopped. */
  ends = 0
  /** How often each fault has come. */
  readonly met: Record<Fault, number> = {
    pauses: 0,
    duplicates: 0,
    delays: 0,
    'lost-answers': 0,
  }
  private readonly plan: SeedPlan
  private readonly ledger: Ledger
  private readonly counts = new Map<string, number>()
  private readonly runs = new Map<Uid, RunFacts>()
  private readonly paused = new Set<Paused>()
  private readonly late: Promise<unknown>[] = []
  private commits = 0
  private isOn = false
  private tellFound = (): void => {}

  constructor(plan: SeedPlan, repeatable: LedgerDeps['repeatable']) {
    this.plan = plan
    this.ledger = new Ledger({
      repeatable,
      found: (repeated) => this.find(repeated),
      foundOutside: (effect, run) => this.find({ kind: 'outside-step', effect, run }),
    })
    this.isFound = new Promise((resolve) => {
      this.tellFound = resolve
    })
  }

  /** The scenario begins. What came before is not disturbed. */
  begin(): void {
    this.isOn = true
  }

  /** The scenario has ended: whoever was stopped goes on now, and that is all. */
  async end(): Promise<void> {
    this.isOn = false
    for (const paused of this.paused) this.wake(paused)
    let isOver = false
    void Promise.all(this.late).then(() => {
      isOver = true
    })
    for (let i = 0; i < LATE_TURNS && !isOver; i += 1) await turn()
  }

  private find(found: Found): void {
    if (this.found) return
    this.found = found
    this.foundAt = this.trace.length
    this.tellFound()
  }

  /** What came later is not the cause. */
  get traceOfFound(): readonly (() => string)[] {
    return this.trace.slice(0, this.foundAt ?? this.trace.length)
  }

  // ── what the engine asks (Trouble) ────────────────────────────────────────────────────────────────────────

  readonly atCommit: CommitPlan = ({ about, isStart, canBeLost }) => {
    if (!this.isOn) return null
    this.commits += 1
    const number = this.commits
    const text = about()
    if (!isStart) this.points.push({ at: 'commit', number, end: 'before' })
    this.points.push({ at: 'commit', number, end: 'after' })
    const planned = this.plan.commit(this.placeOf(text), number, isStart)
    const fate = { ...planned, isLost: planned.isLost === true && canBeLost }
    this.noteCommit(text, fate)
    return fate
  }

  saw(delta: Delta): void {
    if (delta.kind !== 'turn' || delta.next.kind !== 'park') return
    if (delta.next.divergedBuild === null) return
    this.find({ kind: 'diverged', run: this.runs.get(delta.fence.uid) ?? null })
  }

  body<T>(run: RunFacts, work: () => Promise<T>): Promise<T> {
    this.runs.set(run.uid, run)
    return inPlace({ ledger: this.ledger, run, executed: null }, work)
  }

  isAskedTwice(what: string): boolean {
    const isTwice = this.isOn && this.plan.isAskedTwice(this.placeOf(what))
    if (!isTwice) return false
    this.met.duplicates += 1
    this.note(`the answer to ${what} did not arrive: it was sent again`)
    return true
  }

  async execute(called: Called): Promise<Effect> {
    if (!this.isOn) return called.code(called.execution.attempt)
    const { run, name, occurrence } = called.execution
    const place = this.placeOf(`${run.definition} / ${shownName(name, occurrence)}`)
    const fate = this.plan.step(place)
    const worker = this.ends + 1
    this.wakeAll((paused) => paused.wakes === 'next')
    if (fate.isPaused) return this.pause(called, this.plan.wakes(place))
    await this.delay(fate.delays[0])
    const executed = this.ledger.begin(called, { worker, isLate: false })
    try {
      return await this.code(called, executed)
    } finally {
      this.points.push({ at: 'step', place })
      this.wakeAll((paused) => paused.wakes === 'done' && paused.executed.key === executed.key)
      if (fate.isEnd) await this.die(called, executed)
      await this.delay(fate.delays[1])
    }
  }

  private async code(called: Called, executed: Executed): Promise<Effect> {
    const { run, attempt } = called.execution
    this.trace.push(() => saidOf(executed))
    const watched = watchedAttempt(attempt, executed)
    const place = { ledger: this.ledger, run, executed }
    try {
      const effect = await inPlace(place, () => called.code(watched))
      this.ledger.ended(executed, 'completed')
      return effect
    } catch (error) {
      this.ledger.ended(executed, 'failed')
      throw error
    }
  }

  // ── what goes wrong ───────────────────────────────────────────────────────────────────────────────────────

  private die(called: Called, { step }: Executed): Promise<never> {
    this.note(`worker ${this.ends + 1} died: "${step}" had run, and that was not recorded`)
    this.ends += 1
    return called.die()
  }

  /** For the others it is dead. Its code runs later, and what that returns goes nowhere. */
  private pause(called: Called, wakes: Wakes): Promise<never> {
    const executed = this.ledger.begin(called, { worker: this.ends + 1, isLate: true })
    const { step, worker } = executed
    this.note(`worker ${worker} was stopped when "${step}" had just begun; another took its place`)
    const go = (): Promise<unknown> => {
      this.note(`worker ${worker} woke up and went on`)
      return this.code(called, executed).catch(() => {})
    }
    this.paused.add({ executed, wakes, go })
    this.met.pauses += 1
    this.ends += 1
    return called.die()
  }

  private wakeAll(isDue: (paused: Paused) => boolean): void {
    for (const paused of this.paused) if (isDue(paused)) this.wake(paused)
  }

  private wake(paused: Paused): void {
    this.paused.delete(paused)
    this.late.push(paused.go())
  }

  private noteCommit(what: string, { end, isLost, delay = 0 }: CommitFate): void {
    if (delay > 0) this.met.delays += 1
    if (end) {
      this.note(`worker ${this.ends + 1} died ${end} this was recorded: ${what}`)
      this.ends += 1
    } else if (isLost) {
      this.met['lost-answers'] += 1
      this.note(`the database's answer was lost: ${what}`)
    }
  }

  private delay(count: number): Promise<void> {
    if (count > 0) this.met.delays += 1
    return turns(count)
  }

  private note(text: string): void {
    this.trace.push(() => text)
  }

  /** The same places have the same names in every life. */
  private placeOf(what: string): string {
    const plain = what.replaceAll(UUID, '…')
    const count = (this.counts.get(plain) ?? 0) + 1
    this.counts.set(plain, count)
    return `${plain} ${count}`
  }
}

/** Ids of runs follow chance that a crash moves on. */
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

/** Notes whether the code asks for its key, and whether it writes into the database together with its result. */
function watchedAttempt(attempt: Attempt, executed: Executed): Attempt {
  return new Proxy(attempt, {
    get: (target, key) => {
      if (key === 'idempotencyKey') executed.usesKey = true
      if (key === 'transaction') executed.isTransactional = true
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

function saidOf({ worker, step, attempt, calls, end }: Executed): string {
  const said = calls.map(({ shown, key }) => (key === null ? `${shown}, without a key` : shown))
  const times = attempt > 1 ? `, attempt ${attempt}` : ''
  const outcome = end === 'failed' ? ', which failed' : ''
  return `worker ${worker} ran "${step}"${times}${outcome}${said.length > 0 ? `: ${said.join('; ')}` : ''}`
}

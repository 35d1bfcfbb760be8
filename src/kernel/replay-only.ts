// Does a run fit the code at hand? Its body is driven along its history: nothing is executed, written or claimed.

import type { Program } from '../model/program.js'
import type { Entry, Instant, RunFacts } from '../model/run.js'
import { Alarm } from './alarm.js'
import type { Ask } from './asks.js'
import { type Answerer, Conversation, type Withdrawn } from './conversation.js'
import { type Difference, recordedText } from './divergence.js'
import type { Ports } from './ports.js'
import { Questions } from './questions.js'
import { readScript } from './replay.js'
import { forget } from './withdraw.js'

/** null: it asks what is recorded. */
export type Verdict = Difference | null

/** `now`: what the body takes for the time of questions beyond its history. */
export function replayOnly(
  what: { readonly run: RunFacts; readonly program: Program; readonly journal: readonly Entry[] },
  ports: Ports,
  now: Instant,
): Promise<Verdict> {
  return new Promise((resolve) => {
    const alarm = new Alarm(ports.clock)
    const reader = new Reader(now, (verdict) => {
      alarm.off()
      resolve(verdict)
    })
    const deps = { ports, defects: new Set<never>() }
    new Conversation(reader, { ...what, alarm, deps }).begin()
  })
}

/** In the place of a frame: it hears what the body asks, and has nothing to answer beside the history. */
class Reader implements Answerer {
  active = true
  deaf = false
  private readonly now: Instant
  private readonly done: (verdict: Verdict) => void
  private readonly questions = new Questions()

  constructor(now: Instant, done: (verdict: Verdict) => void) {
    this.now = now
    this.done = done
  }

  clock(): Instant {
    return this.now
  }

  recalled(asks: readonly Ask[]): void {
    for (const ask of asks) this.questions.add(ask)
  }

  answeredBefore(entry: Entry): Ask | null {
    const ask = this.questions.find(entry.name, entry.occurrence)
    if (ask) this.questions.remove(ask)
    return ask
  }

  withdrawn(over: readonly Withdrawn[]): void {
    forget(this.questions, over)
  }

  stopFromInside(): void {
    this.deaf = true
  }

  historyIsOver(): void {
    this.end(null)
  }

  wasStopping(): void {
    this.end(null)
  }

  diverged(difference: Difference): void {
    this.end(difference)
  }

  quiet(): void {}
  spokeWhileParked(): void {}
  newMark(): void {}
  shows(): void {}

  private end(verdict: Verdict): void {
    if (!this.active) return
    // What the body still says has no effect.
    this.active = false
    this.done(verdict)
  }
}

/** What was asked so far, one after the other: the same of runs that have come the same way. Rounds are not told apart. */
export function shapeOf(journal: readonly Entry[]): readonly string[] {
  const { windows, stopping } = readScript(journal)
  const asked = windows.flatMap(({ asks, outcome }) => [
    ...asks.map((ask) => recordedText(ask)),
    // Which of several that were open has been answered.
    ...(outcome ? [`= ${outcome.name}#${outcome.occurrence}`] : []),
  ])
  if (stopping) asked.push('stopping')
  return asked.map((text) => text.replace(/@\d+/g, '@…'))
}

// Walks a body along its recorded history: what it must ask in each window, and which answer comes then.

import type { Entry } from '../model/run.js'
import type { Ask } from './asks.js'
import { answerText, type Difference, matchWindow, recordedText } from './divergence.js'
import { keyOf, readScript, type Script } from './replay.js'

export type ReplayStep =
  /** These were asked before, and this is the recorded answer to deliver now. */
  | { readonly kind: 'answer'; readonly recalled: readonly Ask[]; readonly entry: Entry }
  /** The history is at its end: from here on answers are made. */
  | { readonly kind: 'live'; readonly recalled: readonly Ask[]; readonly fresh: readonly Ask[] }
  /** The body has not asked something that is recorded. */
  | { readonly kind: 'missing'; readonly difference: Difference }
  | { readonly kind: 'diverged'; readonly difference: Difference }

const NOTHING = readScript([])

export class Replayer {
  readonly script: Script
  /** Marks that became part of the history just now, and those that were too late, in which window. */
  private marked: Set<string> | null = null
  private late: Map<string, number> | null = null
  /** Loops that have asked for what their last round left. */
  private recalled: Set<string> | null = null
  private window = 0
  private position = 1

  constructor(journal: readonly Entry[]) {
    this.script = journal.length === 0 ? NOTHING : readScript(journal)
  }

  /** Nothing has been asked or answered yet: what is said at the beginning is said for the first time. */
  get isEmpty(): boolean {
    const [first, second] = this.script.windows
    return !second && (first?.asks.length ?? 0) === 0
  }

  /** The body is quiet; `all` is what it has asked since the last answer, `settled` whether it has ended. */
  next(all: readonly Ask[], settled: boolean): ReplayStep {
    const window = this.script.windows[this.window]
    if (!window) return { kind: 'live', recalled: [], fresh: all }
    const asked = this.counted(all)
    const match = matchWindow(window, asked, this.position)
    if (match.kind === 'diverged') return match
    const found = settled ? 'the end of the function' : 'nothing'
    const position = this.position + asked.length
    if (match.kind === 'missing') {
      const difference = { position, recorded: recordedText(match.missing), found }
      return { kind: settled ? 'diverged' : 'missing', difference }
    }
    const { outcome } = window
    const isUnasked = outcome?.kind === 'round.ended' && !this.recalled?.has(outcome.name)
    // What was emitted last is written down behind the end of the function.
    const isBehind = settled && outcome?.kind !== 'record'
    if (outcome && (isBehind || isUnasked)) {
      const at = Math.max(1, isUnasked ? position : position - 1)
      const difference = { position: at, recorded: answerText(outcome), found }
      return { kind: settled ? 'diverged' : 'missing', difference }
    }
    this.window += 1
    this.position += window.asks.length
    const fresh = asked.slice(window.asks.length)
    const recalled = all.filter((ask) => !fresh.includes(ask))
    for (const ask of recalled) this.recall(ask)
    if (outcome) return { kind: 'answer', recalled, entry: outcome }
    return { kind: 'live', recalled, fresh }
  }

  /** Without what asks for the last round of a loop: that has no place among the questions. */
  private counted(asked: readonly Ask[]): readonly Ask[] {
    if (this.script.rounds.size === 0) return asked
    return asked.filter((ask) => {
      const isRecall = ask.kind === 'record' && this.isLastRound(ask.name)
      if (isRecall) this.recalled = (this.recalled ?? new Set()).add(ask.name)
      return !isRecall
    })
  }

  private isLastRound(name: string): boolean {
    const at = name.lastIndexOf('@')
    return at >= 0 && this.script.rounds.get(name.slice(0, at)) === Number(name.slice(at + 1))
  }

  /**
   * Is `id` known to the history here; may it still become part of it (`new`), or is it too late? It may be part of what
   * came after this place: the code before it has gone the old way, and does so again.
   */
  mark(id: string, askedSoFar: readonly Ask[]): 'recorded' | 'absent' | 'new' {
    const window = this.script.windows[this.window]
    const at = this.script.marks.get(id)
    const endsAt = window?.outcome?.seq ?? Number.POSITIVE_INFINITY
    if (this.marked?.has(id) || (at !== undefined && at < endsAt)) return 'recorded'
    // What was said once before an answer is said again before it: the mark has no place among the questions.
    const isLate =
      window && (window.outcome !== null || window.asks.length > this.counted(askedSoFar).length)
    if (isLate) this.late = (this.late ?? new Map()).set(id, this.window)
    if (this.late?.get(id) === this.window) return 'absent'
    this.marked = (this.marked ?? new Set()).add(id)
    return 'new'
  }

  /** Gives a question what the journal knows of it. */
  private recall(ask: Ask): void {
    const history = this.script.asks.get(keyOf(ask.name, ask.occurrence))
    ask.journaled = true
    ask.afterSeq = 0
    if (!history) return
    if (ask.kind === 'timer') ask.dueAt = history.dueAt ?? ask.dueAt
    if (ask.kind === 'wait') {
      ask.dueAt = history.dueAt
      // From then on it hears what happens elsewhere.
      ask.askedAt = history.askedAt ?? ask.askedAt
    }
    if (ask.kind === 'step' || ask.kind === 'child') {
      ask.attempts = history.attempts
      ask.retryAt = history.retryAt
      ask.manual = history.manual
    }
    if (ask.kind === 'step') ask.kept = history.kept
    if (ask.kind === 'child') {
      ask.uid = history.retryAt === null ? history.childUid : null
      if (ask.uid) ask.order.startedAs?.(ask.uid)
    }
  }
}

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
  private readonly marked = new Set<string>()
  private readonly late = new Map<string, number>()
  private window = 0
  private position = 1

  constructor(journal: readonly Entry[]) {
    this.script = journal.length === 0 ? NOTHING : readScript(journal)
  }

  /** The body is quiet; `asked` is what it has asked since the last answer, `settled` whether it has ended. */
  next(asked: readonly Ask[], settled: boolean): ReplayStep {
    const window = this.script.windows[this.window]
    if (!window) return { kind: 'live', recalled: [], fresh: asked }
    const match = matchWindow(window, asked, this.position)
    if (match.kind === 'diverged') return match
    const found = settled ? 'the end of the function' : 'nothing'
    if (match.kind === 'missing') {
      const position = this.position + asked.length
      const difference = { position, recorded: recordedText(match.missing), found }
      return { kind: settled ? 'diverged' : 'missing', difference }
    }
    const { outcome } = window
    if (outcome && settled) {
      const position = this.position + asked.length - 1
      return { kind: 'diverged', difference: { position, recorded: answerText(outcome), found } }
    }
    this.window += 1
    this.position += window.asks.length
    const recalled = asked.slice(0, window.asks.length)
    for (const ask of recalled) this.recall(ask)
    if (outcome) return { kind: 'answer', recalled, entry: outcome }
    return { kind: 'live', recalled, fresh: asked.slice(window.asks.length) }
  }

  /**
   * Is `id` known to the history here; may it still become part of it (`new`), or is it too late? It may be part of what
   * came after this place: the code before it has gone the old way, and does so again.
   */
  mark(id: string, askedSoFar: number): 'recorded' | 'absent' | 'new' {
    const window = this.script.windows[this.window]
    const at = this.script.marks.get(id)
    const endsAt = window?.outcome?.seq ?? Number.POSITIVE_INFINITY
    if (this.marked.has(id) || (at !== undefined && at < endsAt)) return 'recorded'
    // What was said once before an answer is said again before it: the mark has no place among the questions.
    const isLate = window && (window.outcome !== null || window.asks.length > askedSoFar)
    if (isLate) this.late.set(id, this.window)
    if (this.late.get(id) === this.window) return 'absent'
    this.marked.add(id)
    return 'new'
  }

  /** Gives a question what the journal knows of it. */
  private recall(ask: Ask): void {
    const history = this.script.asks.get(keyOf(ask.name, ask.occurrence))
    ask.journaled = true
    ask.afterSeq = 0
    if (!history) return
    if (ask.kind === 'timer') ask.dueAt = history.dueAt ?? ask.dueAt
    if (ask.kind === 'wait') ask.dueAt = history.dueAt
    if (ask.kind === 'step' || ask.kind === 'child') {
      ask.attempts = history.attempts
      ask.retryAt = history.retryAt
      ask.manual = history.manual
    }
    if (ask.kind === 'child') ask.uid = history.retryAt === null ? history.childUid : null
  }
}

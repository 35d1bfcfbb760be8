// Steps that run for long are written down before they are answered, so that people see them. One timer for all of
// them, and only while something runs. And which steps began last: when the process was deaf for long, it was one of them.

import { ASK_SHOWN_AFTER_MS } from '../model/limits.js'
import type { RunningAttempt } from './attempt.js'
import type { Frame } from './frame.js'
import type { Frames } from './frames.js'
import type { Clock } from './ports.js'

/** A power of two. */
const LAST = 8

export class LongSteps {
  private readonly frames: Frames
  private readonly clock: Clock
  private off: (() => void) | null = null
  private readonly last: RunningAttempt[] = []
  private count = 0

  constructor(frames: Frames, clock: Clock) {
    this.frames = frames
    this.clock = clock
  }

  /** User code begins somewhere. */
  started(attempt: RunningAttempt): void {
    this.last[this.count & (LAST - 1)] = attempt
    this.count += 1
    this.watch()
  }

  /** The one that began last comes last. */
  ranLast(): readonly string[] {
    const at = this.count & (LAST - 1)
    return [...this.last.slice(at), ...this.last.slice(0, at)].map(({ shown }) => shown)
  }

  private watch(): void {
    this.off ??= this.clock.after(ASK_SHOWN_AFTER_MS, () => this.look())
  }

  close(): void {
    this.off?.()
  }

  private look(): void {
    this.off = null
    let running = false
    for (const frame of this.frames.active.values()) {
      show(frame)
      running ||= frame.questions.running()
    }
    if (running) this.watch()
  }
}

function show(frame: Frame): void {
  const { questions, deps } = frame
  const since = questions.unwrittenSince
  if (since === null || deps.now() - since < deps.askShownAfterMs) return
  frame.scribe.asksBefore(null)
  frame.pump()
}

// Steps that run for long are written down before they are answered, so that people see them. One timer for all of
// them, and only while something runs.

import { ASK_SHOWN_AFTER_MS } from '../model/limits.js'
import type { Frame } from './frame.js'
import type { Frames } from './frames.js'
import type { Clock } from './ports.js'

export class LongSteps {
  private readonly frames: Frames
  private readonly clock: Clock
  private off: (() => void) | null = null

  constructor(frames: Frames, clock: Clock) {
    this.frames = frames
    this.clock = clock
  }

  /** User code begins somewhere. */
  started(): void {
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
    if (running) this.started()
  }
}

function show(frame: Frame): void {
  const { questions, deps } = frame
  const since = questions.unwrittenSince
  if (since === null || deps.now() - since < deps.askShownAfterMs) return
  frame.scribe.asksBefore(null)
  frame.pump()
}

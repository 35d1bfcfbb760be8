// Waiting for something that nobody tells of: it is looked at every few milliseconds.

import type { Clock } from './ports.js'

const LOOK_AGAIN_MS = 5

/** Resolves when `met`, or when so much time has passed. */
export function within(clock: Clock, ms: number, met: () => boolean): Promise<void> {
  const until = clock.monotonic() + ms
  return new Promise((resolve) => {
    const look = (): void => {
      if (met() || clock.monotonic() >= until) resolve()
      else clock.after(LOOK_AGAIN_MS, look)
    }
    look()
  })
}

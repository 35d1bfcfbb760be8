// A reporter of vitest for what does not end. A test has its own time limit, but a loop that gives nothing back to the event loop
// is not stopped by it: then nothing is printed for ever. This says which file it is, and ends the whole run.

import { spawnSync } from 'node:child_process'
import { relative } from 'node:path'

const LATE_MINUTES = 10
const GIVEN_UP_MINUTES = 30
const MINUTE_MS = 60_000

export default class LateReporter {
  /** Files that have begun and not ended, with when they began. */
  #running = new Map()

  onTestRunStart() {
    setInterval(() => this.#look(), MINUTE_MS).unref()
  }

  onTestModuleStart({ moduleId }) {
    this.#running.set(moduleId, performance.now())
  }

  onTestModuleEnd({ moduleId }) {
    this.#running.delete(moduleId)
  }

  #look() {
    for (const [file, since] of this.#running) {
      const minutes = Math.floor((performance.now() - since) / MINUTE_MS)
      if (minutes < LATE_MINUTES) continue
      const isOver = minutes >= GIVEN_UP_MINUTES
      const what = isOver ? 'given up' : 'still running'
      console.error(`${what} after ${minutes} min: ${relative(process.cwd(), file)}`)
      if (isOver) end()
    }
  }
}

/** Its workers too: one in a loop does not notice that it is alone. */
function end() {
  spawnSync('pkill', ['-KILL', '-P', String(process.pid)])
  process.exit(1)
}

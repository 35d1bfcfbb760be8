// What a user would have written: the functions inside the workflows, the same for every system. The workloads read
// the time stamps that they leave behind; every system executes them in the process that measures.

export const PAYLOAD = { text: 'x'.repeat(169) } // 180 bytes as JSON
export const NAP_MS = 2_000

/** When each step was executed. Kept only while a workload asks for it. */
export const marks = { keep: false, at: [] }
export const counts = { steps: 0, waiting: 0 }

export function step() {
  counts.steps += 1
  if (marks.keep) marks.at.push(performance.now())
  return PAYLOAD
}

const asleepAt = new Map()

/** Said directly before the sleep is asked for, outside of any step. On replay the first time counts. */
export function fallAsleep(key) {
  if (!asleepAt.has(key)) asleepAt.set(key, Date.now())
}

/** The step behind it: milliseconds too late. */
export function wakeUp(key) {
  return Date.now() - asleepAt.get(key) - NAP_MS
}

export function arrive() {
  counts.waiting += 1
  return null
}

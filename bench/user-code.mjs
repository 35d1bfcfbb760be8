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

/** The first step of a sleeper. */
export function fallAsleep() {
  return Date.now()
}

/** The last one: milliseconds too late. */
export function wakeUp(asleepAt) {
  return Date.now() - asleepAt - NAP_MS
}

export function arrive() {
  counts.waiting += 1
  return null
}

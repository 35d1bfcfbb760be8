// What people see of a run: one line per entry of its journal, each once.

/** Of the order, in the order in which they run. */
export const STEPS = ['validate', 'charge', 'pack', 'ship', 'receipt']
const ATTEMPTS = 4

const MARKS = { done: ['green', '✓'], failed: ['red', '✗'], waits: ['cyan', '…'] }

/** `paint`: as picocolors makes it. */
export function makeStory(say, paint) {
  const line = (kind, name, what, aside = '') => {
    const [colour, mark] = MARKS[kind]
    const left = `${name.padEnd(12)}  ${what.padEnd(34)}`
    say(`  ${paint[colour](mark)} ${left}  ${aside && paint.dim(aside)}`.trimEnd())
  }
  return { told: (entry) => TOLD[entry.kind]?.(entry, line), line }
}

/** Kinds that are not here are no news to a reader of this demo. */
const TOLD = {
  'step.completed': (entry, line) => line('done', entry.name, attemptOf(entry), took(entry)),
  'step.failed': (entry, line) => {
    const again = entry.until ? `, next in ${seconds(entry.until - entry.at)}` : ''
    const attempt = `attempt ${entry.attempt} of ${ATTEMPTS}${again}`
    line('failed', entry.name, entry.error.message, attempt)
  },
  'timer.set': (entry, line) =>
    line('waits', entry.name, `sleeps for ${seconds(entry.until - Date.now())}`),
  'timer.fired': (entry, line) => line('done', entry.name, 'slept'),
  'run.failed': (entry, line) => line('failed', 'order', entry.error.message),
  'run.cancelled': (_, line) => line('failed', 'order', 'cancelled'),
}

const attemptOf = ({ attempt }) => (attempt > 1 ? `attempt ${attempt}` : '')
const took = ({ at, startedAt }) => (startedAt ? `${at - startedAt} ms` : '')
const seconds = (ms) => `${Math.max(0, Math.round(ms / 1000))} s`

/** How far the journal of a run that was begun earlier has come. */
export function standing(id, entries) {
  const done = entries.filter(({ kind }) => kind === 'step.completed')
  const last = done.at(-1)
  const where = last ? `resumed after "${last.name}"` : 'resumed before its first step was done'
  return `order ${id} ${where} (${done.length} of ${STEPS.length} steps done)`
}

/** What was asked, has no answer yet and is still ahead: told again after a restart. */
export function openWaits(entries) {
  const answered = new Set(
    entries.filter(({ kind }) => kind === 'timer.fired').map(({ name }) => name),
  )
  const isOpen = ({ kind, name }) => kind === 'timer.set' && !answered.has(name)
  return entries.filter((entry) => isOpen(entry) && entry.until > Date.now())
}

/** One line for a run that does not move. */
export function standingOf({ id, workflow, status, available, error }, address) {
  const what =
    status === 'waiting'
      ? `waits for a person: ${available.map(({ name }) => name).join(' or ')}`
      : status === 'failed'
        ? `failed: ${error.message}`
        : status
  return `${workflow.padEnd(13)} ${id.padEnd(8)}  ${what}  →  ${address}`
}

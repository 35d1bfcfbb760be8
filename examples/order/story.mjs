// What people see of a run: one line per entry of its journal, each once.

import { RETRIES, STEPS } from './order.mjs'

const RESET = '\u001b[0m'
const COLOURS = { green: '\u001b[32m', red: '\u001b[31m', blue: '\u001b[36m', grey: '\u001b[90m' }

/** Plain where it is not a terminal, and where people ask for it. */
export function makePaint(stream, env) {
  const plain = !stream.isTTY || Boolean(env.NO_COLOR) || env.TERM === 'dumb'
  return (colour, text) => (plain ? text : `${COLOURS[colour]}${text}${RESET}`)
}

const MARKS = { done: ['green', '✓'], failed: ['red', '✗'], waits: ['blue', '…'] }

export function makeStory(say, paint) {
  const line = (kind, name, what, aside = '') => {
    const [colour, mark] = MARKS[kind]
    const left = `${name.padEnd(12)}  ${what.padEnd(34)}`
    say(`  ${paint(colour, mark)} ${left}  ${aside && paint('grey', aside)}`.trimEnd())
  }
  return { told: (entry) => TOLD[entry.kind]?.(entry, line), line }
}

/** Kinds that are not here are no news to a reader of this demo. */
const TOLD = {
  'step.completed': (entry, line) => line('done', entry.name, attemptOf(entry), took(entry)),
  'step.failed': (entry, line) => {
    const again = entry.until ? `, next in ${seconds(entry.until - entry.at)}` : ''
    const attempt = `attempt ${entry.attempt} of ${RETRIES + 1}${again}`
    line('failed', entry.name, entry.error.message, attempt)
  },
  'timer.set': (entry, line) =>
    line('waits', entry.name, `sleeps for ${seconds(entry.until - Date.now())}`),
  'timer.fired': (entry, line) => line('done', entry.name, 'slept'),
  'wait.opened': (entry, line) =>
    line('waits', entry.name, 'waits for a person', `until ${clock(entry.until)} tomorrow`),
  'message.taken': (entry, line) => line('done', entry.name, `given by ${entry.output.by}`),
  'run.failed': (entry, line) => line('failed', 'order', entry.error.message),
  'run.cancelled': (_, line) => line('failed', 'order', 'cancelled'),
}

const attemptOf = ({ attempt }) => (attempt > 1 ? `attempt ${attempt}` : '')
const took = ({ at, startedAt }) => (startedAt ? `${at - startedAt} ms` : '')
const seconds = (ms) => `${Math.max(0, Math.round(ms / 1000))} s`
const clock = (date) => date.toTimeString().slice(0, 5)

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
    entries.filter(({ kind }) => ANSWERS.includes(kind)).map(({ name }) => name),
  )
  const isOpen = ({ kind, name }) => ASKS.includes(kind) && !answered.has(name)
  return entries.filter((entry) => isOpen(entry) && entry.until > Date.now())
}
const ASKS = ['timer.set', 'wait.opened']
const ANSWERS = ['timer.fired', 'message.taken', 'wait.withdrawn']

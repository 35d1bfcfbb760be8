// What can be done, as a line for the shell.

import type { Explanation, RunInfo } from '../../index.js'
import { exampleOf } from './schema.js'
import { clock, withClock } from './time.js'

type Offer = Extract<RunInfo, { status: 'waiting' }>['available'][number]

/** As the shell takes it: in quotes where it must be. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

export const perdure = (...words: readonly string[]): string =>
  ['perdure', ...words.map(quoted)].join(' ')

/** How somebody gives a run what it waits for. */
export function answerCommand(run: RunInfo, { kind, name, schema }: Offer): string {
  const example = schema === null ? [] : [JSON.stringify(exampleOf(schema))]
  if (kind === 'event') return perdure('send', run.workflow, run.id, name, ...example)
  // A process without the code takes everything for a signal; only a machine has a place.
  const verb = kind === 'transition' || run.place !== null ? 'trigger' : 'signal'
  return perdure(verb, run.id, name, ...example)
}

/** engine.retry('o-1') → perdure retry o-1. What has no command stays as it is. */
export function asCommand(call: string): string {
  const found = /^engine\.(\w+)\((.*)\)$/.exec(call)
  const verb = found?.[1] ?? ''
  if (!VERBS.has(verb)) return call
  const rest = found?.[2] ?? ''
  const words = [...rest.matchAll(/'((?:[^'\\]|\\.)*)'/g)].map((word) =>
    (word[1] ?? '').replaceAll("\\'", "'"),
  )
  if (verb === 'fork') {
    const [id = '', from] = words
    return perdure('fork', id, ...(from === undefined ? [] : ['--from', from]))
  }
  if (verb === 'cancel' && rest.includes('force: true')) {
    return perdure('cancel', words[0] ?? '', '--force')
  }
  return perdure(verb, ...words)
}

const VERBS = new Set(
  'signal trigger emit cancel retry pause resume fork explain limits'.split(' '),
)

/** One sentence, and what to do. */
export function explained(run: RunInfo, explanation: Explanation, now: number): string[] {
  const since = clock(explanation.since, now)
  const sentence = withClock(explanation.sentence, now)
  const isWaiting = run.status === 'waiting' || run.status === 'pending'
  const told = isWaiting ? sentence.replace(/( \([^)]*\))?\.$/, ` since ${since}$1.`) : sentence
  const offers = run.status === 'waiting' && run.reason === 'signal' ? run.available : []
  const answers = offers.map((offer) => ({ text: 'send it', command: answerCommand(run, offer) }))
  const others = explanation.next
    .filter(({ command }) => offers.length === 0 || !/^engine\.(signal|trigger)\(/.test(command))
    .map(({ text, command }) => ({ text, command: asCommand(command) }))
  const next = [...answers, ...others]
  const width = Math.max(0, ...next.map(({ text }) => text.length)) + 1
  return [told, ...next.map(({ text, command }) => `  ${`${text}:`.padEnd(width)}  ${command}`)]
}

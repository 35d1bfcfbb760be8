// Which runs: the options that `runs`, `watch`, `cancel` and `retry` have in common.

import { type Command, InvalidArgumentError } from 'commander'
import { given, momentOf, type Pairs, pair } from './input.js'
import type { Io } from './io.js'

export interface FilterOptions {
  readonly status?: readonly string[]
  readonly workflow?: string
  readonly reason?: string
  readonly tag?: Pairs
  readonly since?: string
  readonly text?: string
}

const STATUSES = 'pending running waiting completed failed cancelled timed_out'.split(' ')

export function filterable(command: Command): Command {
  return command
    .option('--status <status...>', `one or more of ${STATUSES.join(', ')}`, statuses)
    .option('--workflow <name>', 'of this definition')
    .option('--reason <reason>', 'that wait for this: signal, event, timer, retry, child, slot, …')
    .option('--tag <name=value>', 'with this tag; several: with all of them', pair)
    .option('--since <time>', "created since then: '2h', '7 days', an instant")
    .option('--text <text>', 'with this in their id')
}

function statuses(text: string, before: readonly string[] = []): readonly string[] {
  const all = text.split(',').map((one) => one.replace('-', '_'))
  const wrong = all.find((one) => !STATUSES.includes(one))
  if (wrong !== undefined) throw new InvalidArgumentError(`It is one of ${STATUSES.join(', ')}.`)
  return [...before, ...all]
}

/** As client.list and the routes for many take it. */
export function filterOf(io: Io, options: FilterOptions) {
  const { status, workflow, reason, tag: tags, since, text } = options
  const createdAfter =
    since === undefined ? undefined : momentOf(io, '--since', since).toISOString()
  return given({ status, workflow, reason, tags, createdAfter, text })
}

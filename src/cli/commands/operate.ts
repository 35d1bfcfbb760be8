// perdure cancel, retry, pause, resume, fork. The first two also for many runs, by a filter.

import { PerdureError } from '../../model/errors.js'
import type { Talk } from '../connect.js'
import { EXIT, type Exit } from '../exit.js'
import { type FilterOptions, filterable, filterOf } from '../filter.js'
import { given, type Pairs, pair, parsed, readValue, whole } from '../input.js'
import type { Io } from '../io.js'
import type { AddCommand, Cli, Common } from '../program.js'
import { perdure } from '../show/commands.js'
import { json } from '../show/text.js'
import { talking } from '../talking.js'

interface ManyOptions extends FilterOptions {
  readonly because?: string
  readonly force?: boolean
  readonly dryRun?: boolean
  readonly yes?: boolean
}

export const addOperate: AddCommand = (cli) => {
  addMany(cli, 'cancel')
  addMany(cli, 'retry')
  addOne(cli, 'pause', 'lets a run make no progress until it is resumed')
  addOne(cli, 'resume', 'lets a paused run go on')
  addFork(cli)
}

const DONE = { cancel: 'cancelled', retry: 'retried', pause: 'paused', resume: 'resumed' } as const
type Verb = keyof typeof DONE

function addOne(cli: Cli, verb: 'pause' | 'resume', description: string): void {
  const { io, root, act } = cli
  act(
    root.command(verb).description(description).argument('<run...>'),
    talking<object>(cli, async ({ client }, ids, { json: isJson }) => {
      for (const id of ids) {
        await client[verb](id)
        tell(io, isJson, verb, id)
      }
      return EXIT.done
    }),
  )
}

function addMany(cli: Cli, verb: 'cancel' | 'retry'): void {
  const { io, root, act } = cli
  const what =
    verb === 'cancel'
      ? 'ends runs; what can be undone is undone'
      : 'runs failed runs again from where they failed'
  const command = filterable(root.command(verb).description(what).argument('[run...]'))
    .option('--dry-run', 'says which runs it would be')
    .option('--yes', 'asks nothing')
  if (verb === 'cancel') {
    command
      .option('--because <text>', 'why; kept with the run')
      .option('--force', 'ends them without undoing anything')
  }
  act<ManyOptions>(
    command,
    talking(cli, async (talk, ids, options) => {
      const filter = filterOf(io, options)
      const isFiltered = Object.keys(filter).length > 0
      if (isFiltered === ids.length > 0) throw eitherOr(verb)
      if (isFiltered) return many(talk, io, { verb, filter, options })
      for (const id of ids) {
        if (verb === 'retry') await talk.client.retry(id)
        else await talk.client.cancel(id, options.because, given({ force: options.force }))
        tell(io, options.json, verb, id)
      }
      return EXIT.done
    }),
  )
}

const eitherOr = (verb: string): PerdureError =>
  new PerdureError('OPTION_INVALID', `perdure ${verb} takes the ids of runs, or a filter.`, {
    hint: `perdure ${verb} o-1, or perdure ${verb} --workflow order --status ${verb === 'retry' ? 'failed' : 'waiting'} --dry-run`,
  })

function tell(io: Io, isJson: boolean | undefined, verb: Verb, id: string): void {
  if (isJson) io.out(json({ id, done: DONE[verb] }))
  else io.err(`${id} ${verb === 'cancel' ? 'is to be cancelled' : `is ${DONE[verb]}`}`)
}

interface Answer {
  readonly ids: readonly string[]
  readonly refused: readonly {
    readonly id: string
    readonly code: string
    readonly message: string
  }[]
  readonly isMore: boolean
}

interface Order {
  readonly verb: 'cancel' | 'retry'
  readonly filter: object
  readonly options: ManyOptions & Common
}

async function many(talk: Talk, io: Io, { verb, filter, options }: Order): Promise<Exit> {
  // What is created behind the question is not part of its answer.
  const which = { createdBefore: new Date(io.now() + 1).toISOString(), ...filter }
  const order = async (more: object): Promise<Answer> =>
    (await talk.ask({
      method: 'POST',
      path: `/runs/${verb}`,
      body: { filter: which, ...more },
    })) as Answer
  if (options.dryRun || !options.yes) {
    const { ids, isMore } = await order({ dryRun: true })
    const count = `${ids.length}${isMore ? ' and more' : ''} ${ids.length === 1 ? 'run' : 'runs'}`
    if (options.dryRun) {
      for (const id of ids) io.out(options.json ? json({ id }) : id)
      io.err(`${count} would be ${DONE[verb]}`)
      return EXIT.done
    }
    if (ids.length === 0) {
      io.err('no run is meant')
      return EXIT.done
    }
    if (!(await isSure(io, `${verb} ${count}?`))) return EXIT.setup
  }
  let refusals = 0
  for (let isMore = true; isMore; ) {
    const body = verb === 'cancel' ? given({ reason: options.because, force: options.force }) : {}
    const done = await order(body)
    for (const id of done.ids) tell(io, options.json, verb, id)
    for (const { id, message } of done.refused) io.err(`${id}: ${message}`)
    refusals += done.refused.length
    isMore = done.isMore && done.ids.length > 0
  }
  return refusals > 0 ? EXIT.failed : EXIT.done
}

async function isSure(io: Io, question: string): Promise<boolean> {
  if (!io.canAsk) {
    throw new PerdureError('OPTION_INVALID', `${question} There is nobody to ask.`, {
      hint: 'say --yes, or look first with --dry-run',
    })
  }
  const answer = await io.ask(`${question} (y/n) `, new AbortController().signal)
  return /^y(es)?$/i.test(answer?.trim() ?? '')
}

interface ForkOptions {
  readonly from?: string
  readonly version?: number
  readonly input?: string
  readonly state?: string
  readonly output?: Pairs
  readonly id?: string
}

function addFork(cli: Cli): void {
  const { io, root, act } = cli
  act<ForkOptions>(
    root
      .command('fork')
      .description('makes a new run that goes on from a point of another, and prints its id')
      .argument('<run>')
      .option('--from <step>', 'before the step of that name, or behind the entry of that number')
      .option('--version <number>', 'behind that checkpoint of a machine', whole)
      .option('--input <json>', 'another input')
      .option('--state <json>', 'another state, of a machine')
      .option('--output <step=json>', 'another result of that step; may come several times', pair)
      .option('--id <id>', 'of the new run'),
    talking(cli, async ({ client }, [id = ''], options) => {
      const { from, version } = options
      const outputs =
        options.output &&
        Object.fromEntries(
          Object.entries(options.output).map(([step, text]) => [
            step,
            parsed(`--output ${step}`, text, null),
          ]),
        )
      const fork = await client.fork(
        id,
        given({
          from: from !== undefined && /^\d+$/.test(from) ? Number(from) : from,
          version,
          input: await readValue(io, '--input', options.input),
          state: await readValue(io, '--state', options.state),
          outputs,
          id: options.id,
        }),
      )
      io.out(options.json ? json({ id: fork.id }) : fork.id)
      if (!options.json) io.err(io.paint.dim(`follow it: ${perdure('watch', fork.id)}`))
      return EXIT.done
    }),
  )
}

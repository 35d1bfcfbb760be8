// perdure schedules: list, set, pause, resume, run, backfill, next, delete

import type { Command } from 'commander'
import type { ScheduleInfo } from '../../index.js'
import { didYouMean, PerdureError } from '../../model/errors.js'
import { EXIT } from '../exit.js'
import { given, momentOf, type Pairs, pair, readValue, whole } from '../input.js'
import type { AddCommand, Cli } from '../program.js'
import { perdure } from '../show/commands.js'
import { type Column, json, table } from '../show/text.js'
import { ago, clock, span } from '../show/time.js'
import { talking } from '../talking.js'

interface SetOptions {
  readonly workflow: string
  readonly cron?: string
  readonly every?: string
  readonly at?: string
  readonly timezone?: string
  readonly input?: string
  readonly overlap?: string
  readonly missed?: string
  readonly catchUp?: string
  readonly jitter?: string
  readonly tag?: Pairs
}

export const addSchedules: AddCommand = (cli) => {
  const schedules = cli.root.command('schedules').description('runs that start at certain times')
  addList(cli, schedules)
  addSet(cli, schedules)
  addOthers(cli, schedules)
}

const timesOf = ({ cron, timezone, everyMs, at }: ScheduleInfo, now: number): string => {
  if (cron !== null) return `${cron}${timezone && timezone !== 'UTC' ? ` ${timezone}` : ''}`
  return everyMs === null ? `once ${at ? clock(at, now) : ''}` : `every ${span(everyMs)}`
}

function addList(cli: Cli, schedules: Command): void {
  const { io, act } = cli
  act<object>(
    schedules
      .command('list', { isDefault: true })
      .description('lists schedules')
      .allowExcessArguments(),
    talking(cli, async ({ client }, [unknown], { json: isJson }) => {
      if (unknown !== undefined) throw verbUnknown(unknown, schedules)
      const all: ScheduleInfo[] = []
      for await (const one of client.schedules.list()) {
        if (isJson) io.out(json(one))
        all.push(one)
      }
      if (isJson) return EXIT.done
      if (all.length === 0) io.err('no schedules; perdure schedules set makes one')
      const now = io.now()
      const columns: readonly Column<ScheduleInfo>[] = [
        { head: 'schedule', cell: ({ id }) => id, isFlexible: true },
        { head: 'workflow', cell: ({ workflow }) => workflow, isFlexible: true },
        { head: 'times', cell: (one) => timesOf(one, now) },
        { head: 'next', cell: (one) => nextOf(one, now) },
        { head: 'last run', cell: ({ lastRunId }) => lastRunId ?? '', isFlexible: true },
      ]
      const width = io.isTerminal ? io.width : null
      if (all.length > 0)
        for (const line of table(all, columns, { width, paint: io.paint })) io.out(line)
      return EXIT.done
    }),
  )
}

/** What follows `schedules` and is no command of it comes to the one that needs no word. */
function verbUnknown(word: string, { commands }: Command): PerdureError {
  const names = commands.map((command) => command.name())
  const near = didYouMean(word, names)
  return new PerdureError('OPTION_UNKNOWN', `Unknown command 'schedules ${word}'.`, {
    hint: near ? `did you mean ${near}?` : `it has ${names.join(', ')}`,
  })
}

function nextOf({ isPaused, nextAt }: ScheduleInfo, now: number): string {
  if (isPaused) return 'paused'
  return nextAt === null ? 'none' : `${clock(nextAt, now)} (${ago(nextAt, now)})`
}

function addSet(cli: Cli, schedules: Command): void {
  const { io, act } = cli
  act<SetOptions>(
    schedules
      .command('set')
      .description('makes a schedule, or changes it')
      .argument('<schedule>', 'its id')
      .requiredOption('--workflow <name>', 'what it starts')
      .option('--cron <expression>', "as '0 9 * * 1-5'")
      .option('--timezone <name>', "of the cron expression: 'Europe/Berlin'")
      .option('--every <duration>', "as '15min'")
      .option('--at <instant>', 'once')
      .option('--input <json>', 'of its runs: JSON, @file, or - for stdin')
      .option('--overlap <what>', 'while an earlier run goes on: allow, skip, queue, cancel')
      .option('--missed <what>', 'of times at which no worker was there: skip, once, all')
      .option('--catch-up <duration>', 'missed times that are older are left out')
      .option('--jitter <duration>', 'each run starts up to so much later')
      .option('--tag <name=value>', 'of its runs; may come several times', pair),
    talking(cli, async ({ client }, [id = ''], options) => {
      const {
        workflow,
        cron,
        timezone,
        every,
        overlap,
        missed,
        catchUp,
        jitter,
        tag: tags,
      } = options
      const at = options.at === undefined ? undefined : momentOf(io, '--at', options.at)
      const input = await readValue(io, '--input', options.input)
      const times = { cron, timezone, every, at }
      const set = given({ id, workflow, input, overlap, missed, catchUp, jitter, tags, ...times })
      const info = await client.schedules.set(set as never)
      if (options.json) io.out(json(info))
      else
        io.err(
          `${id} starts ${info.workflow}: ${timesOf(info, io.now())}, next ${nextOf(info, io.now())}`,
        )
      return EXIT.done
    }),
  )
}

function addOthers(cli: Cli, schedules: Command): void {
  const { io, act } = cli
  const one = (verb: string, description: string): Command =>
    schedules.command(verb).description(description).argument('<schedule>')
  const said = (isJson: boolean | undefined, id: string, done: string): typeof EXIT.done => {
    if (isJson) io.out(json({ id, done }))
    else io.err(`${id} is ${done}`)
    return EXIT.done
  }
  for (const verb of ['pause', 'resume', 'delete'] as const) {
    const done = { pause: 'paused', resume: 'resumed', delete: 'deleted' }[verb]
    act<object>(
      one(verb, DESCRIBED[verb]),
      talking(cli, async ({ client }, [id = ''], { json: isJson }) => {
        await client.schedules[verb](id)
        return said(isJson, id, done)
      }),
    )
  }
  act<{ readonly id?: string }>(
    one('run', 'starts one run now, and prints its id').option('--id <id>', 'of the run'),
    talking(cli, async ({ client }, [schedule = ''], { json: isJson, id: asked }) => {
      const { id } = await client.schedules.runNow(schedule, given({ id: asked }))
      io.out(isJson ? json({ id }) : id)
      if (!isJson) io.err(io.paint.dim(`follow it: ${perdure('watch', id)}`))
      return EXIT.done
    }),
  )
  act<{ readonly from: string; readonly to?: string }>(
    one('backfill', 'starts the runs of past times that had none, and prints the ids of all')
      .requiredOption('--from <moment>', "an instant, or how long ago: '7 days'")
      .option('--to <moment>', 'default: now'),
    talking(cli, async ({ client }, [schedule = ''], { json: isJson, from, to }) => {
      const span = {
        from: momentOf(io, '--from', from),
        to: to === undefined ? new Date(io.now()) : momentOf(io, '--to', to),
      }
      const runs = await client.schedules.backfill(schedule, span)
      for (const { id } of runs) io.out(isJson ? json({ id }) : id)
      if (!isJson)
        io.err(`${runs.length} ${runs.length === 1 ? 'time has its run' : 'times have their runs'}`)
      return EXIT.done
    }),
  )
  act<{ readonly count?: number }>(
    one('next', 'prints its next times').option('--count <number>', 'so many', whole),
    talking(cli, async ({ client }, [id = ''], { json: isJson, count }) => {
      for (const at of await client.schedules.next(id, count)) {
        io.out(isJson ? json({ at }) : `${at.toISOString()}  ${clock(at, io.now())}`)
      }
      return EXIT.done
    }),
  )
}

const DESCRIBED = {
  pause: 'lets its times pass until it is resumed',
  resume: 'lets it start runs again',
  delete: 'takes it away; its runs stay',
} as const

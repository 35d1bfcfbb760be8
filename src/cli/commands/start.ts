// perdure start, perdure run

import type { Command } from 'commander'
import type { Talk } from '../connect.js'
import { EXIT } from '../exit.js'
import { follow } from '../follow.js'
import { given, type Pairs, pair, readValue, whole } from '../input.js'
import type { Io } from '../io.js'
import type { AddCommand } from '../program.js'
import { perdure } from '../show/commands.js'
import { json } from '../show/text.js'
import { talking } from '../talking.js'

interface StartOptions {
  readonly input?: string
  readonly id?: string
  readonly tag?: Pairs
  readonly delay?: string
  readonly timeout?: string
  readonly priority?: number
}

const startable = (command: Command): Command =>
  command
    .argument('<workflow>', 'the name of a definition')
    .option('--input <json>', 'its input: JSON, @file, or - for stdin')
    .option('--id <id>', 'of the run; the same again is the same run')
    .option('--tag <name=value>', 'a tag; may come several times', pair)
    .option('--delay <duration>', "begins so much later: '10min'")
    .option('--timeout <duration>', 'may take so long')
    .option('--priority <number>', '0 to 9, higher first', whole)

async function started(talk: Talk, io: Io, name: string, options: StartOptions): Promise<string> {
  const input = await readValue(io, '--input', options.input)
  const { id, tag: tags, delay, timeout, priority } = options
  const start = given({ id, tags, delay, timeout, priority })
  return (await talk.client.start(name, input, start as never)).id
}

export const addStart: AddCommand = (cli) => {
  const { io, root, act } = cli
  const start = startable(root.command('start').description('starts a run and prints its id'))
  act<StartOptions>(
    start,
    talking(cli, async (talk, [name = ''], options) => {
      const id = await started(talk, io, name, options)
      io.out(options.json ? json({ id }) : id)
      if (!options.json) io.err(io.paint.dim(`follow it: ${perdure('watch', id)}`))
      return EXIT.done
    }),
  )
  const run = startable(
    root.command('run').description('starts a run, follows it, and asks for what it waits for'),
  )
  act<StartOptions>(
    run,
    talking(cli, async (talk, [name = ''], options) => {
      const id = await started(talk, io, name, options)
      const isJson = options.json === true
      return follow(talk, io, id, { isJson, say: isJson ? io.out : io.err, asks: true })
    }),
  )
}

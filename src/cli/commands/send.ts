// perdure signal, trigger, send, emit

import { EXIT } from '../exit.js'
import { given, readValue } from '../input.js'
import type { AddCommand, Cli } from '../program.js'
import { aboutOf, wordOf } from '../show/status.js'
import { json } from '../show/text.js'
import { talking } from '../talking.js'

interface Options {
  readonly id?: string
  readonly within?: string
}

const PAYLOAD = 'JSON, @file, or - for stdin'
const ONCE = ['--id <id>', 'of the message; the same again changes nothing'] as const

export const addSend: AddCommand = (cli) => {
  addSignal(cli)
  addTrigger(cli)
  addEvent(cli)
  addEmit(cli)
}

function addSignal(cli: Cli): void {
  const { io, root, act } = cli
  act<Options>(
    root
      .command('signal')
      .description('sends a signal to a run, which keeps it until it takes it')
      .argument('<run>')
      .argument('<name>')
      .argument('[payload]', PAYLOAD)
      .option(...ONCE),
    talking(
      cli,
      async ({ client }, [id = '', name = '', payload], { json: isJson, id: message }) => {
        await client.signal(
          id,
          name,
          await readValue(io, 'the payload', payload),
          given({ id: message }),
        )
        if (isJson) io.out(json({ id, signal: name }))
        else io.err(`sent ${name} to ${id}`)
        return EXIT.done
      },
    ),
  )
}

function addTrigger(cli: Cli): void {
  const { io, root, act } = cli
  act<Options>(
    root
      .command('trigger')
      .description('makes a run take a transition or signal now, or says why it cannot')
      .argument('<run>')
      .argument('<name>')
      .argument('[payload]', PAYLOAD)
      .option(...ONCE)
      .option('--within <duration>', 'waits so long until it can'),
    talking(cli, async ({ client }, [id = '', name = '', payload], options) => {
      const { json: isJson, id: message, within } = options
      const value = await readValue(io, 'the payload', payload)
      const run = await client.trigger(id, name, value, given({ id: message, within }) as object)
      if (isJson) io.out(json(run))
      else
        io.err(
          [`${id} took ${name}`, wordOf(run.status), aboutOf(run, io.now())]
            .filter(Boolean)
            .join(', '),
        )
      return EXIT.done
    }),
  )
}

function addEvent(cli: Cli): void {
  const { io, root, act } = cli
  act<Options>(
    root
      .command('send')
      .description('sends an event to an event machine, which the first one creates')
      .argument('<workflow>')
      .argument('<run>')
      .argument('<event>', 'its type, as ASSIGN')
      .argument('[fields]', `the other fields of the event: ${PAYLOAD}`)
      .option(...ONCE),
    talking(cli, async ({ client }, [workflow = '', id = '', type = '', fields], options) => {
      const more = (await readValue(io, 'the event', fields)) as object | undefined
      const sent = await client.send(workflow, id, { ...more, type }, given({ id: options.id }))
      if (options.json) io.out(json(sent))
      else io.err(`${id} is at ${sent.state}${sent.done ? ', and done' : ''}`)
      return EXIT.done
    }),
  )
}

function addEmit(cli: Cli): void {
  const { io, root, act } = cli
  act<Options>(
    root
      .command('emit')
      .description('tells an event to all runs that wait for it, and to triggers')
      .argument('<event>')
      .argument('[payload]', PAYLOAD)
      .option(...ONCE),
    talking(cli, async ({ client }, [event = '', payload], { json: isJson, id }) => {
      await client.emit(
        event as never,
        (await readValue(io, 'the payload', payload)) as never,
        given({ id }),
      )
      if (isJson) io.out(json({ event }))
      else io.err(`emitted ${event}`)
      return EXIT.done
    }),
  )
}

// The commands of `perdure` and what they have in common. Each is a file in commands/ that adds itself.

import { Command, CommanderError } from 'commander'
import { PerdureError } from '../model/errors.js'
import { VERSION } from '../version.js'
import { EXIT, type Exit, exitOf, printError } from './exit.js'
import type { Io } from './io.js'

/** What every command can be told. */
export interface Common {
  readonly json?: boolean
  readonly verbose?: boolean
  readonly url?: string
  readonly token?: string
  readonly workspace?: string
  readonly database?: string
  readonly schema?: string
}

/** Adds a command. What its action gives is the exit code; nothing is 0. */
export type AddCommand = (cli: Cli) => void

export interface Cli {
  readonly io: Io
  readonly root: Command
  /** `action` of commander, with the exit code remembered and the common options beside the command's own. */
  act<O>(
    command: Command,
    action: (args: readonly string[], options: O & Common) => Promise<Exit | undefined>,
  ): void
}

export async function runCli(
  argv: readonly string[],
  io: Io,
  commands: readonly AddCommand[],
): Promise<Exit> {
  let exit: Exit = EXIT.done
  const root = makeRoot(io)
  const act: Cli['act'] = (command, action) => {
    command.action(async () => {
      exit = (await action(command.args, command.optsWithGlobals())) ?? EXIT.done
    })
  }
  for (const add of commands) add({ io, root, act })
  try {
    await root.parseAsync([...argv], { from: 'user' })
    return exit
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done
    // Without a command the help has been printed.
    if (error instanceof CommanderError && error.code === 'commander.help') return EXIT.setup
    const told = error instanceof CommanderError ? notUnderstood(error) : error
    const { json = argv.includes('--json'), verbose = false } = root.opts<Common>()
    printError(io, told, json, verbose)
    return exitOf(told)
  }
}

function makeRoot(io: Io): Command {
  return new Command('perdure')
    .description('Durable workflows on PostgreSQL.')
    .version(VERSION, '--version', 'the version of this package')
    .option('--json', 'data as JSON, one object for each line')
    .option('--verbose', 'errors with their stack')
    .option('--url <url>', 'the server to talk to (PERDURE_URL)')
    .option('--token <token>', 'its token (PERDURE_TOKEN)')
    .option('--workspace <name>', 'the workspace (PERDURE_WORKSPACE)')
    .option('--database <url>', 'PostgreSQL, without a server (PERDURE_DATABASE_URL, DATABASE_URL)')
    .option('--schema <name>', 'its schema')
    .configureHelp({ subcommandTerm: (command) => command.name(), showGlobalOptions: true })
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.out(text.trimEnd()),
      writeErr: (text) => io.err(text.trimEnd()),
      // Told below, as every other error.
      outputError: () => {},
      getOutHelpWidth: () => Math.min(io.width, 120),
      getErrHelpWidth: () => Math.min(io.width, 120),
    })
}

/** What commander says of a command or an option that is wrong. */
function notUnderstood({ message, code }: CommanderError): PerdureError {
  const [said = '', near] = message.replace(/^error: /, '').split('\n')
  const text = `${said.charAt(0).toUpperCase()}${said.slice(1).replace(/\.$/, '')}.`
  const hint = near ? near.replace(/^\((.*)\)$/, '$1').replace('Did', 'did') : 'perdure --help'
  return new PerdureError(/unknown/i.test(code) ? 'OPTION_UNKNOWN' : 'OPTION_INVALID', text, {
    hint,
  })
}

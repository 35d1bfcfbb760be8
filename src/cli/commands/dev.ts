// perdure dev [folder]

import { bannerLines, FIRST_PROGRAM } from '../banner.js'
import type { Reload } from '../dev.js'
import { EXIT, printError } from '../exit.js'
import { portOf } from '../input.js'
import type { Io } from '../io.js'
import type { AddCommand } from '../program.js'
import { heedSignals, leaveSoon } from '../stopping.js'

interface Given {
  readonly port?: string
  readonly host?: string
  readonly studio?: string
}

export const addDev: AddCommand = ({ io, root, act }) => {
  const command = root
    .command('dev')
    .description('Runs the workflows of a folder: database, worker, API and Studio in one process.')
    .argument('[folder]', 'where the workflows are', '.')
    .option('--port <port>', 'default: PORT, else 4114, or the next that is free')
    .option('--host <address>', 'default: 127.0.0.1')
    .option('--studio <folder>', 'another build of the Studio')
  act<Given>(command, async ([folder = '.'], given) => {
    const { port, host, studio, token, database, schema, verbose } = given
    const stopping = heedSignals()
    const { Dev } = await import('../dev.js')
    const dev = await Dev.open({
      folder,
      port: portOf(port, io.env),
      host,
      studio,
      token,
      tokens: io.env.PERDURE_TOKENS,
      engine: { ...(database && { database }), ...(schema && { schema }) },
      onReload: (news) => tellReload(io, news, verbose ?? false),
    })
    const { project, serving, hasStudio, database: place } = dev
    const { definitions } = project
    const started = { url: serving.url, hasStudio, database: place, definitions }
    for (const line of bannerLines(started)) io.out(line)
    if (definitions.length === 0) for (const line of [...FIRST_PROGRAM, '']) io.out(line)
    io.out('  Ctrl-C stops; runs continue at the next start.')
    io.out(`  ${await stopping.asked}: closing; runs continue at the next start.`)
    await dev.close()
    leaveSoon()
    return EXIT.done
  })
}

/** One line for new code; what is wrong with it, and that the old code goes on. */
export function tellReload(io: Io, news: Reload, isVerbose: boolean): void {
  const what = news.files.join(', ') || 'files'
  if (news.kind === 'reloaded') return io.out(`  ${io.paint.green('↻')} ${what} loaded`)
  printError(io, news.error, false, isVerbose)
  io.err(`  ${what}: not loaded; the code before it goes on`)
}

// perdure serve [folder] and perdure worker [folder]: for production. Any number of each on one PostgreSQL.

import { dirname } from 'node:path'
import { checkPort } from '../../http/port.js'
import { readServeOptions } from '../../http/serve.js'
import { isStudio, STUDIO_FOLDER } from '../../http/studio.js'
import { createEngine, type Engine, type EngineOptions, type Log } from '../../index.js'
import { standardLog } from '../../live-log.js'
import { optionInvalid, PerdureError } from '../../model/errors.js'
import { type Place, placeOf } from '../../reopen.js'
import { announce } from '../address.js'
import { workflowsLine } from '../banner.js'
import { EXIT } from '../exit.js'
import { type Health, serveHealth } from '../health.js'
import type { Io } from '../io.js'
import { listen, portOf, readPort } from '../listen.js'
import type { AddCommand, Common } from '../program.js'
import { configOf, engineOptionsOf, loadProject, type Project } from '../project.js'
import { nothingFound } from '../project-errors.js'
import { warnOfReadable } from '../secrets.js'
import { heedSignals, leaveSoon } from '../stopping.js'
import { ownToken, tokensOf } from '../tokens.js'

interface ServeGiven {
  readonly port?: string
  readonly host?: string
  readonly hosts?: string
  readonly worker?: boolean
  readonly concurrency?: string
  readonly studio?: string
}

const PORT = 4114
const HOST = '127.0.0.1'

export const addServe: AddCommand = ({ io, root, act }) => {
  const command = root
    .command('serve')
    .description('Serves the API and the Studio. Executes nothing, unless --worker.')
    .argument('[folder]', 'where the workflows are', '.')
    .option('--port <port>', 'default: PORT, or 4114')
    .option('--host <address>', 'default: 127.0.0.1; others take tokens (--token, PERDURE_TOKENS)')
    .option('--hosts <names>', 'names that it is called by, commas between (PERDURE_HOSTS)')
    .option('--worker', 'also executes runs')
    .option('--concurrency <count>', 'runs at once, with --worker')
    .option('--studio <folder>', 'another build of the Studio')
  act<ServeGiven>(command, async ([folder = '.'], given) => {
    const { worker = false } = given
    if (given.concurrency !== undefined && !worker) {
      throw optionInvalid(
        '--concurrency',
        'perdure serve',
        given.concurrency,
        'given with --worker',
      )
    }
    const log = logOf(io)
    const stopping = heedSignals()
    const project = await loadProject(folder)
    warnOfReadable(['.env', configOf(project)], log)
    const options = optionsFor(project, given, log, worker)
    const shown = serveOptions(io, project, given, log)
    readServeOptions(shown)
    await checkPort(shown.port, shown.host)
    const place = await placeOf(options)
    if (!worker && place.isEmbedded) throw nobodyExecutes('serve', 'perdure serve --worker')
    const engine = await createEngine(options)
    const serving = await closing(engine, () => listen(engine, shown))
    const { directory } = place
    const address = { url: serving.url, pid: process.pid, ...ownToken(shown.tokens) }
    const withdraw = directory === null ? () => {} : announce(dirname(directory), address)
    log.info(`serving at ${serving.url}`, facts(project, place, { worker }))
    log.info(`${await stopping.asked}: closing`)
    withdraw()
    await serving.close()
    return closed(engine, log)
  })
}

interface WorkerGiven {
  readonly concurrency?: string
  readonly healthPort?: string
  readonly host?: string
}

export const addWorker: AddCommand = ({ io, root, act }) => {
  const command = root
    .command('worker')
    .description('Executes runs. Serves nothing but its health, if asked to.')
    .argument('[folder]', 'where the workflows are', '.')
    .option('--concurrency <count>', 'runs at once')
    .option('--health-port <port>', 'answers /healthz and /readyz there')
    .option('--host <address>', 'of the health port; default: 127.0.0.1')
  act<WorkerGiven>(command, async ([folder = '.'], given) => {
    const log = logOf(io)
    const stopping = heedSignals()
    const project = await loadProject(folder)
    warnOfReadable(['.env', configOf(project)], log)
    if (project.definitions.length === 0 && project.config === null) throw nothingFound(folder)
    const options = optionsFor(project, given, log, true)
    const place = await placeOf(options)
    if (place.isEmbedded) throw nobodyExecutes('worker', 'perdure serve --worker or perdure dev')
    const engine = await createEngine(options)
    const port = readPort(given.healthPort, '--health-port')
    let health: Health | null = null
    if (port !== undefined) {
      health = await closing(engine, () => serveHealth(engine, port, given.host ?? HOST))
    }
    log.info('working', facts(project, place, health ? { healthPort: health.port } : {}))
    log.info(`${await stopping.asked}: closing`)
    // Whoever looks sees the process until it is gone.
    const exit = await closed(engine, log)
    await health?.close()
    return exit
  })
}

type Options = EngineOptions<readonly unknown[]>

function optionsFor(
  project: Project,
  { database, schema, concurrency }: Common & { readonly concurrency?: string },
  log: Log,
  isWorker: boolean,
): Options & { readonly workflows: never[] } {
  const own = engineOptionsOf(project)
  const configured = typeof own.worker === 'object' ? own.worker : {}
  const more = concurrency === undefined ? {} : { concurrency: Number(concurrency) }
  return {
    log,
    ...own,
    ...(database !== undefined && { database }),
    ...(schema !== undefined && { schema }),
    worker: isWorker ? { ...configured, ...more } : false,
    // The types of what a project has are known to nobody here.
    workflows: own.workflows as never[],
  }
}

function serveOptions(io: Io, { serve }: Project, given: ServeGiven & Common, log: Log) {
  const { port, host, hosts = io.env.PERDURE_HOSTS, token, studio = STUDIO_FOLDER } = given
  const tokens = tokensOf(serve.tokens, token, io.env.PERDURE_TOKENS)
  return {
    log,
    ...serve,
    port: portOf(port, io.env) ?? PORT,
    host: host ?? HOST,
    hosts: [...(serve.hosts ?? []), ...(hosts ?? '').split(',').filter(Boolean)],
    ...(tokens && { tokens }),
    ...(isStudio(studio) && { studio }),
  }
}

const facts = ({ definitions }: Project, { description }: Place, more: object): object => ({
  database: description,
  workflows: workflowsLine(definitions),
  ...more,
})

const nobodyExecutes = (command: string, instead: string): PerdureError =>
  new PerdureError(
    'OPTION_INVALID',
    `perdure ${command} has no PostgreSQL, and the embedded database has room for one process only.`,
    { hint: `set DATABASE_URL or give --database; without PostgreSQL: ${instead}` },
  )

async function closing<T, W>(engine: Engine<W>, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await engine.close()
    throw error
  }
}

async function closed<W>(engine: Engine<W>, log: Log) {
  await engine.close()
  log.info('closed')
  leaveSoon()
  return EXIT.done
}

const logOf = ({ env, isTerminal, err }: Io) =>
  standardLog({ env, isTerminal, write: (line) => err(line.trimEnd()) })

// perdure serve: the API and the Studio of a folder, until it is asked to end.

import { dirname } from 'node:path'
import { checkPort } from '../http/port.js'
import { readServeOptions } from '../http/serve.js'
import { isStudio, STUDIO_FOLDER } from '../http/studio.js'
import { createEngine, type Log } from '../index.js'
import { placeOf } from '../reopen.js'
import { announce } from './address.js'
import type { Exit } from './exit.js'
import { portOf } from './input.js'
import type { Io } from './io.js'
import { listen } from './listen.js'
import { closed, closing, facts, HOST, logOf, nobodyExecutes, optionsFor } from './production.js'
import type { Common } from './program.js'
import { configOf, loadProject, type Project } from './project.js'
import { warnOfReadable } from './secrets.js'
import type { Stopping } from './stopping.js'
import { ownToken, tokensOf } from './tokens.js'

export interface ServeGiven {
  readonly port?: string
  readonly host?: string
  readonly hosts?: string
  readonly worker?: boolean
  readonly concurrency?: string
  readonly studio?: string
}

const PORT = 4114

export async function serveFolder(
  io: Io,
  folder: string,
  given: ServeGiven & Common,
  stopping: Stopping,
): Promise<Exit> {
  const { worker = false } = given
  const log = logOf(io)
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

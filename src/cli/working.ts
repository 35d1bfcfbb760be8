// perdure worker: executes the runs of a folder, until it is asked to end.

import { createEngine } from '../index.js'
import { placeOf } from '../reopen.js'
import type { Exit } from './exit.js'
import type { Health } from './health.js'
import { readPort } from './input.js'
import type { Io } from './io.js'
import { closed, closing, facts, HOST, logOf, nobodyExecutes, optionsFor } from './production.js'
import type { Common } from './program.js'
import { configOf, loadProject } from './project.js'
import { nothingFound } from './project-errors.js'
import { warnOfReadable } from './secrets.js'
import type { Stopping } from './stopping.js'

export interface WorkerGiven {
  readonly concurrency?: string
  readonly healthPort?: string
  readonly host?: string
}

export async function workFor(
  io: Io,
  folder: string,
  given: WorkerGiven & Common,
  stopping: Stopping,
): Promise<Exit> {
  const log = logOf(io)
  const port = readPort(given.healthPort, '--health-port')
  const project = await loadProject(folder)
  warnOfReadable(['.env', configOf(project)], log)
  if (project.definitions.length === 0 && project.config === null) throw nothingFound(folder)
  const options = optionsFor(project, given, log, true)
  const place = await placeOf(options)
  if (place.isEmbedded) throw nobodyExecutes('worker', 'perdure serve --worker or perdure dev')
  const engine = await createEngine(options)
  let health: Health | null = null
  if (port !== undefined) {
    const { serveHealth } = await import('./health.js')
    health = await closing(engine, () => serveHealth(engine, port, given.host ?? HOST))
  }
  log.info('working', facts(project, place, health ? { healthPort: health.port } : {}))
  log.info(`${await stopping.asked}: closing`)
  // Whoever looks sees the process until it is gone.
  const exit = await closed(engine, log)
  await health?.close()
  return exit
}

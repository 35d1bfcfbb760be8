// What perdure serve and perdure worker have in common: the engine of a folder, with a log, until it is asked to end.

import type { Engine, EngineOptions, Log } from '../index.js'
import { standardLog } from '../live-log.js'
import { PerdureError } from '../model/errors.js'
import type { Place } from '../reopen.js'
import { workflowsLine } from './banner.js'
import { EXIT, type Exit } from './exit.js'
import type { Io } from './io.js'
import type { Common } from './program.js'
import { engineOptionsOf, type Project } from './project.js'
import { leaveSoon } from './stopping.js'

export const HOST = '127.0.0.1'

type Options = EngineOptions<readonly unknown[]>

/** Of the engine. */
export function optionsFor(
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

/** What the log tells of it. */
export const facts = ({ definitions }: Project, { description }: Place, more: object): object => ({
  database: description,
  workflows: workflowsLine(definitions),
  ...more,
})

export const nobodyExecutes = (command: string, instead: string): PerdureError =>
  new PerdureError(
    'OPTION_INVALID',
    `perdure ${command} has no PostgreSQL, and the embedded database has room for one process only.`,
    { hint: `set DATABASE_URL or give --database; without PostgreSQL: ${instead}` },
  )

/** If `work` fails, nothing is left open. */
export async function closing<T, W>(engine: Engine<W>, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await engine.close()
    throw error
  }
}

export async function closed<W>(engine: Engine<W>, log: Log): Promise<Exit> {
  await engine.close()
  log.info('closed')
  leaveSoon()
  return EXIT.done
}

export const logOf = ({ env, isTerminal, err }: Io) =>
  standardLog({ env, isTerminal, write: (line) => err(line.trimEnd()) })

// perdure dev: the database, a worker, the API and the Studio in one process. When a file of the project changes, an engine
// with the new code takes over on the same database and the same port; the old one ends the steps that it has begun, gives its
// runs back, and they go on with the new code.

import { statSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import type { Serving } from '../http/index.js'
import { checkPort } from '../http/port.js'
import { isStudio, STUDIO_FOLDER } from '../http/studio.js'
import type { Engine, EngineOptions } from '../index.js'
import { PerdureError } from '../model/errors.js'
import { openDatabase, type Reopened } from '../reopen.js'
import { addressIn, announce } from './address.js'
import { listen } from './listen.js'
import { engineOptionsOf, filesIn, loadProject, type Project } from './project.js'
import { ownToken, tokensOf } from './tokens.js'

export interface DevOptions {
  readonly folder: string
  readonly port?: number | undefined
  readonly host?: string | undefined
  /** The folder of a built Studio; default: the package's own, if it is there. */
  readonly studio?: string | undefined
  /** Beside those of the project: as --token and PERDURE_TOKENS say it. */
  readonly token?: string | undefined
  readonly tokens?: string | undefined
  /** Beside those of the project, and before them. */
  readonly engine?: Pick<EngineOptions<unknown>, 'database' | 'schema' | 'worker'>
  /** Called before anything is executed, with an engine that executes nothing. */
  readonly before?: (engine: Engine) => Promise<void>
  /** What happens to the code. */
  readonly onReload?: (news: Reload) => void
}

export type Reload =
  | { readonly kind: 'reloaded'; readonly files: readonly string[]; readonly engine: Engine }
  | { readonly kind: 'kept'; readonly files: readonly string[]; readonly error: unknown }

const LOOK_MS = 150
const HOST = '127.0.0.1'

export class Dev {
  readonly serving: Serving
  readonly database: string
  readonly hasStudio: boolean
  project: Project
  engine: Engine
  private readonly options: DevOptions
  private readonly opened: Reopened
  private readonly leaving = new Set<Promise<void>>()
  private readonly timer: NodeJS.Timeout
  private readonly withdraw: () => void
  private watched: ReadonlyMap<string, string>
  private files: string
  private changed: ReadonlyMap<string, string> | null = null
  private loading: Promise<void> | null = null

  static async open(options: DevOptions): Promise<Dev> {
    const project = await loadProject(options.folder)
    const { port, host } = options
    const tokens = tokensOf(project.serve.tokens, options.token, options.tokens)
    if (port !== undefined) await checkPort(port, host ?? HOST)
    const database = await opening(optionsFor(project, options))
    try {
      await looking(database, project, options)
      const engine = await database.open(optionsFor(project, options))
      const folder = options.studio ?? STUDIO_FOLDER
      const studio = isStudio(folder) ? folder : undefined
      const shown = { ...project.serve, ...(tokens && { tokens }), port, host, studio }
      const serving = await listen(engine, shown).catch(async (error: unknown) => {
        await engine.close()
        throw error
      })
      return new Dev(options, {
        project,
        engine,
        serving,
        database,
        hasStudio: studio !== undefined,
        own: ownToken(tokens),
      })
    } catch (error) {
      await database.close()
      throw error
    }
  }

  private constructor(
    options: DevOptions,
    parts: Pick<Dev, 'project' | 'engine' | 'serving' | 'hasStudio'> & {
      readonly database: Reopened
      /** For the other commands of this machine. */
      readonly own: { readonly token?: string }
    },
  ) {
    const { project, engine, serving, hasStudio, database } = parts
    this.options = options
    this.project = project
    this.engine = engine
    this.serving = serving
    this.hasStudio = hasStudio
    this.opened = database
    this.database = database.description
    const { directory } = database
    const address = { url: serving.url, pid: process.pid, ...parts.own }
    this.withdraw = directory === null ? () => {} : announce(dirname(directory), address)
    this.watched = stamps(project.watched)
    this.files = filesIn(project.folder).join('\n')
    this.timer = setInterval(() => this.look(), LOOK_MS)
  }

  async close(): Promise<void> {
    clearInterval(this.timer)
    await this.loading
    this.withdraw()
    await Promise.all([this.serving.close(), this.engine.close(), ...this.leaving])
    await this.opened.close()
  }

  /** A change counts when it has been the same at two looks: an editor may still be writing. */
  private look(): void {
    if (this.loading !== null) return
    const now = stamps([...this.watched.keys()])
    if (differences(this.watched, now).length === 0) {
      this.changed = null
    } else if (this.changed === null || differences(this.changed, now).length > 0) {
      this.changed = now
    } else {
      this.changed = null
      if (!this.isNews(now)) this.watched = now
      else {
        this.loading = this.reload(now).finally(() => {
          this.loading = null
        })
      }
    }
  }

  /** A file that is in the folder too, but none of the project, is none. */
  private isNews(now: ReadonlyMap<string, string>): boolean {
    if (differences(this.watched, now).some((path) => !isFolder(path))) return true
    return filesIn(this.project.folder).join('\n') !== this.files
  }

  private async reload(now: ReadonlyMap<string, string>): Promise<void> {
    const { folder } = this.project
    const { watched: known, engine: before } = this
    const seen = new Set<string>()
    const files = () =>
      [...differences(known, now), ...[...seen].filter((path) => !known.has(path))]
        .filter((path) => !isFolder(path))
        .map((path) => relative(folder, path))
    try {
      const project = await loadProject(folder, seen)
      this.engine = await this.opened.open(optionsFor(project, this.options))
      this.project = project
      this.serving.use(this.engine)
      const gone = (): void => void this.leaving.delete(left)
      const left = before.close().then(gone, gone)
      this.leaving.add(left)
      this.options.onReload?.({ kind: 'reloaded', files: files(), engine: this.engine })
    } catch (error) {
      this.options.onReload?.({ kind: 'kept', files: files(), error })
    }
    this.files = filesIn(folder).join('\n')
    // What was changed while it was loaded has another stamp now than it had before.
    this.watched = new Map([...stamps([...seen, ...this.project.watched]), ...now])
  }
}

const optionsFor = (project: Project, { engine }: DevOptions) => ({
  ...engineOptionsOf(project),
  ...engine,
})

async function looking(database: Reopened, project: Project, options: DevOptions): Promise<void> {
  if (!options.before) return
  const engine = await database.open({ ...optionsFor(project, options), worker: false })
  await options.before(engine).finally(() => engine.close())
}

/** If another process has the directory, and serves: that address is what is looked for. */
async function opening(options: EngineOptions<readonly unknown[]>): Promise<Reopened> {
  try {
    return await openDatabase(options)
  } catch (error) {
    if (!PerdureError.is(error, 'DATABASE_LOCKED')) throw error
    const { directory } = (error.details ?? {}) as { directory?: string }
    const address = directory === undefined ? null : addressIn(dirname(directory))
    if (!address) throw error
    const { message, details } = error
    const hint = `it serves at ${address.url}: use that, or stop process ${address.pid} first`
    throw new PerdureError('DATABASE_LOCKED', message, { hint, details, cause: error })
  }
}

/** A file by its time and size, a folder by its time: that changes with its entries. */
function stamps(paths: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    paths.map((path) => {
      const stat = statSync(path, { throwIfNoEntry: false })
      return [path, stat ? `${stat.mtimeMs} ${stat.isDirectory() ? '' : stat.size}` : 'gone']
    }),
  )
}

const isFolder = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

const differences = (
  before: ReadonlyMap<string, string>,
  now: ReadonlyMap<string, string>,
): readonly string[] =>
  [...now].filter(([path, stamp]) => before.get(path) !== stamp).map(([path]) => path)

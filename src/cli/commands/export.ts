// perdure export and perdure import: runs as lines of JSON, from one database to another.

import { createReadStream, createWriteStream, renameSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'
import type { Asked } from '../../client/connection.js'
import type { ExportOptions as Which } from '../../tools/export.js'
import { EXIT } from '../exit.js'
import type { Io } from '../io.js'
import { placeOf, workspaceOf } from '../place.js'
import type { AddCommand } from '../program.js'

interface ExportOptions {
  readonly workflow?: string
  readonly out?: string
  readonly copy?: boolean
}

export const addExport: AddCommand = ({ io, root, act }) => {
  const command = root
    .command('export')
    .argument('[runs...]', 'ids; none: all runs of the workspace, or of all workspaces')
    .description('write runs as JSON lines; those that have not ended are paused here')
    .option('--workflow <name>', 'only runs of this definition')
    .option('--out <file>', 'a file instead of stdout')
    .option('--copy', 'to look at: they go on here, and the import pauses them')
  act<ExportOptions>(command, async (ids, options) => {
    const [{ exportRuns, relayRuns }, { serverOf }] = await Promise.all([
      import('../../tools/export.js'),
      import('../connect.js'),
    ])
    const { workflow: definition = null, copy: isCopy = false, out } = options
    const workspace = workspaceOf(io, options)
    const which = { workspace, definition, ids: ids.length > 0 ? ids : null, isCopy }
    const file = out === undefined ? openStdout(io) : openFile(resolve(io.cwd, out))
    try {
      const server = serverOf(io, options)
      const { runs, open, definitions } = await (server
        ? relayRuns(server.lines(asked(which)), file.write)
        : exportRuns(placeOf(io, options), which, file.write))
      await file.close()
      const graphs = definitions > 0 ? ` and ${definitions} stored graphs` : ''
      io.err(`${runs} runs${graphs} written.`)
      if (open > 0 && !isCopy) {
        io.err(
          `  ${open} of them have not ended: they are paused here, and go on where they are imported.`,
        )
      }
      return EXIT.done
    } catch (error) {
      file.drop()
      throw error
    }
  })
}

/** Of the process that has the database to itself. */
export function asked({ workspace, definition, ids, isCopy, isOpenOnly }: Which): Asked {
  const which = {
    ...(definition !== null && { workflow: definition }),
    ...(ids !== null && { ids }),
    ...(isOpenOnly && { unfinished: true }),
    ...(workspace === null && { allWorkspaces: true }),
  }
  return { method: 'POST', path: '/export', body: { copy: isCopy, ...which } }
}

/** Each line is waited for, and throws if nobody reads any more: then nothing must be paused. */
function openStdout(io: Io) {
  const { stdout } = process
  // Heard by whoever writes; without a listener the process would end here.
  const ignore = (): void => {}
  stdout.on('error', ignore)
  return {
    write: (line: string) =>
      new Promise<void>((done, fail) => {
        io.out(line)
        stdout.write('', (error) => (error ? fail(error) : done()))
      }),
    async close() {
      stdout.off('error', ignore)
    },
    drop() {},
  }
}

/** Under another name until it is whole. */
function openFile(path: string) {
  const part = `${path}.part`
  const stream = createWriteStream(part, { flags: 'w', flush: true })
  // Heard by whoever writes next.
  stream.on('error', () => {})
  return {
    write: (line: string) =>
      new Promise<void>((done, fail) => {
        stream.write(`${line}\n`, (error) => (error ? fail(error) : done()))
      }),
    async close() {
      stream.end()
      await finished(stream)
      renameSync(part, path)
    },
    drop() {
      stream.destroy()
      rmSync(part, { force: true })
    },
  }
}

interface ImportOptions {
  readonly skipExisting?: boolean
}

export const addImport: AddCommand = ({ io, root, act }) => {
  const command = root
    .command('import')
    .argument('[file]', 'what export has written; none: stdin')
    .description('take runs into the database, all or none; each goes on at its place')
    .option('--skip-existing', 'leave out runs that are there already')
  act<ImportOptions>(command, async ([file], options) => {
    const { importRuns } = await import('../../tools/import.js')
    const { skipExisting = false } = options
    const done = await importRuns(placeOf(io, options), linesOf(io, file), { skipExisting })
    if (options.json) io.out(JSON.stringify(done))
    else
      io.out(
        `${done.runs} runs imported${done.skipped > 0 ? `, ${done.skipped} were there already` : ''}.`,
      )
    if (done.isCopy)
      io.err(
        '  They are copies: those that have not ended are paused. perdure resume <run> lets one go on.',
      )
    return EXIT.done
  })
}

async function* linesOf({ cwd }: Io, file: string | undefined): AsyncGenerator<string> {
  const input = file === undefined ? process.stdin : createReadStream(resolve(cwd, file))
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }))
    yield line
}

// What tools refuse, and why.

import { listed } from '../engine/moving-errors.js'
import { PerdureError } from '../model/errors.js'

export const runsExist = (ids: readonly string[]): PerdureError =>
  new PerdureError(
    'RUNS_EXIST',
    `The database has runs of this file already: ${listed(ids)}. Nothing was imported.`,
    { hint: 'leave those out: --skip-existing', details: { ids } },
  )

export const graphDiffers = (name: string, version: number): PerdureError =>
  new PerdureError(
    'VERSION_CHANGED',
    `Version ${version} of the graph "${name}" is another one in this database than in the file. Nothing was imported.`,
    { hint: 'import into a database that does not have this graph', details: { version } },
  )

export const databaseOlder = (
  { description }: { readonly description: string },
  schema: string,
  applied: number,
  pending: number,
): PerdureError =>
  new PerdureError(
    'DATABASE_OLDER',
    applied === 0
      ? `The schema "${schema}" of ${description} has no tables of Perdure.`
      : `The schema "${schema}" of ${description} lacks ${pending} migrations of this version.`,
    { hint: 'check --database and --schema, or bring it up to date: perdure migrate' },
  )

export const databaseMissing = (directory: string): PerdureError =>
  new PerdureError('DATABASE_UNAVAILABLE', `There is no database in ${directory}.`, {
    hint: 'say where it is: --database postgres://… or file:<directory>',
  })

export const exportInvalid = (line: number, why: string, cause?: unknown): PerdureError =>
  new PerdureError(
    'EXPORT_INVALID',
    `Line ${line} of the export cannot be read: ${why}. Nothing was imported.`,
    {
      hint: 'give the whole file that `perdure export` of this or an older version has written',
      details: { line },
      ...(cause !== undefined && { cause }),
    },
  )

export const folderTaken = (folder: string, files: readonly string[]): PerdureError =>
  new PerdureError(
    'FOLDER_TAKEN',
    `${folder} has files of that name already: ${files.join(', ')}.`,
    {
      hint: 'name a new folder: perdure init my-workflows',
    },
  )

export const exportCut = (): PerdureError =>
  new PerdureError(
    'SERVER_UNREACHABLE',
    'The export broke off: the server has gone before its end.',
    {
      hint: 'export again; runs that it has paused meanwhile stay paused, and are in the next one',
    },
  )

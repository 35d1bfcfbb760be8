// What is wrong with the files of a project: where, and what to do.

import { PerdureError } from '../model/errors.js'

const invalid = (message: string, hint: string, cause?: unknown): PerdureError =>
  new PerdureError('PROJECT_INVALID', message, { hint, cause })

export const codeBroken = (place: string, what: string, more: number): PerdureError =>
  invalid(
    `${place}: ${what}${more > 0 ? ` (and ${more} more)` : ''}`,
    'mend that line; nothing of the project was loaded',
  )

/** Its own code stays where it has one: a definition that is wrong is wrong in the same words everywhere. */
export function loadFailed(place: string, error: unknown): PerdureError {
  if (PerdureError.is(error)) {
    const { code, message, hint } = error
    return new PerdureError(code, `${place}: ${message}`, { hint, cause: error })
  }
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  const hint = 'it was thrown while the file was loaded: mend it, or do that work inside of a step'
  return invalid(`${place}: ${what}`, hint, error)
}

export const configInvalid = (file: string, what: string): PerdureError =>
  invalid(`${file}: ${what}`, 'write export default { workflows: [order, review] }')

export const nameTwice = (name: string, files: readonly string[]): PerdureError =>
  invalid(
    `Two definitions are called "${name}": in ${files.join(' and in ')}.`,
    'give one of them another name, or do not export it',
  )

export const folderMissing = (folder: string): PerdureError =>
  invalid(
    `There is no folder ${folder}.`,
    'give the folder that has perdure.config.ts or workflows/',
  )

export const nothingFound = (folder: string): PerdureError =>
  invalid(
    `There are no workflows in ${folder}.`,
    'perdure init writes a first one; they are found in perdure.config.ts, workflows/, src/workflows/, *.workflow.ts and *.graph.json',
  )

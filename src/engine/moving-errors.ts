// Why runs cannot be moved now.

import { PerdureError } from '../model/errors.js'

const SHOWN_MAX = 5

export const listed = (ids: readonly string[]): string => {
  const some = ids.slice(0, SHOWN_MAX).join(', ')
  return ids.length > SHOWN_MAX ? `${some} and ${ids.length - SHOWN_MAX} more` : some
}

export const runsBusy = (ids: readonly string[]): PerdureError =>
  new PerdureError(
    'RUNS_BUSY',
    `${ids.length} of these runs cannot be moved now: ${listed(ids)}. A worker has them, or they are being cancelled.`,
    {
      hint: 'stop the workers (or pause these runs) and export again, or look at a copy: --copy',
      details: { ids },
    },
  )

export const mailUnderWay = (): PerdureError =>
  new PerdureError('RUNS_BUSY', 'Events or signals are stored that their runs have not got yet.', {
    hint: 'let a worker run for a few seconds, which hands them over, then stop it and export again',
  })

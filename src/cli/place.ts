// The database that a command works on by itself, without a server.

import { join } from 'node:path'
import type { Place } from '../tools/open.js'
import type { Io } from './io.js'
import type { Common } from './program.js'

/** null: all of them. */
export const workspaceOf = ({ env }: Io, { workspace }: Common): string | null =>
  workspace ?? (env.PERDURE_WORKSPACE || null)

/** Where nothing is said: the embedded database of the folder. */
export function placeOf(io: Io, { database, schema }: Common): Place {
  const { PERDURE_DATABASE_URL, DATABASE_URL } = io.env
  const named = database ?? (PERDURE_DATABASE_URL || DATABASE_URL)
  return { database: named ?? `file:${join(io.cwd, '.perdure/data')}`, schema }
}

// What the engine says when a call is wrong or a run has not ended well: each wording once.

import { didYouMean, PerdureError, shown } from '../model/errors.js'

export { endedBadly } from '../model/errors.js'

export const resultTimedOut = (runId: string, ms: number): PerdureError =>
  new PerdureError('WAIT_TIMED_OUT', `Run ${runId} has not ended within ${ms} ms.`, {
    hint: 'the run goes on: ask again, or wait longer',
    runId,
  })

export const insideTransactionError = (call: string): PerdureError =>
  new PerdureError('INSIDE_TRANSACTION', `engine.${call} was called inside a transaction.`, {
    hint: 'it would not be part of it, and can wait for itself: call it afterwards, or give it { transaction: tx } if it takes that',
  })

export const targetUnknown = (call: string, target: unknown): PerdureError =>
  new PerdureError('DEFINITION_UNKNOWN', `engine.${call} was given ${shown(target)}.`, {
    hint: 'give a workflow, a task, or the name of one',
  })

export const definitionUnknown = (name: string): PerdureError =>
  new PerdureError('DEFINITION_UNKNOWN', `There is no definition "${name}" in this workspace.`, {
    hint: 'engine.graphs.list() says which graphs are stored; a graph of a workspace is that of no other',
  })

export const versionUnknown = (name: string, version: number): PerdureError =>
  new PerdureError('DEFINITION_UNKNOWN', `Graph "${name}" has no version ${version}.`, {
    hint: 'engine.graphs.versions(name) says which there are',
  })

export const definitionArchived = (name: string): PerdureError =>
  new PerdureError('DEFINITION_ARCHIVED', `Graph "${name}" is archived: nothing starts it.`, {
    hint: 'save it again to bring it back; runs of it that are under way go on',
  })

/** `by`: a graph that is stored, or the code of an engine. Whose it is, is nobody else's business. */
export const nameTaken = (name: string, by: 'stored' | 'code'): PerdureError =>
  new PerdureError(
    'NAME_TAKEN',
    by === 'code'
      ? `The name "${name}" is taken by a definition in code.`
      : `The name "${name}" is taken by a stored graph.`,
    { hint: 'names are shared by all workspaces and by code: use another one' },
  )

export const versionChanged = (
  name: string,
  expected: number,
  version: number | null,
): PerdureError => {
  const found = version === null ? 'is not stored' : `is at version ${version}`
  return new PerdureError(
    'VERSION_CHANGED',
    `Graph "${name}" ${found}, and version ${expected} was expected.`,
    {
      hint: 'somebody else has saved it: read it again, and save what you make of that',
      details: { version },
    },
  )
}

export const notHere = (name: string): PerdureError =>
  new PerdureError('DEFINITION_UNKNOWN', `This engine does not have the code of "${name}".`, {
    hint: 'a stateless run happens here and now: add it to the workflows of createEngine',
  })

export const definitionInvalid = (message: string, hint: string): PerdureError =>
  new PerdureError('DEFINITION_INVALID', message, { hint })

export const databaseInvalid = (given: string): PerdureError =>
  new PerdureError('OPTION_INVALID', `Option "database" of createEngine cannot be ${given}.`, {
    hint: "give 'postgres://user@host/name', 'redis://host', 'file:<directory>', 'memory:' or a pg.Pool",
  })

/** What opens a database with SQL was given Redis. */
export const sqlMissing = (): PerdureError =>
  new PerdureError(
    'OPTION_INVALID',
    'Redis as the database has no tables: this needs PostgreSQL or the embedded database.',
    {
      hint: 'ask a running engine instead: its calls, its HTTP API or the Studio',
    },
  )

export const listenInvalid = (): PerdureError =>
  new PerdureError(
    'OPTION_INVALID',
    'Option "listen" of createEngine is no address of PostgreSQL.',
    {
      hint: "give 'postgres://user@host/name' of the server itself, or false",
    },
  )

export const schemaNameInvalid = (value: unknown): PerdureError =>
  new PerdureError('SCHEMA_NAME_INVALID', `${shown(value)} cannot be the name of a schema.`, {
    hint: 'use a small letter or _, then up to 47 of small letters, digits and _',
  })

export const scheduleNotFound = (id: string): PerdureError =>
  new PerdureError('SCHEDULE_NOT_FOUND', `There is no schedule "${id}".`, {
    hint: 'engine.schedules.list() says which there are in this workspace',
  })

export const scheduleIdInvalid = (id: unknown): PerdureError =>
  new PerdureError('ID_INVALID', `${shown(id)} cannot be the id of a schedule.`, {
    hint: 'use 1 to 80 of letters, digits and _ . @ + = -',
  })

export const peerMissing = (name: string, needed: string, cause: unknown): PerdureError =>
  new PerdureError(
    'PEER_MISSING',
    `${needed} needs the package "${name}", which is not installed.`,
    {
      hint: `npm install ${name}`,
      cause,
    },
  )

export const transitionUnavailable = (
  of: {
    readonly id: string
    readonly name: string
    readonly place: string
    readonly isGuarded: boolean
  },
  available: readonly string[],
): PerdureError => {
  const { id, name, place, isGuarded } = of
  const why = isGuarded ? 'its guard says no' : 'it does not leave that place'
  const near = didYouMean(name, available)
  const list =
    available.length > 0 ? `it can take: ${available.join(', ')}` : 'it can take nothing now'
  return new PerdureError(
    'TRANSITION_UNAVAILABLE',
    `Run ${id} is at "${place}" and cannot take '${name}': ${why}.`,
    {
      hint: near && !isGuarded ? `did you mean '${near}'? ${list}` : list,
      runId: id,
      details: { place, available },
    },
  )
}

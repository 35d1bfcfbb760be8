// What a test file needs of the databases of this test run.

import { randomBytes } from 'node:crypto'
import { describe, inject } from 'vitest'
import type { Database, DatabaseName } from './global-setup.js'

export type { Database, DatabaseName }

/** All of them, in the order postgres15, postgres18, pglite, memory, redis; a missing one says why in `skip`. */
export function databases(...names: readonly DatabaseName[]): readonly Database[] {
  const all = inject('databases')
  return names.length === 0 ? all : all.filter(({ name }) => names.includes(name))
}

/** True under `npm test -- --fast`: use fewer seeds and rounds. */
export function isFast(): boolean {
  return inject('fast')
}

/**
 * The same tests on each database. Those of a missing one are reported as skipped, with the reason in the title;
 * their `database.url` is null, so read it inside the tests and hooks and not while they are collected.
 */
export function describeOn(
  names: readonly DatabaseName[],
  title: string,
  body: (database: Database) => void,
): void {
  for (const database of databases(...names)) {
    const full = `${title} on ${database.name}`
    if (database.skip === null) describe(full, () => body(database))
    else describe.skip(`${full} (${database.skip.split('\n', 1)[0]})`, () => body(database))
  }
}

/** A schema name that no other test uses: one server serves the whole run. */
export function freshSchema(): string {
  return `t_${randomBytes(6).toString('hex')}`
}

/** The address, for those that have one. */
export function urlOf(database: Database): string {
  if (database.url === null) throw new Error(`${database.name} has no address`)
  return database.url
}

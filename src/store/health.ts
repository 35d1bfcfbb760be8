// What can be said of a database and of the runs in it, for `doctor`.

import type { Driver } from './driver.js'
import { sqlOf } from './sql.js'
import { numberOf, numberOfOrNull, onlyRow, textOf, textOrNull } from './wire.js'

export interface ServerHealth {
  readonly version: string
  readonly versionNumber: number
  /** Settings that are not `on`, of those that keep what was committed. */
  readonly unsafe: readonly string[]
  readonly connections: number
  /** Without those that are kept for superusers. */
  readonly connectionsMax: number
}

export async function serverHealth(driver: Driver, schema: string): Promise<ServerHealth> {
  const row = onlyRow(await driver.query('read', sqlOf(schema).serverHealth, []))
  const settings = ['fsync', 'synchronous_commit', 'full_page_writes']
  return {
    version: textOf(row, 'version'),
    versionNumber: numberOf(row, 'version_num'),
    unsafe: settings.filter((name) => row[name] === 'off'),
    connections: numberOf(row, 'connections'),
    connectionsMax: numberOf(row, 'connections_max') - numberOf(row, 'connections_reserved'),
  }
}

/** In milliseconds. */
export async function clockOf(driver: Driver, schema: string): Promise<number> {
  return numberOf(onlyRow(await driver.query('read', sqlOf(schema).clock, [])), 'now_ms')
}

export interface RunHealth {
  readonly open: number
  readonly diverged: number
  /** The id of one of them. */
  readonly divergedId: string | null
  /** Due, and no live worker has their code. */
  readonly missing: number
  readonly missingDefinition: string | null
  /** Due, and nobody has taken them. */
  readonly due: number
  /** Since when the oldest of them is. */
  readonly dueSince: number | null
}

export async function runHealth(driver: Driver, schema: string): Promise<RunHealth> {
  const row = onlyRow(await driver.query('read', sqlOf(schema).runHealth, []))
  return {
    open: numberOf(row, 'open'),
    diverged: numberOf(row, 'diverged'),
    divergedId: textOrNull(row, 'diverged_id'),
    missing: numberOf(row, 'missing'),
    missingDefinition: textOrNull(row, 'missing_def'),
    due: numberOf(row, 'due'),
    dueSince: numberOfOrNull(row, 'due_ms'),
  }
}

// An export of a database that nobody else has open, or of PostgreSQL.

import { type ExportOptions, exportLines } from '../engine/export.js'
import type { Line } from '../engine/export-lines.js'
import type { ToolStore } from '../kernel/store.js'
import { isFinal } from '../model/run.js'
import { exportCut } from './errors.js'
import { type Place, withStore } from './open.js'

export type { ExportOptions }

export interface Exported {
  readonly runs: number
  /** Those that have not ended: they are paused now, unless it is a copy. */
  readonly open: number
  readonly definitions: number
}

export function exportRuns(
  place: Place,
  options: ExportOptions,
  write: (line: string) => Promise<void>,
): Promise<Exported> {
  return withStore(place, async (store, { driver }) => {
    if (!options.isCopy) await freeDead(store, driver.kind === 'embedded')
    const tally = new Tally()
    for await (const line of exportLines(store, options)) {
      await write(JSON.stringify(line))
      tally.add(line)
    }
    return tally
  })
}

/** Lines that another process writes. */
export async function relayRuns(
  lines: AsyncIterable<string>,
  write: (line: string) => Promise<void>,
): Promise<Exported> {
  const tally = new Tally()
  for await (const line of lines) {
    await write(line)
    tally.add(JSON.parse(line) as Line)
  }
  if (!tally.isWhole) throw exportCut()
  return tally
}

class Tally implements Exported {
  runs = 0
  open = 0
  definitions = 0
  isWhole = false

  add(line: Line): void {
    if ('definition' in line) this.definitions += 1
    if ('run' in line) {
      this.runs += 1
      if (!isFinal(line.run.status)) this.open += 1
    }
    this.isWhole ||= 'end' in line
  }
}

/** What dead workers had is nobody's. Whoever has the embedded database open is alone: all others are dead. */
async function freeDead(store: ToolStore, isAlone: boolean): Promise<void> {
  const { workers } = await store.reap([], false)
  const dead = new Set(
    (await store.read.workers()).filter((one) => !one.isAlive).map(({ id }) => id),
  )
  const gone = workers.filter(({ id }) => isAlone || dead.has(id))
  if (isAlone)
    for (const { id } of gone) await store.leave({ id, build: '', leaseMs: 0, definitions: [] })
  else if (gone.length > 0) await store.reap(gone, false)
}

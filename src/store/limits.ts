// Limits on SQL: what definitions say, slots, and who has them.

import type {
  LimitedRun,
  LimitReader,
  LimitStore,
  LimitUse,
  LoneStart,
  NamedRules,
  OperatingStore,
  Worker,
} from '../kernel/store.js'
import type { LimitRules, Rate } from '../model/admission.js'
import type { RunId, Uid } from '../model/ids.js'
import { ADMIT_GROUPS_MAX, ADMIT_RUNS_MAX } from '../model/limits.js'
import type { Driver, Row, SqlValue } from './driver.js'
import { withRetries } from './errors.js'
import type { Sql } from './sql.js'
import { claimedOf } from './unpack-answers.js'
import {
  metaText,
  numberOf,
  numberOfOrNull,
  onlyRow,
  pack,
  records,
  textOf,
  textOrNull,
} from './wire.js'

export function sqlLimits(driver: Driver, sql: Sql): LimitStore & Pick<OperatingStore, 'debounce'> {
  return {
    async admit(isSweep, by = null, places = 0) {
      const params = [ADMIT_GROUPS_MAX, ADMIT_RUNS_MAX, isSweep, ...takerParams(by), places]
      const row = onlyRow(await withRetries(() => driver.query('commit', sql.admit, params)))
      return {
        now: numberOf(row, 'now_ms'),
        admitted: numberOf(row, 'admitted'),
        claimed: records(row.claimed).map(claimedOf),
        nextAt: numberOfOrNull(row, 'next_ms'),
        isStart: row.is_start === true,
        isEnd: row.is_end === true,
      }
    },
    async debounce(start, key) {
      const params = [key, ...debounceParams(start)]
      const row = onlyRow(await withRetries(() => driver.query('commit', sql.debounce, params)))
      const uid = textOf(row, 'uid') as Uid
      if (row.kind === 'done') return { kind: 'done', uid, id: textOf(row, 'id') as RunId }
      return { kind: 'exists', uid, definition: textOf(row, 'def'), same: row.is_same === true }
    },
  }
}

function takerParams(by: Worker | null): SqlValue[] {
  const definitions = by?.definitions ?? []
  const names = pack(definitions.map(({ name }) => name))
  return [by?.id ?? null, names, pack(definitions.map(({ version }) => version))]
}

export function sqlLimitReader(
  query: (text: string, params: readonly SqlValue[]) => Promise<readonly Row[]>,
  sql: Sql,
): LimitReader {
  return {
    async limitRules() {
      return (await query(sql.limitRules, [])).map(rulesOf)
    },
    async limitUse() {
      return (await query(sql.limitUse, [])).map((row) => ({
        kind: textOf(row, 'kind') as LimitUse['kind'],
        definition: textOf(row, 'def'),
        name: textOf(row, 'name'),
        used: numberOf(row, 'used'),
        asking: numberOf(row, 'asking'),
      }))
    },
    async holders({ definition, workspace, key }, atMost) {
      return (await query(sql.holders, [definition, workspace, key, atMost])).map(limitedOf)
    },
    async askers({ definition, workspace, key }, atMost) {
      return (await query(sql.askers, [definition, workspace, key, atMost])).map(limitedOf)
    },
  }
}

function limitedOf(row: Row): LimitedRun {
  return {
    id: textOf(row, 'id') as RunId,
    workspace: textOf(row, 'workspace'),
    definition: textOf(row, 'def'),
    since: numberOf(row, 'since'),
  }
}

function debounceParams({ run, meta }: LoneStart): SqlValue[] {
  const names = [run.workspace, run.id, run.definition, run.version, JSON.stringify(run.tags)]
  const counted = [run.limits?.workspace ?? null, run.limits?.key ?? null]
  const times = [run.priority, run.delayMs, run.timeoutMs]
  return [run.uid, ...times, ...names, metaText(meta), run.input, ...counted]
}

/** What join_v2 is told: the names of all definitions, and the limits of those that have some. */
export function limitParams({ definitions }: Worker): SqlValue[] {
  const own = definitions.filter(({ isStored }) => !isStored)
  const limited = own.flatMap(({ name, limits }) => (limits ? [limitRow(name, limits)] : []))
  return [pack(own.map(({ name }) => name)), JSON.stringify(limited)]
}

/** As join_v2 and save_definition_v1 read it. */
export function limitRow(name: string, limits: LimitRules): readonly (string | number | null)[] {
  const { concurrency, perWorkspace, perKey, keyPath, rate, keyRate } = limits
  const rates = [rate?.runs, rate?.perMs, keyRate?.runs, keyRate?.perMs]
  return [name, concurrency, perWorkspace, perKey, keyPath, ...rates.map((one) => one ?? null)]
}

function rulesOf(row: Row): NamedRules {
  return {
    definition: textOf(row, 'def'),
    concurrency: numberOfOrNull(row, 'concurrency'),
    perWorkspace: numberOfOrNull(row, 'per_workspace'),
    perKey: numberOfOrNull(row, 'per_key'),
    keyPath: textOrNull(row, 'key_path'),
    rate: rateOf(row, 'rate'),
    keyRate: rateOf(row, 'key_rate'),
  }
}

function rateOf(row: Row, name: string): Rate | null {
  const runs = numberOfOrNull(row, `${name}_runs`)
  return runs === null ? null : { runs, perMs: numberOf(row, `${name}_ms`) }
}

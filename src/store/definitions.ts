// Stored definitions on SQL.

import type {
  DefinitionStore,
  DefinitionVersion,
  NewDefinition,
  NewSchedule,
  Saved,
  StoredDefinition,
  VersionNote,
} from '../kernel/store.js'
import type { Row, SqlValue } from './driver.js'
import { limitRow } from './limits.js'
import type { Sql } from './sql.js'
import { list, numberOf, onlyRow, pack, textOf, textOrNull } from './wire.js'

type Query = (text: string, params: readonly SqlValue[]) => Promise<readonly Row[]>

const NEWEST = 2_000_000_000

export function sqlDefinitions(sql: Sql, write: Query): DefinitionStore {
  return {
    async saveDefinition(definition) {
      return savedOf(onlyRow(await write(sql.saveDefinition, saveParams(definition))))
    },
    async archiveDefinition(name, workspace) {
      return onlyRow(await write(sql.archiveDefinition, [name, workspace])).done === true
    },
    async definition(name) {
      const [row] = await write(sql.definitions, [name, null, '', 1])
      return row ? storedOf(row) : null
    },
    async definitions({ workspace, after, limit }) {
      return (await write(sql.definitions, [null, workspace, after ?? '', limit])).map(storedOf)
    },
    async definitionTexts(versions) {
      if (versions.length === 0) return []
      const names = pack(versions.map(({ name }) => name))
      const numbers = list(versions.map(({ version }) => version))
      return (await write(sql.definitionTexts, [names, numbers])).map((row) => ({
        name: textOf(row, 'name'),
        json: textOf(row, 'json'),
        ...noteOf(row),
      }))
    },
    async definitionVersions(name, before, limit) {
      return (await write(sql.definitionVersions, [name, before ?? NEWEST, limit])).map(noteOf)
    },
    async usedDefinitions() {
      const row = onlyRow(await write(sql.usedDefinitions, []))
      return { revision: numberOf(row, 'revision'), used: usedOf(textOrNull(row, 'used')) }
    },
  }
}

function saveParams(definition: NewDefinition): SqlValue[] {
  const { name, workspace, json, note, author, expected, limits, schedules, events } = definition
  const subscriptions = events.map(({ event, match, timeoutMs }, no) => {
    return [name, no, event, match, timeoutMs]
  })
  const rows = [limits ? [limitRow(name, limits)] : [], schedules.map(scheduleRow), subscriptions]
  return [name, workspace, json, note, expected, ...rows.map((one) => JSON.stringify(one)), author]
}

function scheduleRow({ workspace, id, spec, plan, input, next }: NewSchedule) {
  const texts = [workspace, id, JSON.stringify(spec), JSON.stringify(plan), input]
  return [...texts, next?.slot ?? null, next?.at ?? null]
}

function savedOf(row: Row): Saved {
  const kind = textOf(row, 'kind') as Saved['kind']
  if (kind === 'taken' || kind === 'code') return { kind }
  if (kind === 'changed')
    return { kind, version: row.version === null ? null : Number(row.version) }
  return { kind, version: numberOf(row, 'version') }
}

function storedOf(row: Row): StoredDefinition {
  return {
    name: textOf(row, 'name'),
    workspace: textOrNull(row, 'workspace'),
    version: numberOf(row, 'version'),
    isArchived: row.is_archived === true,
    createdAt: numberOf(row, 'created_at'),
    updatedAt: numberOf(row, 'updated_at'),
  }
}

function noteOf(row: Row): VersionNote {
  return {
    version: numberOf(row, 'version'),
    note: textOrNull(row, 'note'),
    author: textOrNull(row, 'author'),
    createdAt: numberOf(row, 'created_at'),
  }
}

/** Names have neither a space nor a #. */
function usedOf(text: string | null): readonly DefinitionVersion[] {
  if (text === null) return []
  return text.split(' ').map((one) => {
    const at = one.indexOf('#')
    return { name: one.slice(0, at), version: Number(one.slice(at + 1)) }
  })
}

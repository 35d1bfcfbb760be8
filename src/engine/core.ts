// What every call of the engine works with, and the checks that come before all others.

import { type EventSchemasGiven, type Made, madeOf, refName } from '../authoring/definition.js'
import type { Log } from '../authoring/types.js'
import type { Address, Kernel } from '../kernel/api.js'
import { insideTransaction } from '../kernel/inside.js'
import type { Client, StoredDefinition, ToolStore } from '../kernel/store.js'
import type { ByRun } from '../model/by-run.js'
import type { ErrorClasses } from '../model/error-shape.js'
import {
  engineClosed,
  idInvalid,
  nameInvalid,
  optionInvalid,
  PerdureError,
  shown,
} from '../model/errors.js'
import {
  DEFINITION_NAME,
  isStepName,
  isTriggersId,
  type MessageId,
  RUN_ID,
  type RunId,
  WORKSPACE_NAME,
} from '../model/ids.js'
import type { HttpOptions } from './engine-options.js'
import { insideTransactionError, targetUnknown } from './errors.js'
import type { Following } from './following.js'
import { clientIn } from './foreign-client.js'
import type { Stateless } from './stateless.js'
import type { StoredGraphs } from './stored-graphs.js'
import type { EngineInfo, NodeTypeInfo } from './system-types.js'

export const DEFAULT_WORKSPACE = 'default'

export interface Core {
  readonly kernel: Kernel
  readonly stateless: Stateless
  readonly log: Log
  readonly valueBytesMax: number
  /** By name. */
  readonly definitions: ReadonlyMap<string, Made>
  readonly events: EventSchemasGiven
  /** Graphs that are not code. */
  readonly stored: StoredGraphs
  /** The names of types of nodes that users have registered. */
  readonly nodeTypes: ReadonlySet<string>
  /** All types of nodes, for people. */
  paletteOf(): readonly NodeTypeInfo[]
  readonly about: EngineInfo
  /** Classes whose errors come back as themselves. */
  readonly errors: ErrorClasses
  /** Of the option http: for webhooks that are signed. */
  readonly secrets: HttpOptions['secrets']
  /** Runs that events were sent to, and what they are of. */
  readonly sentTo: ByRun<string>
  /** Tells other processes that stored graphs have changed. */
  publishSaved(): void
  readonly following: Following
  /** For what moves runs: past the kernel. */
  readonly tools: ToolStore
  isClosed(): boolean
}

/** What a call named: a definition that is known here, or only its name. */
export interface Found {
  readonly name: string
  readonly made: Made | null
  /** Of one that is stored. */
  readonly head?: StoredDefinition
}

export function found(core: Core, call: string, target: unknown): Found {
  const made = madeOf(target)
  if (made) return { name: made.name, made }
  const name = refName(target) ?? target
  if (typeof name !== 'string' || !DEFINITION_NAME.test(name)) throw targetUnknown(call, target)
  return { name, made: core.definitions.get(name) ?? null }
}

export function beforeRead(core: Core): void {
  if (core.isClosed()) throw engineClosed()
}

/**
 * A write made inside an open transaction would wait for a connection that it holds, or would not be part of it; unless it
 * names that transaction.
 */
export function beforeWrite(core: Core, call: string, within: Client | null = null): void {
  beforeRead(core)
  if (within === null && insideTransaction()) throw insideTransactionError(call)
}

/** A client of the caller, inside a transaction. */
export function transactionOf(given: unknown, where: string): Client | null {
  if (given === undefined) return null
  const client = clientIn(given)
  if (client) return client
  const expected = 'a client inside a transaction: of pg, Kysely, Drizzle or TypeORM'
  throw optionInvalid('transaction', where, given, expected)
}

export function addressOf(workspace: string, id: unknown): Address {
  return { workspace, id: runIdOf(id) }
}

export function runIdOf(id: unknown): RunId {
  if (typeof id !== 'string' || !RUN_ID.test(id)) throw idInvalid(id)
  return id as RunId
}

/** Of a run that is to be started: those of triggers are made by the engine alone. */
export function newRunId(id: unknown): RunId {
  const checked = runIdOf(id)
  if (!isTriggersId(checked)) return checked
  throw new PerdureError('ID_INVALID', `${shown(id)} cannot be the id of a run that you start.`, {
    hint: 'cron:, event: and webhook: begin the ids of runs that start by themselves; use another beginning',
  })
}

export function workspaceOf(name: unknown): string {
  if (typeof name !== 'string' || !WORKSPACE_NAME.test(name)) {
    throw new PerdureError('NAME_INVALID', `${shown(name)} cannot be the name of a workspace.`, {
      hint: 'use 1 to 128 of letters, digits and _ . : @ + = -',
    })
  }
  return name
}

export function messageIdOf(id: unknown): MessageId | null {
  if (id === undefined) return null
  if (isStepName(id)) return id as MessageId
  throw new PerdureError('ID_INVALID', `${shown(id)} cannot be the id of a message.`, {
    hint: 'use a text of 1 to 256 bytes without control characters and without spaces at its ends',
  })
}

export function signalNameOf(name: unknown): string {
  if (!isStepName(name)) throw nameInvalid('signal', name)
  return name
}

export function readFlag(flag: unknown, option: string, where: string): boolean {
  if (flag === undefined || typeof flag === 'boolean') return flag ?? false
  throw optionInvalid(option, where, flag, 'true or false')
}

// The store port for definitions that are stored and not code. Part of store.ts.
//
// What a definition says is a text to the store; who reads it makes a Program of it. Versions are 1..n, append only.

import type { LimitRules } from '../model/admission.js'
import type { Instant } from '../model/run.js'
import type { NewSchedule, Subscriptions } from './store-schedules.js'

export interface DefinitionStore {
  /**
   * A new version, which is the current one from then on, with what it says of limits and triggers: all of it or nothing. The
   * text of the current version again is no new one. `taken`: the name belongs to another workspace, or to all of them;
   * `code`: a live worker has code of that name; `changed`: another version than `expected` is the current one.
   */
  saveDefinition(definition: NewDefinition): Promise<Saved>
  /**
   * Nothing starts it any more, until it is saved again: its triggers are gone, other schedules of it are paused. Its runs go
   * on. false: there is none in that workspace.
   */
  archiveDefinition(name: string, workspace: string | null): Promise<boolean>
  definition(name: string): Promise<StoredDefinition | null>
  /** In the order of their names, without those of other workspaces. */
  definitions(page: DefinitionPage): Promise<readonly StoredDefinition[]>
  /** Those of them that there are, in any order. */
  definitionTexts(versions: readonly DefinitionVersion[]): Promise<readonly DefinitionText[]>
  /** Newest first; `before`: older than that one. */
  definitionVersions(
    name: string,
    before: number | null,
    limit: number,
  ): Promise<readonly VersionNote[]>
  /** Cheap: asked once a second. `revision` grows with every change; `used`: what unfinished runs are of. */
  usedDefinitions(): Promise<{
    readonly revision: number
    readonly used: readonly DefinitionVersion[]
  }>
}

export interface DefinitionVersion {
  readonly name: string
  readonly version: number
}

export interface NewDefinition {
  readonly name: string
  /** null: for all of them. */
  readonly workspace: string | null
  readonly json: string
  readonly note: string | null
  /** Who saves it. */
  readonly author: string | null
  /** 0: there must be none; null: whatever is the current one. */
  readonly expected: number | null
  readonly limits: LimitRules | null
  readonly schedules: readonly NewSchedule[]
  readonly events: Subscriptions['to']
}

export type Saved =
  | { readonly kind: 'saved' | 'same'; readonly version: number }
  /** null: there is none. */
  | { readonly kind: 'changed'; readonly version: number | null }
  | { readonly kind: 'taken' | 'code' }

export interface StoredDefinition extends DefinitionVersion {
  readonly workspace: string | null
  readonly isArchived: boolean
  readonly createdAt: Instant
  readonly updatedAt: Instant
}

export interface DefinitionPage {
  /** null: of every workspace. */
  readonly workspace: string | null
  readonly after: string | null
  readonly limit: number
}

export interface VersionNote {
  readonly version: number
  readonly note: string | null
  readonly author: string | null
  readonly createdAt: Instant
}

export interface DefinitionText extends DefinitionVersion, VersionNote {
  readonly json: string
}

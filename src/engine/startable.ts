// What a call to start something names: a definition of the code, a stored graph, or a name that others may know.

import { insideTransaction } from '../kernel/inside.js'
import type { Client } from '../kernel/store.js'
import { optionInvalid } from '../model/errors.js'
import { type Core, type Found, found } from './core.js'
import { definitionArchived, definitionUnknown, versionUnknown } from './errors.js'

export interface Named {
  readonly call: string
  readonly target: unknown
  /** Of a stored graph; undefined: the current one. */
  readonly version?: unknown
  readonly within?: Client | null
}

export async function startable(core: Core, named: Named): Promise<Found> {
  const { call, target, version, within = null } = named
  const known = found(core, call, target)
  const { name } = known
  const where = `engine.${call}("${name}")`
  const isNumber = Number.isInteger(version) && Number(version) > 0
  if (version !== undefined && !isNumber) {
    throw optionInvalid('version', where, version, 'the number of a version of a stored graph')
  }
  if (known.made === null) {
    // Inside a transaction there may be no other connection to ask through.
    const isInside = within !== null || insideTransaction()
    const head = isInside ? core.stored.head(name) : await core.stored.lookUp(name)
    if (head && !isInside) {
      const asked = Number(version ?? head.version)
      const made = await core.stored.need({ name, version: asked })
      if (made === null && asked !== head.version) throw versionUnknown(name, asked)
      return { name, made, head }
    }
    if (head && version === undefined) {
      return { name, made: core.stored.current(name) ?? null, head }
    }
  }
  if (version === undefined) return known
  throw optionInvalid('version', where, version, 'left out, except for a stored graph')
}

/** A graph of a workspace is that of no other, and what is archived starts no more. */
export function refuseStart({ head }: Found, workspace: string): void {
  if (!head) return
  const isForeign = head.workspace !== null && head.workspace !== workspace
  if (isForeign) throw definitionUnknown(head.name)
  if (head.isArchived) throw definitionArchived(head.name)
}

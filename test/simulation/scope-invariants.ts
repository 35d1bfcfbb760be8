// What must be true of scopes, races, loops and undo.

import { isDeepStrictEqual } from 'node:util'
import { readScript, type Script } from '../../src/kernel/replay.js'
import { type Entry, isFinal } from '../../src/model/run.js'
import type { MemoryRun } from '../../src/store/memory.js'
import { neededOf } from '../../src/store/memory-run.js'
import { insideOf, isUndo, openUndos, withoutForgotten } from './fold.js'
import type { Dispatch } from './programs.js'
import type { World } from './world.js'

type Fail = (number: number | string, message: string) => void

/** Entries that tell of something happening inside a scope; a step whose question is written late does not. */
const LATE_ALLOWED = new Set<Entry['kind']>(['step.asked', 'mark'])

const LEAVES_OUT = new Set<Entry['kind']>(['round.ended', 'run.reopened'])

export function checkScopes(world: World, row: MemoryRun, from: number, fail: Fail): void {
  const added = row.journal.slice(from)
  for (const entry of added) {
    if (entry.kind === 'scope.ended') scopeEnded(world, row, entry, fail)
    if (entry.kind === 'round.ended') nothingLeft(world, row, entry, fail)
    if (entry.kind.startsWith('undo.')) undone(row, entry, fail)
    insideWhatIsOver(row, entry, fail)
  }
  const isAtRest = row.owner === null && !isFinal(row.status)
  // What is left out changes with these; and at rest it will be loaded.
  if (added.some(({ kind }) => LEAVES_OUT.has(kind)) || (isAtRest && added.length > 0))
    saysTheSame(row, fail)
  const open = isAtRest ? openUndos(row.journal) : []
  if (isAtRest && row.undoOpen !== open.length) {
    fail('undo', `${row.uid} says ${row.undoOpen} undos are open, its journal ${open.join(', ')}`)
  }
}

/** What is left out when a run is loaded changes nothing of what its history says. */
function saysTheSame(row: MemoryRun, fail: Fail): void {
  const loaded = neededOf(row)
  if (loaded.length === row.journal.length) return
  const [all, some] = [row.journal, loaded].map(readScript)
  // Loops inside rounds that are behind are not asked for again.
  const said = ({ rounds, ...script }: Script) => ({ ...script, rounds: outermost(rounds) })
  if (all && some && !isDeepStrictEqual(said(all), said(some)))
    fail('load', `${row.uid} loaded with ${loaded.length} of ${row.journal.length} entries differs`)
}

function outermost(rounds: Script['rounds']): Script['rounds'] {
  const isBehind = (key: string): boolean =>
    [...rounds].some(([loop, last]) => {
      const [, number] = key.startsWith(`${loop}@`) ? key.slice(loop.length).split(/[@/]/) : []
      return Number(number) <= last
    })
  return new Map([...rounds].filter(([key]) => !isBehind(key)))
}

function scopeEnded(world: World, row: MemoryRun, entry: Entry, fail: Fail): void {
  nothingLeft(world, row, entry, fail)
  const before = openUndos(row.journal.slice(0, entry.seq))
  const inside = insideOf(entry)
  const winner = winnerOf(entry)
  const kept = winner === null ? null : `undo:${inside}${winner}/`
  if (entry.meta?.status !== 'failed' && kept === null) return
  for (const name of before) {
    if (!isUndoIn(entry, name) || (kept && name.startsWith(kept))) continue
    fail('undo', `"${inside}" of ${row.uid} has ended without ${name}`)
  }
}

/** An undo of something that was done in the scope that `end` tells of; a loop ends with its last round. */
function isUndoIn(end: Entry, name: string): boolean {
  const inside = `undo:${insideOf(end)}`
  return name.startsWith(inside) || name.startsWith(`${inside.slice(0, -1)}@`)
}

/** The branch that a race that ended well was decided by. */
function winnerOf({ name, meta, payload }: Entry): string | null {
  if (!name.endsWith('-race') || meta?.status === 'failed') return null
  return (JSON.parse(payload ?? 'null') as { readonly winner: string }).winner
}

function nothingLeft(world: World, row: MemoryRun, entry: Entry, fail: Fail): void {
  const inside = insideOf(entry)
  for (const { uid, name, signal, life } of world.running) {
    if (uid !== row.uid || !life.alive || !name.startsWith(inside) || signal.aborted) continue
    const owner = world.processes.find((process) => process.life === life)?.host?.lease.worker.id
    if (owner === row.owner) fail('scope', `${name} of ${uid} runs, and "${inside}" is over`)
  }
  const ended = new Set(
    row.journal.flatMap((e) => (e.kind === 'child.ended' ? [e.meta?.uid ?? ''] : [])),
  )
  for (const { kind, name, seq, meta } of row.journal) {
    if (kind !== 'child.started' || !name.startsWith(inside) || seq > entry.seq) continue
    const child = meta?.uid ? world.memory.runs.get(meta.uid) : undefined
    if (!child || ended.has(child.uid) || isFinal(child.status)) continue
    if (!child.messages.some((message) => message.kind === 'cancel'))
      fail('scope', `"${inside}" of ${row.uid} is over, and nobody told ${child.uid}`)
  }
}

/** W1: what is over says nothing any more. */
function insideWhatIsOver(row: MemoryRun, entry: Entry, fail: Fail): void {
  if (LATE_ALLOWED.has(entry.kind) || isUndo(entry.name) || !entry.name.includes('/')) return
  for (const end of withoutForgotten(row.journal, entry.seq)) {
    const isEnd = end.kind === 'scope.ended' || end.kind === 'round.ended'
    if (isEnd && entry.name.startsWith(insideOf(end)))
      fail('scope', `${entry.kind} of ${entry.name} (${row.uid}) behind the end of its scope`)
  }
}

/** What is undone was done, and not in a round that had ended. */
function undone(row: MemoryRun, entry: Entry, fail: Fail): void {
  const open = openUndos(row.journal.slice(0, entry.seq - 1))
  if (!open.includes(entry.name)) fail('undo', `${entry.name} of ${row.uid} was not open`)
}

/** An undo begins: everything newer that belongs with it has been undone. */
export function checkUndoOrder(world: World, row: MemoryRun, undo: Dispatch, fail: Fail): void {
  const { journal, uid } = row
  if (!isUndo(undo.name) || journal.some(({ name }) => name === undo.name)) return
  const open = openUndos(journal)
  const at = open.indexOf(undo.name)
  if (at < 0) return fail('undo', `${undo.name} of ${uid} is executed and not open`)
  const stopping = journal.find(({ kind }) => kind === 'run.stopping')
  for (const newer of open.slice(at + 1)) {
    if (stopping || folderOf(newer) === folderOf(undo.name))
      fail('undo', `${undo.name} of ${uid} is executed before ${newer}`)
  }
  if (!stopping) return
  for (const child of world.memory.runs.values()) {
    // Re-opened by hand after its parent had heard of its failure: it is on its own.
    if (child.run.parent?.uid !== uid || isFinal(child.status) || child.attempt > 1) continue
    const told = child.messages.find((message) => message.kind === 'cancel')
    if (told?.meta?.reason?.endsWith('is stopping'))
      fail('undo', `${undo.name} of ${uid} is executed while ${child.uid} runs`)
  }
}

const folderOf = (name: string): string => name.slice(0, name.lastIndexOf('/') + 1)

/** Where nothing goes wrong: what a step with an undo did in a scope that failed is recorded, and so it is undone. */
export function checkRecorded(world: World, fail: Fail): void {
  const { faults, closes, split } = world.options
  const { busy, slow, hintsLost, hintsDoubled, ...harmful } = faults
  if (closes > 0 || split || Object.values(harmful).some((often) => often > 0)) return
  // A clock that was ahead: the run has begun again from its journal, and what was running is out of it.
  if (world.counters['answer.early'] > 0) return
  for (const { uid, name, occurrence } of world.done) {
    const journal = world.memory.runs.get(uid as MemoryRun['uid'])?.journal ?? []
    const isSame = (entry: Entry): boolean => entry.name === name && entry.occurrence === occurrence
    const end = journal.find((entry) => isEndAround(entry, name))
    if (!end || journal.some((entry) => entry.kind === 'step.completed' && isSame(entry))) continue
    const winner = winnerOf(end)
    const isLost = winner !== null && !name.startsWith(`${insideOf(end)}${winner}/`)
    if (isLost || end.meta?.status === 'failed')
      fail('undo', `${name} of ${uid} was done in "${insideOf(end)}" and is not recorded`)
  }
}

/** The innermost scope ends first. */
function isEndAround(entry: Entry, name: string): boolean {
  const isEnd = entry.kind === 'scope.ended' || entry.kind === 'round.ended'
  return isEnd && (name.startsWith(insideOf(entry)) || isUndoIn(entry, `undo:${name}`))
}

/** When a run is over: all of it undone, or nothing but failed scopes and losers of races. */
export function checkUndone(row: MemoryRun, fail: Fail): void {
  const { journal, uid } = row
  const end = journal.at(-1)
  const counts = new Map<string, number>()
  for (const { kind, name } of journal) {
    if (kind === 'undo.completed') counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  for (const [name, count] of counts) {
    if (count > 1) fail('undo', `${name} of ${uid} is recorded ${count} times`)
  }
  if (row.status === 'completed') {
    const ends = journal.filter(({ kind }) => kind === 'scope.ended')
    for (const name of counts.keys()) {
      const isMeant = ends.some((scope) => {
        if (!isUndoIn(scope, name)) return false
        const winner = winnerOf(scope)
        const kept = `undo:${insideOf(scope)}${winner}/`
        return scope.meta?.status === 'failed' || (winner && !name.startsWith(kept))
      })
      if (!isMeant) fail('undo', `${uid} has completed, and ${name} is recorded`)
    }
    return
  }
  const text = end?.payload ?? ''
  if (text.includes('UNDO_FAILED') || text.includes('WORKER_CRASHED')) return
  const open = openUndos(journal)
  if (open.length > 0)
    fail('undo', `${uid} ended ${row.status} without ${open.join(', ')}: ${text}`)
}

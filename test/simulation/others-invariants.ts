// What must be true of triggers, events and waits for them when everything is over.

import type { RunId } from '../../src/model/ids.js'
import type { MemoryRun } from '../../src/store/memory.js'
import type { Clients } from './clients.js'
import type { World } from './world.js'

/** Owners' clocks drift. */
const CLOCK_MS = 5_000

type Fail = (number: number | string, message: string) => void

export function checkOthers(world: World, clients: Clients, fail: Fail): void {
  const { memory } = world
  for (const { id, messageId, fate } of clients.triggered) {
    const row = memory.find('default', id)
    const message = row?.messages.find((one) => one.id === messageId)
    const taken = row?.journal.filter(
      ({ kind, meta }) => kind === 'message.taken' && meta?.id === messageId,
    ).length
    // It came while the run was over, and the run was re-opened.
    const isReopened = row?.journal.some(({ kind }) => kind === 'run.reopened')
    if (fate === 'finished' && isReopened) continue
    const told = `trigger ${messageId} of ${id} was told as ${fate}`
    if (!message && !clients.unnamed.has(messageId)) fail('trigger', `${told} and is not there`)
    else if (fate === 'taken' ? taken !== 1 : taken !== 0)
      fail('trigger', `${told}, taken ${taken} times`)
    else if (message && fate === 'refused' && message.takenSeq !== 0)
      fail('trigger', `${told}, and waits`)
  }
  const ids = new Set([...memory.events.values()].map(({ id }) => id))
  for (const id of clients.emitted) if (!ids.has(id)) fail('event', `${id} is lost`)
  for (const row of memory.runs.values()) {
    for (const { kind, name, seq } of row.journal) {
      const isEmitting = kind === 'record' || kind === 'step.completed'
      if (!isEmitting || !/(^|\/)emit:/.test(name)) continue
      if (!ids.delete(`${row.uid}:${seq}:0`)) fail('event', `${name} of ${row.uid} is lost`)
    }
    checkHearing(world, row, fail)
    checkReached(world, row, fail)
  }
  for (const id of ids) if (id.includes(':')) fail('event', `${id} was emitted by nothing recorded`)
}

/** What a step did to another run is there, once. */
function checkReached({ memory }: World, row: MemoryRun, fail: Fail): void {
  for (const { kind, name, payload } of row.journal) {
    const [, what, id] = /(?:^|\/)(start|signal|cancel) ([nr]\d+)$/.exec(name) ?? []
    if (kind !== 'step.completed' || !what || !id) continue
    const { uid, key } = JSON.parse(payload ?? '{}') as { uid?: string; key?: string }
    const other = memory.find('default', id as RunId)
    const found = other?.messages.filter((message) => String(message.id) === key).length
    // A cancel of a run that is over changes nothing.
    const isThere = what === 'start' ? other?.uid === uid : found === 1 || what === 'cancel'
    if (!isThere) fail('reach', `${name} of ${row.uid} is recorded, and has not happened once`)
  }
}

/** What a wait has heard happened, and not before it was asked for. */
function checkHearing({ memory, options }: World, row: MemoryRun, fail: Fail): void {
  const isJumpy = options.faults.clockJumps > 0
  for (const opened of row.journal) {
    const { event, run } = opened.meta ?? {}
    if (opened.kind !== 'wait.opened' || (event === undefined && run === undefined)) continue
    const taken = row.journal.find(
      ({ kind, name, occurrence }) =>
        kind === 'message.taken' && name === opened.name && occurrence === opened.occurrence,
    )
    if (!taken) continue
    const heard = taken.meta?.message
    // It was not there when the message was written; it may have come since.
    const toldAt = row.messages.find(({ no }) => no === taken.meta?.no)?.at ?? taken.at
    const fits =
      event === undefined
        ? hasEnded(memory.find('default', run ?? row.run.id), heard ?? '', isJumpy ? 0 : toldAt)
        : [...memory.events.values()].some(
            (one) => one.name === event && one.payload === taken.payload && one.at >= opened.at,
          )
    if (!fits) fail('event', `${opened.name} of ${row.uid} has heard ${heard} ${taken.payload}`)
  }
}

/** It ended so, or was not there yet; and may have been re-opened since. */
function hasEnded(row: MemoryRun | undefined, heard: string, at: number): boolean {
  if (heard === 'unknown') return !row || row.createdAt >= at - CLOCK_MS
  return row?.journal.some(({ kind }) => kind === `run.${heard}`) ?? false
}

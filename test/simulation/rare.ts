// Sometimes: what must have happened somewhere in a few thousand worlds, or they prove less than they seem to.

import { RETRY } from '../../src/authoring/machine/waiting.js'
import { newCounters } from '../../src/kernel/counters.js'
import { isFinal } from '../../src/model/run.js'
import type { MemoryRun } from '../../src/store/memory.js'
import type { Clients } from './clients.js'
import type { Change } from './faulty-store.js'
import { isMachine } from './machine-invariants.js'
import type { World } from './world.js'

const SEEN = {
  // Races at one run.
  'race: a cancel while the run commits': 0,
  'race: a signal within 5 ms of the deadline of its wait': 0,
  'race: a signal and a deadline at the same millisecond': 0,
  'race: a signal wins against a deadline that is close': 0,
  'race: a deadline wins against a signal that is close': 0,
  'race: a child ends while its parent runs': 0,
  'race: a child ends while its parent is told to stop': 0,
  'race: a child ends in the commit that starts it or the next': 0,
  'race: a message to a run that has ended': 0,
  'race: a start of an id that is taken, with another input': 0,
  'race: a start of an id that is taken, with the same input': 0,
  // Answers that were lost.
  'lost answer: it had been stored': 0,
  'lost answer: it had not been stored': 0,
  // What runs come to.
  'run: completed': 0,
  'run: failed': 0,
  'run: cancelled': 0,
  'run: timed out': 0,
  'run: failed because a value cannot be stored': 0,
  'run: re-opened': 0,
  'run: undone while it stops': 0,
  'run: taken over by another worker': 0,
  'run: taken over five times or more': 0,
  // Questions.
  'step: tried again': 0,
  'step: failed for good': 0,
  'step: executed more than once and recorded once': 0,
  'step: transactional, its effect is there once': 0,
  'step: transactional, executed more than once': 0,
  'step: starts another run under an id': 0,
  'step: signals another run': 0,
  'step: cancels another run': 0,
  'timer: fired': 0,
  'wait: over': 0,
  'signal: taken': 0,
  'signal: sent before the wait': 0,
  'signal: sent twice under one id': 0,
  'child: ended': 0,
  'child: tried again': 0,
  'child: adopted': 0,
  'scope: failed': 0,
  'scope: over': 0,
  'round: over': 0,
  'undo: done': 0,
  'undo: tried again': 0,
  'undo: failed for good': 0,
  'event: heard': 0,
  'event: the end of a run is heard': 0,
  'event: a run that is not there is heard of': 0,
  'call: taken': 0,
  'call: refused': 0,
  'call: the run has ended': 0,
  // Machines.
  'machine: a checkpoint': 0,
  'machine: a transition is tried again': 0,
  'machine: a transition fails, and the run goes to an error place': 0,
  'machine: a failed transition is retried by a person': 0,
  'machine: taken over in the middle': 0,
  'machine: hears of its child': 0,
  'machine: has the effects of the function': 0,
  'graph: has the effects of the function': 0,
  'call: answered with what it brought about': 0,
  'call: answered with a failure': 0,
  'call: sent again, and answered the same': 0,
  // Batches.
  'batch: of three deltas or more': 0,
  'batch: two deltas about one run': 0,
  'batch: a turn that writes to a run which has a turn of its own there': 0,
  // Faults.
  'fault: notApplied': 0,
  'fault: replyLost': 0,
  'fault: late': 0,
  'fault: slow': 0,
  'fault: busy': 0,
  'fault: hintsLost': 0,
  'fault: hintsDoubled': 0,
  'fault: poison': 0,
  'fault: bombs': 0,
  'fault: faultPoints': 0,
  'fault: crashes': 0,
  'fault: pauses': 0,
  'fault: clockJumps': 0,
  'fault: outages': 0,
}
type Seen = keyof typeof SEEN
export type Rare = Record<Seen, number>

export const newRare = (): Rare => ({ ...SEEN })

/** Counted, but not looked for: they are always there, or must never be. */
const NOT_RARE = ['commit.batches', 'commit.deltas', 'run.diverged']
export const RARE_NAMES: readonly string[] = [...Object.keys(newCounters()), ...Object.keys(SEEN)]
  .filter((name) => !NOT_RARE.includes(name))
  .sort()

/** Those that have not been met. */
export function missing(rare: Readonly<Record<string, number>>): readonly string[] {
  return RARE_NAMES.filter((name) => !rare[name])
}

const CLOSE_MS = 5

/** Called for every change of the store, before it is checked. */
export function countChange(world: World, { deltas, answers, resent }: Change): void {
  const { rare, memory } = world
  for (const [i, delta] of deltas.entries()) {
    const answer = answers[i]
    if (resent && answer?.kind === 'done') {
      rare[
        answer.repeated ? 'lost answer: it had been stored' : 'lost answer: it had not been stored'
      ] += 1
    }
    if (delta.kind === 'message' && delta.message.kind === 'cancel' && answer?.kind === 'done') {
      const { uid } = answer
      const isCommitting = world.processes.some(({ store }) => store.committing.has(uid))
      if (isCommitting && !answer.repeated) rare['race: a cancel while the run commits'] += 1
    }
    if (delta.kind === 'message' && answer?.kind === 'refused' && answer.code === 'RUN_FINISHED')
      rare['race: a message to a run that has ended'] += 1
    if (delta.kind === 'message' && answer?.kind === 'done' && answer.repeated && !resent)
      rare['signal: sent twice under one id'] += 1
    if (delta.kind === 'start' && answer?.kind === 'exists') {
      const how = answer.same ? 'same' : 'other'
      if (how === 'same') rare['race: a start of an id that is taken, with the same input'] += 1
      else rare['race: a start of an id that is taken, with another input'] += 1
    }
    if (delta.kind !== 'turn' || answer?.kind !== 'done') continue
    for (const { to, message } of delta.messages) {
      const parent = message.kind === 'child' ? memory.runs.get(to) : undefined
      if (parent) countChildEnd(rare, parent, memory.runs.get(delta.fence.uid))
    }
  }
}

function countChildEnd(rare: Rare, parent: MemoryRun, child: MemoryRun | undefined): void {
  if (parent.owner !== null) rare['race: a child ends while its parent runs'] += 1
  if (parent.stop === 'cancel') rare['race: a child ends while its parent is told to stop'] += 1
  if (child && parent.journal.length > 0 && child.updatedAt - child.createdAt <= 2)
    rare['race: a child ends in the commit that starts it or the next'] += 1
}

/** All that a world has met. */
export function rareAtEnd(world: World, clients: Clients): Rare {
  const { rare, batches, struck, options } = world
  rare['batch: of three deltas or more'] = batches.several
  rare['batch: two deltas about one run'] = batches.ofOneRun
  rare['batch: a turn that writes to a run which has a turn of its own there'] = batches.family
  for (const { kind } of struck) rare[`fault: ${kind}`] += 1
  if (options.faults.poison > 0) rare['fault: poison'] += 1
  rare['fault: bombs'] += options.faults.bombs
  for (const { fate } of clients.triggered) {
    const how = fate === 'finished' ? 'call: the run has ended' : `call: ${fate}`
    rare[how as 'call: taken'] += 1
  }
  countReplies(rare, clients)
  for (const row of world.memory.runs.values()) {
    if (isMachine(row)) countMachine(rare, row)
    countRun(rare, row)
    countSteps(rare, world, row)
  }
  return rare
}

function countReplies(rare: Rare, { triggered }: Clients): void {
  const told = new Map<string, string>()
  for (const { id, messageId, reply } of triggered) {
    if (!reply) continue
    const isFailure = reply.kind === 'step.failed'
    if (isFailure) rare['call: answered with a failure'] += 1
    else rare['call: answered with what it brought about'] += 1
    const key = `${id} ${messageId}`
    if (told.get(key) === reply.payload) rare['call: sent again, and answered the same'] += 1
    told.set(key, reply.payload ?? '')
  }
}

function countMachine(rare: Rare, { journal, messages, status, run }: MemoryRun): void {
  const failed = journal.filter(({ kind, meta }) => kind === 'step.failed' && meta?.kept)
  const again = failed.filter(({ meta }) => meta?.retryAt !== undefined).length
  const points = journal.filter(({ meta }) => meta?.checkpoint !== undefined)
  rare['machine: a checkpoint'] += points.length
  rare['machine: a transition is tried again'] += again
  if (status === 'completed' && run.definition === 'machine')
    rare['machine: a transition fails, and the run goes to an error place'] += failed.length - again
  if (new Set(points.map(({ epoch }) => epoch)).size > 1)
    rare['machine: taken over in the middle'] += 1
  for (const { kind, name, takenSeq } of messages) {
    if (takenSeq && name === RETRY) rare['machine: a failed transition is retried by a person'] += 1
    if (takenSeq && kind === 'child') rare['machine: hears of its child'] += 1
  }
}

function countRun(rare: Rare, row: MemoryRun): void {
  const { journal, status } = row
  if (isFinal(status)) rare[`run: ${status === 'timed_out' ? 'timed out' : status}`] += 1
  if (journal.at(-1)?.payload?.includes('VALUE_UNSTORABLE'))
    rare['run: failed because a value cannot be stored'] += 1
  const epochs = new Set(journal.map(({ epoch }) => epoch)).size
  if (epochs > 1) rare['run: taken over by another worker'] += 1
  if (epochs >= 5) rare['run: taken over five times or more'] += 1
  const isUndone = journal.some(({ kind }) => kind === 'undo.completed')
  if (isUndone && journal.some(({ kind }) => kind === 'run.stopping'))
    rare['run: undone while it stops'] += 1
}

function countSteps(rare: Rare, world: World, row: MemoryRun): void {
  const opened = new Map<string, number>()
  for (const entry of row.journal) {
    const key = `${entry.name}#${entry.occurrence}`
    if (entry.kind === 'wait.opened') opened.set(key, entry.at)
    const name = seenIn(entry)
    if (name) rare[name] += 1
    if (entry.kind === 'message.taken') countTaken(rare, row, entry, opened.get(key) ?? 0)
    if (entry.kind === 'wait.opened') countClose(rare, row, entry)
  }
  const executed = new Map<string, number>()
  const transactional = new Set<string>()
  for (const { uid, idempotencyKey, transaction } of world.executions) {
    if (uid !== row.uid) continue
    executed.set(idempotencyKey, (executed.get(idempotencyKey) ?? 0) + 1)
    if (transaction) transactional.add(idempotencyKey)
  }
  for (const { kind, name, occurrence } of row.journal) {
    const key = `${row.uid}/${occurrence}/${name}`
    if (kind !== 'step.completed') continue
    const times = executed.get(key) ?? 0
    if (times > 1) rare['step: executed more than once and recorded once'] += 1
    if (!transactional.has(key)) continue
    rare['step: transactional, its effect is there once'] += 1
    if (times > 1) rare['step: transactional, executed more than once'] += 1
  }
}

function countTaken(
  rare: Rare,
  row: MemoryRun,
  { meta }: MemoryRun['journal'][number],
  at: number,
) {
  const message = row.messages.find(({ no }) => no === meta?.no)
  if (message?.kind === 'event') {
    const { message: how } = meta ?? {}
    if (how === 'unknown') rare['event: a run that is not there is heard of'] += 1
    else if (/^E\d/.test(how ?? '')) rare['event: heard'] += 1
    else rare['event: the end of a run is heard'] += 1
    return
  }
  rare['signal: taken'] += 1
  if (message && message.at < at) rare['signal: sent before the wait'] += 1
}

/** Who has won where a signal that fits came close to the deadline. */
function countClose(rare: Rare, row: MemoryRun, wait: MemoryRun['journal'][number]): void {
  const { dueAt, names } = wait.meta ?? {}
  if (dueAt === undefined || !names?.length) return
  const close = row.messages.filter(
    ({ name, at }) => names.includes(name) && Math.abs(at - dueAt) <= CLOSE_MS,
  )
  if (close.length === 0) return
  rare['race: a signal within 5 ms of the deadline of its wait'] += 1
  if (close.some(({ at }) => at === dueAt))
    rare['race: a signal and a deadline at the same millisecond'] += 1
  const answer = row.journal.find(
    ({ kind, name, occurrence }) =>
      (kind === 'message.taken' || kind === 'wait.withdrawn') &&
      name === wait.name &&
      occurrence === wait.occurrence,
  )
  if (answer?.kind === 'wait.withdrawn')
    rare['race: a deadline wins against a signal that is close'] += 1
  if (close.some(({ no }) => no === answer?.meta?.no))
    rare['race: a signal wins against a deadline that is close'] += 1
}

function seenIn({ kind, name, meta }: MemoryRun['journal'][number]): Seen | null {
  const isRetry = meta?.retryAt !== undefined
  switch (kind) {
    case 'step.failed':
      return isRetry ? 'step: tried again' : 'step: failed for good'
    case 'step.completed':
      if (/(^|\/)start [nr]\d/.test(name)) return 'step: starts another run under an id'
      if (/(^|\/)signal [nr]\d/.test(name)) return 'step: signals another run'
      return /(^|\/)cancel [nr]\d/.test(name) ? 'step: cancels another run' : null
    case 'timer.fired':
      return 'timer: fired'
    case 'wait.withdrawn':
      return 'wait: over'
    case 'child.started':
      return / ended$/.test(name) ? 'child: adopted' : null
    case 'child.ended':
      return isRetry ? 'child: tried again' : 'child: ended'
    case 'scope.ended':
      return meta?.status === 'failed' ? 'scope: failed' : 'scope: over'
    case 'round.ended':
      return 'round: over'
    case 'undo.completed':
      return 'undo: done'
    case 'undo.failed':
      return isRetry ? 'undo: tried again' : 'undo: failed for good'
    case 'run.reopened':
      return 'run: re-opened'
    default:
      return null
  }
}

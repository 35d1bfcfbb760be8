// What must be true when everything is over.

import { isFinal } from '../../src/model/run.js'
import type { MemoryRun } from '../../src/store/memory.js'
import type { Clients } from './clients.js'
import { isAnswer, keyOf, knows } from './fold.js'
import { checkReplies } from './machine-invariants.js'
import { checkOthers } from './others-invariants.js'
import { checkRecorded, checkUndone } from './scope-invariants.js'
import type { World } from './world.js'

export function checkEnd(world: World, clients: Clients): void {
  const fail = (number: number | string, message: string): void =>
    world.scheduler.fail(`invariant ${number}`, message)
  checkEffects(world, fail)
  checkRecorded(world, fail)
  checkAcknowledged(world, clients, fail)
  checkOthers(world, clients, fail)
  checkReplies(world, clients, fail)
  for (const row of world.memory.runs.values()) {
    checkFamily(world, row, fail)
    checkHeard(world, row, fail)
    checkUndone(row, fail)
  }
  for (const { life, store } of world.processes) {
    // One that is still paused has not been told yet that its runs are another's.
    const isPaused = life.heldUntil > world.scheduler.now
    if (life.alive && !isPaused && store.transactions.size > 0) {
      fail('leak', `${life.name} has ${store.transactions.size} open transactions`)
    }
  }
}

type Fail = (number: number | string, message: string) => void

/** 11: what a transactional step wrote is there once if the step succeeded, and not at all otherwise. */
function checkEffects(world: World, fail: Fail): void {
  const written = new Map<string, number>()
  for (const { params } of world.memory.written) {
    const key = String(params[0])
    written.set(key, (written.get(key) ?? 0) + 1)
  }
  for (const row of world.memory.runs.values()) {
    for (const entry of row.journal) {
      const key = `${row.uid}/${entry.occurrence}/${entry.name}`
      if (entry.kind !== 'step.completed') continue
      const count = written.get(key) ?? 0
      if (count > 1) fail(11, `the effect of ${key} exists ${count} times`)
      written.delete(key)
    }
  }
  for (const key of written.keys()) fail(11, `an effect of ${key}, which has not succeeded`)
  const transactional = new Set(world.memory.written.map(({ params }) => String(params[0])))
  for (const run of world.executions) {
    if (!run.transaction || transactional.has(run.idempotencyKey)) continue
    const row = world.memory.runs.get(run.uid as MemoryRun['uid'])
    const done = row?.journal.some((e) => e.kind === 'step.completed' && keyOf(e) === keyOf(run))
    if (done) fail(11, `${run.idempotencyKey} succeeded without its effect`)
  }
}

function checkAcknowledged(world: World, clients: Clients, fail: Fail): void {
  const uids = new Map<string, string>()
  for (const { id, uid, input } of clients.started) {
    const row = world.memory.find('default', id)
    if (!row || row.uid !== uid) fail(13, `start of ${id} was acknowledged as ${uid}`)
    if (row && row.run.input !== input) fail(14, `${id} was started with another input`)
    if ((uids.get(id) ?? uid) !== uid) fail(14, `${id} has two uids`)
    uids.set(id, uid)
  }
  for (const { id, messageId } of clients.signalled) {
    const row = world.memory.find('default', id)
    const found = row?.messages.filter((message) => message.id === messageId).length
    if (found !== 1) fail(15, `signal ${messageId} to ${id} is there ${found} times`)
  }
  for (const { uid, messages } of world.memory.runs.values()) {
    for (const { kind, id } of messages) {
      const isCallers = kind === 'signal' || kind === 'trigger'
      // What a step sends has the key of the step.
      if (isCallers && !clients.sent.has(id) && !id.includes('/'))
        fail(15, `${uid} has message ${id}, which nobody has sent`)
    }
  }
  for (const id of clients.cancelled) {
    const row = world.memory.find('default', id)
    // Or it was stopping already, for another reason.
    const wasStopping = row?.journal.some(({ kind }) => kind === 'run.stopping')
    if (row?.status !== 'cancelled' && !wasStopping)
      fail(21, `${id} was cancelled and is ${row?.status}`)
  }
}

/** 22: the end of a parent is the end of its children. */
function checkFamily(world: World, row: MemoryRun, fail: Fail): void {
  if (!isFinal(row.status)) return
  for (const child of world.memory.runs.values()) {
    if (child.run.parent?.uid !== row.uid || isFinal(child.status)) continue
    const told = child.messages.some((message) => message.kind === 'cancel')
    if (!told && knows(row, child))
      fail(22, `${row.uid} has ended, its child ${child.uid} has not been told`)
  }
  const answered = new Set(row.journal.filter(isAnswer).map(keyOf))
  for (const entry of row.journal) {
    if (entry.kind !== 'child.started' || answered.has(keyOf(entry))) continue
    const child = world.memory.runs.get(entry.meta?.uid ?? row.uid)
    if (child && !isFinal(child.status)) fail(22, `child ${child.uid} of ${row.uid} still runs`)
  }
}

/** 34: every entry has reached some listener. (Re-opening is no event.) */
function checkHeard(world: World, row: MemoryRun, fail: Fail): void {
  for (const { seq, kind } of row.journal) {
    if (kind === 'run.reopened') continue
    if (!world.heard.has(`${row.uid}:${seq}`)) fail(34, `nobody has heard ${kind} of ${row.uid}`)
  }
}

// What must be true of machines: what a transition means is one commit, and nothing of a failed attempt is seen again.

import type { Left } from '../../src/authoring/machine/scene.js'
import { decode } from '../../src/model/codec.js'
import type { Entry } from '../../src/model/run.js'
import type { MemoryRun } from '../../src/store/memory.js'
import type { Clients } from './clients.js'
import { ADDS, type CounterState, type MachineState, machineOf } from './machines.js'
import { type Dispatch, type Op, POISON, type Stage } from './programs.js'
import type { World } from './world.js'

type Fail = (number: number | string, message: string) => void

const MACHINES = ['machine', 'counter']
export const isMachine = ({ run }: MemoryRun): boolean => MACHINES.includes(run.definition)

/** An entry never changes, and each of them is looked at after every change of its run. */
const decoded = new WeakMap<Entry, Left>()
function leftBy(entry: Entry): Left {
  const left = decoded.get(entry) ?? (decode(entry.payload ?? '') as Left)
  decoded.set(entry, left)
  return left
}
const isCheckpoint = ({ meta }: Entry): boolean => meta?.checkpoint !== undefined
/** The failure of a transition: of a step that starts a child, or asks guards, nothing is kept. */
const isFailure = ({ kind, meta }: Entry): boolean =>
  kind === 'step.failed' && meta?.kept !== undefined
const lastOf = (name: string): string => name.slice(name.lastIndexOf('/') + 1)

/** After each change of it. */
export function checkMachine(row: MemoryRun, fail: Fail): void {
  // What nobody can read is nobody's program.
  if (!isMachine(row) || row.run.input.includes(POISON)) return
  const versions = row.journal.filter(isCheckpoint).map(({ meta }) => meta?.checkpoint)
  if (versions.some((version, i) => version !== i + 1))
    fail('machine', `the checkpoints of ${row.uid} are ${versions.join(', ')}`)
  checkShown(row, fail)
  checkStates(row, fail)
  if (row.run.definition === 'machine') checkDocuments(row, fail)
}

/** What people see is what the last outcome has left. */
function checkShown(row: MemoryRun, fail: Fail): void {
  const places =
    row.run.definition === 'machine' && row.journal.some(isFailure)
      ? machineOf(JSON.parse(row.run.input) as readonly Op[], NO_STAGE).places
      : null
  let [place, error]: (string | null)[] = [null, null]
  let last: unknown = null
  let at = 'p1'
  for (const entry of row.journal) {
    if (isCheckpoint(entry)) {
      const left = leftBy(entry)
      at = left.place
      place = left.place
      last = left.state
      error = null
    } else if (isFailure(entry) && places) {
      const name = lastOf(entry.name)
      const from = places.get(at)
      const known = [
        ...(from?.automatic ?? []),
        ...(from?.waiting.values() ?? []),
        ...(from?.late.map(({ transition }) => transition) ?? []),
      ].find((transition) => transition.name === name)
      // Tried again by a person, from another place.
      const isElsewhere = known === undefined
      const goes = entry.meta?.retryAt === undefined ? known?.errorPlace : null
      if (isElsewhere) place = row.place
      else place = goes ?? at
      at = place ?? at
      error = entry.payload
    }
  }
  const state = last === null ? null : JSON.stringify(last)
  const shown = row.state === null ? null : JSON.stringify(decode(row.state))
  if (row.place !== place || shown !== state || row.error !== error) {
    const is = JSON.stringify([row.place, shown, row.error])
    fail('machine', `${row.uid} shows ${is}, its journal ${JSON.stringify([place, state, error])}`)
  }
}

/** Each begins with what the one before has left, and adds one line of its own. */
function checkStates(row: MemoryRun, fail: Fail): void {
  let before: readonly string[] = []
  for (const entry of row.journal.filter(isCheckpoint)) {
    const { log = [] } = leftBy(entry).state as MachineState | CounterState
    const isOwn = row.run.definition !== 'machine' || isLineOf(row, entry, log.at(-1) ?? '')
    const added = log.length - before.length
    if (before.some((line, i) => line !== log[i]) || added > 1 || !isOwn)
      fail('machine', `${entry.name} of ${row.uid} has left ${log.join()} behind ${before.join()}`)
    before = log
  }
}

function isLineOf({ uid }: MemoryRun, entry: Entry, line: string): boolean {
  return line.startsWith(`${uid}/${entry.occurrence}/${entry.name} ${entry.attempt} `)
}

/** Those of each outcome exactly once, and none of anything else. */
function checkDocuments(row: MemoryRun, fail: Fail): void {
  const left = new Set(row.documents)
  for (const entry of row.journal) {
    const own = row.documents.filter(({ seq }) => seq === entry.seq)
    for (const one of own) left.delete(one)
    const types = own.map(({ type }) => type).sort()
    const isRecord = lastOf(entry.name) === 'record'
    const parts = isRecord ? ['part', 'record'] : ['part']
    const expected = isCheckpoint(entry) ? parts : isFailure(entry) ? ['ErrorDocument'] : []
    if (types.join() !== expected.join())
      fail('machine', `${entry.kind} ${entry.name} of ${row.uid} has documents ${types.join()}`)
    const part = own.find(({ type }) => type === 'part')
    const key = `${row.uid}/${entry.occurrence}/${entry.name}`
    const content = JSON.stringify({ key, attempt: entry.attempt })
    if (part && JSON.stringify(decode(part.content)) !== content)
      fail('machine', `${key} has the document ${part.content} of another`)
  }
  for (const { type, seq } of left)
    fail('machine', `a ${type} of ${row.uid}: entry ${seq} is not there`)
}

/** A transition begins with what the last checkpoint has left; what failed attempts wrote to `this` is there. */
export function checkGiven(row: MemoryRun, dispatch: Dispatch, fail: Fail): void {
  const { machine, name } = dispatch
  if (!machine || !isMachine(row)) return
  const last = row.journal.findLast(isCheckpoint)
  const first: MachineState | CounterState =
    row.run.definition === 'machine' ? { log: [] } : { count: 0, log: [] }
  const state = JSON.stringify(last ? leftBy(last).state : first)
  if (state !== machine.state)
    fail('machine', `${name} of ${row.uid} was given ${machine.state}, and not ${state}`)
  if (machine.tries === null) return
  const tries = row.journal.filter((entry) => isCheckpoint(entry) || isFailure(entry)).length
  if (tries !== machine.tries)
    fail('machine', `${name} of ${row.uid} has seen ${machine.tries} attempts, and not ${tries}`)
}

/** What it has brought about. Of one that is forgotten the round that has taken it says so. */
function answerOf({ messages, journal }: MemoryRun, messageId: string): Entry | undefined {
  const message = messages.find((one) => one.id === messageId)
  if (message) return journal[(message.replySeq ?? 0) - 1]
  const taken = journal.findIndex(
    ({ kind, meta }) => kind === 'message.taken' && meta?.id === messageId,
  )
  return journal
    .slice(taken)
    .find(({ kind }) => kind === 'step.completed' || kind === 'step.failed')
}

/** Who called was told what is recorded, and only when it was. */
export function checkReplies(world: World, clients: Clients, fail: Fail): void {
  for (const { id, messageId, reply } of clients.triggered) {
    const row = world.memory.find('default', id)
    if (!reply || !row) continue
    const entry = answerOf(row, messageId)
    if (entry?.kind !== reply.kind || entry.payload !== reply.payload)
      fail(
        'reply',
        `${messageId} of ${id} was told ${reply.payload}, recorded is ${entry?.payload}`,
      )
  }
  for (const row of world.memory.runs.values()) {
    if (row.run.definition !== 'counter') continue
    const done = row.journal.filter((e) => isCheckpoint(e) && ADDS.includes(lastOf(e.name))).length
    const { count, log = [] } = (
      row.state === null ? { count: 0 } : decode(row.state)
    ) as Partial<CounterState>
    const ids = log.map((line) => line.split(' ', 1)[0])
    if (new Set(ids).size < ids.length)
      fail('reply', `an event of ${row.uid} counted twice: ${log.join()}`)
    const forgotten = row.journal.find(
      ({ kind, meta }) =>
        kind === 'message.taken' &&
        meta?.id !== undefined &&
        !clients.unnamed.has(meta.id) &&
        meta.no !== undefined &&
        !row.messages.some(({ id }) => id === meta?.id),
    )
    if (forgotten)
      fail('reply', `${row.uid} has forgotten ${forgotten.meta?.id}, which somebody knows`)
    if (count !== done) fail('reply', `${row.uid} counts ${count}, and ${done} events are recorded`)
    for (const { no, takenSeq, replySeq } of row.messages) {
      const answered = row.journal.filter((e) => e.seq === replySeq).length
      if (takenSeq && replySeq && answered !== 1) fail('reply', `message ${no} of ${row.uid}`)
    }
  }
}

/** Nothing of such a machine is executed. */
const NO_STAGE: Stage = {
  dispatched: () => () => {},
  work: () => Promise.resolve(),
  explode: () => new Promise(() => {}),
  did: () => {},
  fresh: () => 0,
}

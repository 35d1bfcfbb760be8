// What must hold of what runs do to other runs, whoever died when: events, starts and signals, each once.

import { isOfEntry } from './checker-limits.mjs'

const CALLS = new Set(['start', 'signal', 'cancel'])
const SIGNAL = /^signal (\S+) to (\S+)$/

export function checkOthers(snapshot, world, say) {
  checkEmitted(snapshot, world, say)
  checkWaits(snapshot, world, say)
  checkStarts(world, say)
  checkSignals(snapshot, world, say)
  checkTaken(world, say)
}

/** A step that the engine makes itself: a call to another run. */
export const isCall = (meta) => CALLS.has(meta?.target)

/** An event is there if and only if a journal says so, and once. */
function checkEmitted({ emitted }, { journals, byUid }, say) {
  const counts = new Map()
  for (const { id } of emitted) if (isOfEntry(id)) counts.set(id, (counts.get(id) ?? 0) + 1)
  for (const [uid, journal] of journals) {
    for (const { seq, kind, name } of journal) {
      if (kind !== 'record' || !name.startsWith('emit:')) continue
      const id = `${uid}:${seq}:0`
      const count = counts.get(id) ?? 0
      if (count !== 1) say(`${byUid.get(uid).id} ${name}: ${count} events`)
      counts.delete(id)
    }
  }
  for (const id of counts.keys()) say(`${id}: an event of nothing that is recorded`)
}

/** A run that has ended waits for nothing. */
function checkWaits({ waits }, { byUid }, say) {
  for (const { uid, name } of waits) say(`${byUid.get(uid)?.id ?? uid}: still waits for ${name}`)
}

/** What was started under an id is there, a child of nobody but the run that says so. */
function checkStarts({ journals, byUid }, say) {
  for (const journal of journals.values()) {
    for (const { kind, meta, payload } of journal) {
      if (kind !== 'step.completed' || meta?.target !== 'start') continue
      const { id, uid, by } = JSON.parse(payload)
      const started = byUid.get(uid)
      if (!started) say(`${id}: started and never made`)
      else if (started.parent !== by) say(`${id}: a child of ${started.parent}, and not of ${by}`)
    }
  }
}

/** A run has one message for each signal that another has sent it. */
function checkSignals({ messages }, { journals, byId }, say) {
  const sent = new Map()
  for (const journal of journals.values()) {
    for (const { kind, name } of journal) {
      if (kind === 'step.completed' && SIGNAL.test(name)) sent.set(name, (sent.get(name) ?? 0) + 1)
    }
  }
  for (const [name, count] of sent) {
    const [, signal, id] = SIGNAL.exec(name)
    const uid = byId.get(id)?.uid
    const got = messages.filter((m) => m.uid === uid && m.kind === 'signal' && m.name === signal)
    if (got.length !== count)
      say(`${id}: ${got.length} messages of "${name}", recorded ${count} times`)
  }
}

/** What was sent again under its id counts once. */
function checkTaken({ journals, byUid }, say) {
  for (const [uid, journal] of journals) {
    const taken = new Set()
    for (const { kind, meta } of journal) {
      if (kind !== 'message.taken' || meta?.id === undefined) continue
      if (taken.has(meta.id)) say(`${byUid.get(uid).id}: ${meta.id} was taken twice`)
      taken.add(meta.id)
    }
  }
}

// What must hold of scopes, rounds and undos in every journal, whoever died when.

const UNDO = 'undo:'
const FAILED = new Set(['run.failed', 'run.cancelled', 'run.timed_out'])
const shown = ({ name, occurrence }) => (occurrence > 1 ? `${name}#${occurrence}` : name)
/** A name of an undo is inside what its step is inside. */
const isInside = (name, path) =>
  name.startsWith(path) || (name.startsWith(UNDO) && name.startsWith(path, UNDO.length))

/** What a scope that has ended is the beginning of: the names of all that belongs to it. */
function pathsOf(entry) {
  if (entry.kind === 'round.ended') return [`${entry.name}/`]
  // That of a loop ends only if one of its rounds has failed.
  return entry.kind === 'scope.ended' ? [`${shown(entry)}/`, `${shown(entry)}@`] : []
}

export function checkScopes(run, journal, { byUid }, say) {
  checkLeftovers(run, journal, byUid, say)
  checkRounds(run, journal, say)
  checkUndos(run, journal, say)
}

/** When a scope has ended nothing of it goes on, and what it had started outside is told to stop. */
function checkLeftovers({ id }, journal, byUid, say) {
  for (const end of journal) {
    for (const path of pathsOf(end)) {
      const inside = journal.filter(({ name }) => isInside(name, path))
      for (const { seq, kind, name } of inside)
        if (seq > end.seq) say(`${id}: ${kind} ${name} behind the end of ${shown(end)}`)
      const ended = new Set(inside.flatMap((e) => (e.kind === 'child.ended' ? [e.meta?.uid] : [])))
      for (const { kind, name, meta } of inside) {
        if (kind !== 'child.started' || meta?.uid === undefined || ended.has(meta.uid)) continue
        const { status } = byUid.get(meta.uid) ?? {}
        if (status !== 'cancelled') say(`${id}: ${name} was left open by ${shown(end)}: ${status}`)
      }
    }
  }
}

/** Rounds are 1, 2, 3 … of each loop, each ends once, and none begins before the one before it has ended. */
function checkRounds({ id }, journal, say) {
  const last = new Map()
  for (const { kind, name } of journal) {
    for (const [, loop, number, rest] of roundsIn(name)) {
      const ended = last.get(loop) ?? 0
      if (Number(number) !== ended + 1)
        say(`${id}: ${kind} ${name}, and the last round of ${loop} was ${ended}`)
      if (kind === 'round.ended' && rest === '') last.set(loop, Number(number))
    }
  }
}

/** From 'months@2/days@1/day': months 2, and months@2/days 1. */
function roundsIn(name) {
  const plain = name.startsWith(UNDO) ? name.slice(UNDO.length) : name
  return [...plain.matchAll(/@(\d+)(?=\/|$)/g)].map(({ 0: text, 1: number, index }) => [
    text,
    plain.slice(0, index),
    number,
    plain.slice(index + text.length),
  ])
}

/**
 * What failed has been undone: all of it that was done, newest first, each once, before anybody hears of the failure.
 * What did not fail, or was left behind by a round, has not; but for the branch that has lost a race.
 */
function checkUndos({ id }, journal, say) {
  const done = journal.flatMap((entry) => (entry.meta?.undoable ? [{ ...entry }] : []))
  for (const one of done) {
    const undos = journal.filter(
      ({ kind, name }) => kind === 'undo.completed' && name === UNDO + shown(one),
    )
    one.undoneAt = undos[0]?.seq ?? null
    if (undos.length > 1) say(`${id}: ${shown(one)} was undone ${undos.length} times`)
    if (one.undoneAt !== null && one.undoneAt < one.seq)
      say(`${id}: ${shown(one)} was undone before it was done`)
  }
  for (const end of journal) {
    const paths = FAILED.has(end.kind) ? [''] : pathsOf(end)
    if (paths.length === 0) continue
    const isOf = ({ name, seq }) => seq < end.seq && paths.some((path) => name.startsWith(path))
    const own = done.filter((one) => !one.isClosed && isOf(one))
    if (end.kind === 'round.ended') {
      for (const one of own) one.isClosed = true
      for (const one of own.filter(({ undoneAt }) => undoneAt !== null))
        say(`${id}: ${shown(one)} was undone, and its round has ended well`)
      continue
    }
    const isFailure = FAILED.has(end.kind) || end.meta?.status === 'failed'
    checkOrder(id, isFailure ? own : losers(own, end), end, say)
  }
  for (const one of done)
    if (!one.isClosed && one.undoneAt !== null)
      say(`${id}: ${shown(one)} was undone, and nothing failed`)
}

/** Of a race that did not fail: the branches of which anything was undone. */
function losers(own, end) {
  const branchOf = ({ name }) => name.slice(`${shown(end)}/`.length).split('/')[0]
  const lost = new Set(own.filter(({ undoneAt }) => undoneAt !== null).map(branchOf))
  return own.filter((one) => lost.has(branchOf(one)))
}

/** `own`: in the order in which it was done. */
function checkOrder(id, own, end, say) {
  const of = `${end.kind} ${shown(end)}`.trim()
  for (const [at, one] of own.entries()) {
    one.isClosed = true
    if (one.undoneAt === null || one.undoneAt > end.seq) {
      say(`${id}: ${shown(one)} was not undone before ${of}`)
      continue
    }
    const newer = own.slice(at + 1).filter(({ seq }) => seq < one.undoneAt)
    for (const other of newer)
      if (other.undoneAt !== null && other.undoneAt > one.undoneAt)
        say(`${id}: ${shown(one)} was undone before ${shown(other)}, which is newer`)
  }
}

/** A run that stops undoes nothing while a child of it may still do something. */
export function checkStopping({ id }, journal, say) {
  const stopping = journal.find(({ kind }) => kind === 'run.stopping')
  if (!stopping) return
  const open = new Map()
  for (const { seq, kind, name, meta } of journal) {
    if (kind === 'child.started' && meta?.uid !== undefined) open.set(meta.uid, name)
    if (kind === 'child.ended') open.delete(meta?.uid)
    if (seq > stopping.seq && kind === 'undo.completed' && open.size > 0)
      say(`${id}: ${name} while ${[...open.values()].join(', ')} was open`)
  }
}

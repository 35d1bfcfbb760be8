// Looks at what a world has become and says, one line each, what must not be. An empty list: all promises were kept.
//
// `normal`: by kind, what a run of it becomes that nobody disturbs (see normalOf).

import { checkLimits } from './checker-limits.mjs'
import { checkMachines, isEndless } from './checker-machines.mjs'
import { checkOthers, isCall } from './checker-others.mjs'
import { checkScopes, checkStopping } from './checker-scopes.mjs'

const OUTCOMES = new Set([
  ...['step.completed', 'step.failed', 'timer.fired', 'message.taken', 'wait.withdrawn'],
  ...['child.ended', 'run.reopened', 'undo.completed', 'undo.failed', 'scope.ended', 'round.ended'],
])
/** A run that goes on from a point of another one: its id is the other's with this behind it. */
const FORK = '-fork'
const FINAL = { 'run.completed': 'completed', 'run.failed': 'failed', 'run.cancelled': 'cancelled' }
const TOLD = {
  ...{ 'run.created': 'workflow.created', 'step.completed': 'step.completed' },
  ...{ 'step.failed': 'step.failed', 'run.completed': 'run.completed' },
  ...{ 'run.failed': 'run.failed', 'run.cancelled': 'run.cancelled' },
}
const ASSEMBLED = ['@1/cut', '@2/bore', '@3/clean', '@4/dry', '@5/pack']
/** Steps with an effect in their transaction, by definition. */
const EFFECTIVE = {
  ...{ writer: ['one', 'second', 'three'], crowded: ['slow'], crossed: ['paid'] },
  ...{ hog: ['paid'], assembly: ASSEMBLED, keyed: ['enter', 'leave'] },
}
/** The owner's clock is at most the database's, and behind it by a round trip; those of a busy machine are long. */
const CLOCK_MS = 1_000

/**
 * @param {object} snapshot
 * @param {{ runs: ReadonlyMap<string, string>, acked: readonly string[], normal: object, events?: boolean }} expected
 */
export function check(
  snapshot,
  { runs, acked, normal, sent, events = true, isReborn = false, isSlow = false, stops },
) {
  const problems = []
  const say = (text) => problems.push(text)
  const world = indexed(snapshot)
  for (const id of acked) if (!world.byId.has(id)) say(`${id}: acknowledged and lost`)
  for (const run of snapshot.runs) {
    checkRun(run, world, say)
    if (isGivenUp(run, world)) continue
    checkScopes(run, world.journals.get(run.uid), world, say)
    checkStopping(run, world.journals.get(run.uid), say)
  }
  for (const [id, kind] of runs) {
    const run = world.byId.get(id)
    // A run that five processes in a row have died with is failed, and rightly so: it is not compared. All else holds.
    if (run && isGivenUp(run, world)) continue
    if (run) checkAgainst(normal[kind], shapeOf(run, world), id, say)
    const fork = world.byId.get(id + FORK)
    if (fork && !isGivenUp(fork, world))
      checkAgainst(normal[kind], shapeOf(fork, world), fork.id, say)
    if (!run && acked.includes(id)) say(`${id}: there is no such run`)
  }
  checkExecutions(snapshot, world, { isReborn, isSlow, stops }, say)
  checkEffects(snapshot, world, say)
  checkChildren(snapshot, world, say)
  checkOthers(snapshot, world, say)
  const gone = (run) => isGivenUp(run, world)
  checkMachines(snapshot, world, { sent, gone }, say)
  checkLimits(snapshot, world, gone, say)
  if (events) checkEvents(snapshot, world, say)
  return problems
}

/** It was failed by the crash limit. A storm that kills often enough meets it by chance. */
function isGivenUp(run, { journals }) {
  const end = journals.get(run.uid).at(-1)
  return run.status === 'failed' && end?.meta?.reason === 'WORKER_CRASHED'
}

/** By kind: what an undisturbed world's runs have become. */
export function normalOf(snapshot, runs) {
  const world = indexed(snapshot)
  // A schedule is no run.
  const known = [...runs].filter(([id]) => world.byId.has(id))
  return Object.fromEntries(known.map(([id, kind]) => [kind, shapeOf(world.byId.get(id), world)]))
}

function indexed(snapshot) {
  const journals = new Map(snapshot.runs.map(({ uid }) => [uid, []]))
  for (const entry of snapshot.journal) journals.get(entry.uid)?.push(entry)
  return {
    journals,
    byId: new Map(snapshot.runs.map((run) => [run.id, run])),
    byUid: new Map(snapshot.runs.map((run) => [run.uid, run])),
  }
}

/** What must be the same whether it was disturbed or not. */
function shapeOf(run, { journals }) {
  const journal = journals.get(run.uid)
  const end = journal.at(-1)
  const isCompleted = run.status === 'completed'
  // A cancelled run has as many outcomes as it had time for.
  const isByItself = isCompleted || run.status === 'failed'
  const outcomes = journal
    .filter(({ kind }) => OUTCOMES.has(kind))
    .map(
      (entry) =>
        `${entry.kind} ${entry.name.replace(run.id, 'ID')}#${entry.occurrence} @${entry.attempt}`,
    )
  return {
    status: run.status,
    output: isCompleted ? end.payload : null,
    state: isByItself ? run.state : null,
    outcomes: isByItself ? outcomes.sort().join('; ') : '',
    end: `its last entry: ${JSON.stringify(end)}`,
  }
}

function checkAgainst(normal, shape, id, say) {
  if (!normal) return
  for (const field of ['status', 'output', 'state', 'outcomes']) {
    if (field in normal && normal[field] !== shape[field])
      say(
        `${id}: ${field} is ${shape[field]}, of an undisturbed run ${normal[field]}; ${shape.end}`,
      )
  }
}

function checkRun(run, { journals }, say) {
  const journal = journals.get(run.uid)
  const { id } = run
  const end = journal.at(-1)
  if (journal.some(({ seq }, i) => seq !== i + 1)) say(`${id}: its journal has a gap`)
  if (run.seq !== journal.length) say(`${id}: row at ${run.seq}, journal at ${journal.length}`)
  if (FINAL[end?.kind] !== run.status && !isEndless(run)) say(`${id}: not final: ${standing(run)}`)
  if (run.owner) say(`${id}: owned by ${run.owner} after everybody has left`)
  const ends = journal.filter(({ kind }) => FINAL[kind]).length
  const reopenings = journal.filter(({ kind }) => kind === 'run.reopened').length
  if (ends !== reopenings + 1 && !isEndless(run)) say(`${id}: ${ends} ends`)
  if (journal.some(({ epoch }, i) => i > 0 && epoch < journal[i - 1].epoch))
    say(`${id}: an older owner wrote behind a newer one`)
  const finals = new Map()
  for (const entry of journal.filter(({ kind }) =>
    /^(step|child|undo)\.(completed|failed|ended)$/.test(kind),
  )) {
    const key = `${entry.name}#${entry.occurrence}`
    const before = finals.get(key) ?? { last: 0, final: 0 }
    if (entry.attempt !== before.last + 1)
      say(`${id}: ${key} attempt ${entry.attempt} after ${before.last}`)
    const final = before.final + (entry.meta?.retryAt === undefined ? 1 : 0)
    finals.set(key, { last: entry.attempt, final })
    if (final > reopenings + 1) say(`${id}: ${key} has ${final} results`)
  }
}

const standing = ({ status, reason, owner, due, crashes, stop }) =>
  `${status} ${JSON.stringify({ reason, owner, due, crashes, stop })}`

/** What ran against what was recorded. */
function checkExecutions(
  { ledger, effects },
  { byId, byUid, journals },
  { isReborn, isSlow, stops = new Map() },
  say,
) {
  const late = new Map()
  const keys = new Map()
  const lives = new Map()
  const known = new Set()
  for (const { run: id, step, key, attempt, life, began, at: storedAt } of ledger) {
    // Code of a stopped process, or beside a slow database, may have begun long before it could write that down.
    const at = isReborn || isSlow ? began : storedAt
    const name = `${id} ${step}`
    if ((keys.get(name) ?? key) !== key) say(`${name}: two idempotency keys`)
    if ((keys.get(key) ?? name) !== name) say(`${name}: the key of ${keys.get(key)}`)
    keys.set(name, key)
    keys.set(key, name)
    const once = `${key} ${attempt} ${life}`
    lives.set(once, (lives.get(once) ?? 0) + 1)
    // Without another one before it this is the execution that was recorded, whatever the clocks say.
    const isFirst = !known.has(`${key} ${attempt}`)
    known.add(`${key} ${attempt}`)
    const run = byId.get(id) ?? byUid.get(id)
    if (!run) {
      say(`${name}: executed, and its run is lost`)
      continue
    }
    const recorded = journals
      .get(run.uid)
      .find(
        (e) =>
          e.name === step && e.attempt === attempt && /^(step|undo)\.(compl|fail)/.test(e.kind),
      )
    if (recorded && !isFirst && at > recorded.at + CLOCK_MS) {
      const text = `${name}: executed ${at - recorded.at} ms after its result was recorded`
      late.set(life, [...(late.get(life) ?? []), text])
    }
  }
  // Between the look at the lease and the first line of the step a process can be stopped like anywhere else, and only
  // its next beat can tell it so. That is one step for each time it was stopped: every other one looks first.
  for (const [life, texts] of late)
    if (texts.length > (stops.get(Number(life.split('-')[0])) ?? 0)) texts.forEach(say)
  // A transaction that took too long was ended by the database, and begun again.
  const again = new Set(isSlow ? effects.map(({ key }) => key) : [])
  for (const [once, count] of lives)
    if (count > 1 && !isReborn && !again.has(once.split(' ', 1)[0]))
      say(`${once}: executed ${count} times by one life`)
  for (const [uid, journal] of journals) {
    const { id } = byUid.get(uid)
    for (const { kind, name, meta } of journal) {
      if (!/^(step|undo)\.completed$/.test(kind) || meta?.inherited || isCall(meta)) continue
      if (!keys.has(`${id} ${name}`)) say(`${id} ${name}: recorded, never executed`)
    }
  }
}

function checkEffects({ effects }, { journals, byUid }, say) {
  const counts = new Map()
  for (const { run, step } of effects)
    counts.set(`${run} ${step}`, (counts.get(`${run} ${step}`) ?? 0) + 1)
  for (const [uid, journal] of journals) {
    const run = byUid.get(uid)
    for (const { kind, name } of journal) {
      if (kind !== 'step.completed' || !EFFECTIVE[run.def]?.includes(name)) continue
      const count = counts.get(`${run.id} ${name}`) ?? 0
      if (count !== 1) say(`${run.id} ${name}: ${count} transactional effects`)
      counts.delete(`${run.id} ${name}`)
    }
  }
  for (const [name, count] of counts)
    say(`${name}: ${count} effects of a step that is not recorded`)
}

/** A child exists if and only if its parent says so, and tells it of its end once. */
function checkChildren({ runs, messages }, { journals, byUid }, say) {
  const started = new Set()
  for (const journal of journals.values()) {
    for (const { kind, meta } of journal) {
      if (kind !== 'child.started') continue
      started.add(meta.uid)
      if (!byUid.has(meta.uid)) say(`${meta.uid}: a child that was never made`)
    }
  }
  for (const child of runs) {
    if (!child.parent) continue
    if (!started.has(child.uid)) say(`${child.id}: a child nobody knows`)
    const told = messages.filter((m) => m.kind === 'child' && m.meta?.uid === child.uid)
    // One that was cancelled, or whose scope has ended, may be over after its parent, which takes no mail then.
    const isAwaited = journals
      .get(child.parent)
      ?.some(({ kind, meta }) => kind === 'child.ended' && meta?.uid === child.uid)
    if (told.length !== 1 && (told.length > 1 || isAwaited))
      say(`${child.id}: its parent was told ${told.length} times`)
  }
  const ids = messages.map(({ uid, id }) => `${uid} ${id}`)
  for (const id of ids.filter((id, i) => ids.indexOf(id) !== i)) say(`${id}: a message twice`)
}

/** Heard is what was committed, all of it, and nothing else. */
function checkEvents({ events }, { journals }, say) {
  const heard = new Map(events.map(({ id, name }) => [id, name]))
  for (const [uid, journal] of journals) {
    // What a fork was born with has happened in another run.
    const bornWith = journal[0]?.meta?.bornWith ?? 1
    for (const entry of journal) {
      if (entry.seq > 1 && entry.seq <= bornWith) continue
      for (const [id, name] of factsOf(uid, entry)) {
        if (heard.get(id) !== name) say(`${id}: ${name} was heard as ${heard.get(id)}`)
        heard.delete(id)
      }
    }
  }
  for (const [id, name] of heard) say(`${id}: ${name} was heard and is not in the journal`)
}

/** What is told of an entry: id and name of each. */
function factsOf(uid, { seq, kind, meta, payload }) {
  const id = `${uid}:${seq}`
  const facts = TOLD[kind] ? [[id, TOLD[kind]]] : []
  if (kind === 'wait.withdrawn' && meta?.place !== undefined)
    facts.push([id, 'workflow.timeout.triggered'])
  if (kind === 'step.completed' && meta?.checkpoint !== undefined) {
    const { moves } = JSON.parse(payload)
    facts.push(...moves.map((_, i) => [`${id}/${i}`, 'workflow.transition']))
  }
  return facts
}

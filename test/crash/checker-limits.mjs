// What must hold of runs that the engine holds back or starts by itself, and of graphs, whoever died when.

import { PACE } from './workloads-limits.mjs'

const TICK_MS = 1_000
/** Milliseconds of two clocks of one machine, each cut off. */
const CUT_MS = 2
/** Made by wf.emit: the entry that says so. Others have the ids of their callers. */
export const isOfEntry = (id) => /:\d+:\d+$/.test(id)

export function checkLimits(snapshot, world, gone, say) {
  for (const run of snapshot.runs) {
    if (gone(run)) continue
    const journal = world.journals.get(run.uid)
    if (run.def === 'keyed') checkAlone(run, journal, world, gone, say)
    if (run.def === 'drawn') checkJoined(run, journal, say)
  }
  checkPace(snapshot, world, say)
  checkTimes(snapshot, say)
  checkGreeted(snapshot, say)
}

/** Nobody else of its key had begun and not ended when it began. One that was given up could not leave. */
function checkAlone({ id }, journal, { byId }, gone, say) {
  const entered = journal.find((e) => e.kind === 'step.completed' && e.name === 'enter')
  for (const other of JSON.parse(entered?.payload ?? '[]'))
    if (!gone(byId.get(other))) say(`${id}: began while ${other}, of the same key, was under way`)
}

/** What both branches lead to runs when both have ended, once. */
function checkJoined({ id }, journal, say) {
  const seqs = (name) =>
    journal.flatMap((e) => (e.kind === 'step.completed' && e.name === name ? [e.seq] : []))
  const [joined, ...more] = seqs('joined')
  if (joined === undefined || more.length > 0) say(`${id}: joined ${more.length + 1} times`)
  for (const name of ['bend', 'paint'])
    if (!(seqs(name)[0] < joined)) say(`${id}: joined before ${name} had ended`)
}

/** Of each key so many begin within any such time: the third no sooner than one such time after the first was asked for. */
function checkPace({ runs, ledger }, { journals }, say) {
  const began = new Map()
  for (const { run, at } of ledger) began.set(run, Math.min(at, began.get(run) ?? at))
  const groups = new Map()
  for (const run of runs) {
    if (run.def !== 'paced' || !began.has(run.id)) continue
    const created = journals.get(run.uid)[0]
    const { k } = JSON.parse(created.payload)
    const group = groups.get(k) ?? { from: created.at, times: [] }
    group.from = Math.min(group.from, created.at)
    group.times.push(began.get(run.id))
    groups.set(k, group)
  }
  for (const [k, { from, times }] of groups) {
    for (const [i, at] of times.sort((a, b) => a - b).entries()) {
      const least = from + Math.floor(i / PACE.runs) * PACE.perMs
      if (at < least - CUT_MS) say(`${k}: number ${i + 1} began ${least - at} ms too early`)
    }
  }
}

/** Every time of a schedule from its first run to the last that was settled has one run. */
function checkTimes({ runs, schedules }, say) {
  for (const { id, last } of schedules) {
    const prefix = `cron:${id}:`
    const times = runs.flatMap((run) =>
      run.id.startsWith(prefix) ? [Date.parse(run.id.slice(prefix.length))] : [],
    )
    const [first = Number.NaN] = times.sort((a, b) => a - b)
    for (const [i, time] of times.entries())
      if (time !== first + i * TICK_MS) say(`${id}: the run before ${new Date(time)} is not there`)
    if (times.at(-1) !== last)
      say(`${id}: settled until ${last}, its last run is of ${times.at(-1)}`)
  }
}

/** An event has one run of the definition that it starts, and there is no other. */
function checkGreeted({ runs, emitted }, say) {
  const events = emitted.filter(({ name }) => name === 'announced')
  const expected = new Set(events.map(({ id }) => `event:${id}:greeted`))
  const greeted = runs.filter(({ def }) => def === 'greeted')
  for (const { id } of greeted)
    if (!expected.delete(id)) say(`${id}: a run of no event, or a second`)
  for (const id of expected) say(`${id}: an event that has started nothing`)
}

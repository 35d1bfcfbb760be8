// "Why is it not moving?" One sentence and what can be done. Pure: a function of what was read.

import type { RunView } from '../kernel/store.js'
import { errorRecord } from '../model/error-record.js'
import { shownName } from '../model/ids.js'
import type { Entry, Status } from '../model/run.js'
import { isForPeople, openEntries, undoPlan } from './facts.js'
import { differenceText, endError, hasCode } from './info.js'
import type { Explanation, WaitReason } from './types.js'

export interface Seen {
  readonly view: RunView
  /** The newest entries, newest first. */
  readonly entries: readonly Entry[]
  readonly children: readonly RunView[]
  /** `name@version` of what live workers have. */
  readonly live: readonly string[]
  readonly now: number
  /** Why it has no slot; null: it needs none now. */
  readonly noSlot: string | null
}

type Next = Explanation['next']

export function explain(seen: Seen): Explanation {
  const { view } = seen
  if (view.finishedAt !== null) return ended(view)
  if (view.stop === 'cancel') {
    return stopping(seen)
  }
  if (view.status === 'running') {
    const since = view.startedAt ?? view.updatedAt
    if (view.stop === 'pause') {
      const text = `${view.id} is being paused: what runs may finish${openSteps(seen)}.`
      return told('running', text, since, null, [resuming(view)])
    }
    return told('running', `${view.id} is running${openSteps(seen)}.`, since, null, [])
  }
  if (view.stop === 'pause') return waiting(seen)
  const due = view.dueAt !== null && view.dueAt <= seen.now
  if (due && view.owner === null && !hasCode(view, seen.live)) return withoutCode(view)
  if (seen.noSlot !== null) {
    const text = `${view.id} waits for a slot: ${seen.noSlot}.`
    const look = { text: 'see all limits', command: 'engine.limits()' }
    const reason = view.status === 'pending' ? 'pending' : 'slot'
    return told(reason, text, view.dueAt ?? view.updatedAt, null, [look])
  }
  if (view.status === 'pending') return pending(view, due)
  return waiting(seen)
}

/** It is undone, if there is something to undo; that may wait for code or for its next attempt. */
function stopping(seen: Seen): Explanation {
  const { view } = seen
  const plan = undoPlan(seen.entries, [])
  const left = plan.filter(({ state }) => state === 'planned').reverse()
  if (left.length === 0) {
    return told(view.status, `${view.id} is being cancelled.`, view.updatedAt, null, [])
  }
  const names = left.map(({ step }) => `"${step}"`).join(', ')
  const force = {
    text: 'end it without that',
    command: `engine.cancel(${quoted(view.id)}, 'by force', { force: true })`,
  }
  if (view.owner === null && !hasCode(view, seen.live)) {
    const text = `${view.id} is to be cancelled, but no live worker has the code that undoes ${names}.`
    return told('missing-code', text, view.updatedAt, null, [force])
  }
  const text = `${view.id} is being cancelled: ${names} ${left.length === 1 ? 'is' : 'are'} still to be undone${at(view.dueAt)}.`
  return told(view.status, text, view.updatedAt, view.dueAt, [force])
}

function told(
  reason: WaitReason | Status,
  sentence: string,
  since: number,
  until: number | null,
  next: Next,
): Explanation {
  return {
    sentence,
    reason,
    since: new Date(since),
    until: until === null ? null : new Date(until),
    next,
  }
}

function ended(view: RunView): Explanation {
  const { id, status } = view
  const at = view.finishedAt ?? view.updatedAt
  const { end } = view
  if (status === 'completed') return told(status, `${id} is completed.`, at, null, [])
  if (status === 'cancelled' || status === 'timed_out') {
    const why = endError(status, end?.payload ?? null, end?.meta?.reason ?? null).message
    const verb = status === 'cancelled' ? 'was cancelled' : 'timed out'
    return told(status, `${id} ${verb}: ${why}.`, at, null, [])
  }
  const { message } = endError('failed', end?.payload ?? null, end?.meta?.reason ?? null)
  const name = end?.meta?.name
  const where = name
    ? `its step "${shownName(name, end?.meta?.occurrence ?? 1)}" failed`
    : 'it threw'
  const again = { text: 'run it again from there', command: `engine.retry(${quoted(id)})` }
  const undone = end?.meta?.undone ? ' What it had done is undone.' : ''
  return told('failed', `${id} failed because ${where}: ${message}.${undone}`, at, null, [
    ...(undone ? [] : [again]),
    {
      text: 'or leave it, and go on in a new run',
      command: name
        ? `engine.fork(${quoted(id)}, { from: ${quoted(shownName(name, end?.meta?.occurrence ?? 1))} })`
        : `engine.fork(${quoted(id)})`,
    },
  ])
}

function withoutCode(view: RunView): Explanation {
  const { id, definition, version } = view
  const name = version === null ? `"${definition}"` : `"${definition}" version ${version}`
  return told(
    'missing-code',
    `${id} is not moving because no live worker has the code of ${name}.`,
    view.updatedAt,
    null,
    [
      version?.startsWith('#')
        ? {
            text: 'it is a stored graph: start a worker that has the types of its nodes',
            command: 'createEngine({ nodeTypes: [ … ] })',
          }
        : {
            text: 'start a worker that has it',
            command: `createEngine({ workflows: [${definition}] })`,
          },
    ],
  )
}

function pending(view: RunView, due: boolean): Explanation {
  return due
    ? told('pending', `${view.id} waits for a free worker.`, view.createdAt, null, [])
    : told('pending', `${view.id} starts later${at(view.dueAt)}.`, view.createdAt, view.dueAt, [])
}

function waiting(seen: Seen): Explanation {
  const { view } = seen
  const { reason } = view
  if (reason === null) {
    const text = `${view.id} is about to go on; it waits for a free worker.`
    return told('slot', text, view.updatedAt, null, [])
  }
  const [why, next] = WHY[reason](seen)
  return told(reason, `${view.id} is not moving because ${why}.`, view.updatedAt, view.dueAt, next)
}

const WHY: Record<NonNullable<RunView['reason']>, (seen: Seen) => readonly [string, Next]> = {
  signal: forSignal,
  event: forEvent,
  timer: forTimer,
  retry: forRetry,
  child: forChildren,
  paused: ({ view }) => ['it is paused', [resuming(view)]],
  diverged: forCode,
}

function forCode({ view, entries }: Seen): readonly [string, Next] {
  const found = entries.find(({ kind }) => kind === 'run.diverged')?.meta?.difference
  const where = found ? `: ${differenceText(found)}` : ''
  return [
    `its code no longer matches its history${where}; nothing ran in its place`,
    [
      {
        text: 'deploy the code it was started with: it goes on by itself',
        command: `createEngine({ workflows: [${view.definition}] })`,
      },
      {
        text: 'or admit the change in the code',
        command: "if (wf.patched('my-change')) { … }",
      },
      { text: 'or begin anew with the code of now', command: `engine.fork(${quoted(view.id)})` },
    ],
  ]
}

const cancelling = ({ id }: RunView): Next[number] => ({
  text: 'give it up',
  command: `engine.cancel(${quoted(id)})`,
})

const resuming = ({ id }: RunView): Next[number] => ({
  text: 'let it go on',
  command: `engine.resume(${quoted(id)})`,
})

function forSignal(seen: Seen): readonly [string, Next] {
  const waits = openEntries(seen.entries, 'wait.opened')
  const names = [...new Set(waits.flatMap(({ meta }) => meta?.names ?? []))]
  const place = waits[0]?.meta?.place
  if (place !== undefined) return atPlace(seen, place, names.filter(isForPeople))
  const first = names[0]
  if (first === undefined) return ['it waits for a signal', []]
  const listed = names.map((name) => `"${name}"`).join(' or ')
  const command = `engine.signal(${quoted(seen.view.id)}, ${quoted(first)}, { … })`
  const expires = seen.view.dueAt === null ? '' : ` (expires${at(seen.view.dueAt)})`
  return [`it waits for signal ${listed}${expires}`, [{ text: 'send it', command }]]
}

/** A machine: where it is, what may come there, and what went wrong on the way. */
function atPlace({ view }: Seen, place: string, names: readonly string[]): readonly [string, Next] {
  const { id, dueAt, error } = view
  const expires = dueAt === null ? '' : ` (expires${at(dueAt)})`
  const failed = error === null ? '' : `, because of this: ${errorRecord(error).message}`
  const listed = names.map((name) => `'${name}'`).join(' or ')
  const waits = names.length > 0 ? ` and waits for ${listed}` : ''
  const [first] = names
  const trigger = `engine.trigger(${quoted(id)}, ${quoted(first ?? '')}, { … })`
  const next = first === undefined ? [] : [{ text: 'send it', command: trigger }]
  const retry = { text: 'try again what has failed', command: `engine.retry(${quoted(id)})` }
  return [
    `it is at "${place}"${waits}${expires}${failed}`,
    error === null ? next : [...next, retry],
  ]
}

function forEvent(seen: Seen): readonly [string, Next] {
  const { meta } = openEntries(seen.entries, 'wait.opened').find(
    (entry) => entry.meta?.event !== undefined || entry.meta?.run !== undefined,
  ) ?? { meta: null }
  const expires = seen.view.dueAt === null ? '' : ` (expires${at(seen.view.dueAt)})`
  if (meta?.run !== undefined) {
    const next = { text: 'see what that does', command: `engine.explain(${quoted(meta.run)})` }
    return [`it waits for the end of run ${meta.run}${expires}`, [next]]
  }
  if (meta?.event === undefined) return ['it waits for an event', []]
  const command = `engine.emit(${quoted(meta.event)}, { … })`
  return [`it waits for event "${meta.event}"${expires}`, [{ text: 'emit it', command }]]
}

function forTimer(seen: Seen): readonly [string, Next] {
  const timer = openEntries(seen.entries, 'timer.set')[0]
  const which = timer ? ` "${shownName(timer.name, timer.occurrence)}"` : ''
  return [`it sleeps${which}${until(seen.view.dueAt)}`, [cancelling(seen.view)]]
}

function forRetry(seen: Seen): readonly [string, Next] {
  const failed = seen.entries.find(
    ({ kind, meta }) => kind.endsWith('ed') && meta?.retryAt !== undefined,
  )
  const next = [cancelling(seen.view)]
  if (!failed) return [`it waits to retry a step${at(seen.view.dueAt)}`, next]
  const name = shownName(failed.name, failed.occurrence)
  const message = failed.payload === null ? '' : `: ${errorRecord(failed.payload).message}`
  return [
    `attempt ${failed.attempt} of step "${name}" failed${message}; the next is due${at(seen.view.dueAt)}`,
    next,
  ]
}

function forChildren(seen: Seen): readonly [string, Next] {
  if (seen.children.length === 0) return ['it waits for a child run', []]
  const parts = seen.children.slice(0, 3).map((child) => {
    const about = `child run ${child.id} of "${child.definition}"`
    return hasCode(child, seen.live) ? about : `${about}, whose code no live worker has`
  })
  const more = seen.children.length > 3 ? `, and ${seen.children.length - 3} more` : ''
  const first = seen.children[0]?.id ?? ''
  const command = `engine.explain(${quoted(first)})`
  return [`it waits for ${parts.join('; ')}${more}`, [{ text: 'see what that does', command }]]
}

/** Questions of that kind that no later entry has answered. */
function openSteps(seen: Seen): string {
  const names = openEntries(seen.entries, 'step.asked').map((entry) =>
    shownName(entry.name, entry.occurrence),
  )
  return names.length === 0 ? '' : `: ${names.map((name) => `"${name}"`).join(', ')}`
}

const quoted = (text: string): string => `'${text.replaceAll("'", "\\'")}'`
const at = (ms: number | null): string => (ms === null ? '' : ` at ${new Date(ms).toISOString()}`)
const until = (ms: number | null): string =>
  ms === null ? '' : ` until ${new Date(ms).toISOString()}`

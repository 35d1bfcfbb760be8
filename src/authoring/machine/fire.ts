// One transition as a step: a draft of the state, an object of its own to be `this`, and all that it means in one answer.

import { decode, encode, encodeWith, Part } from '../../model/codec.js'
import type { Attempt, Effect, Failure, Kept, StepOrder, Turn } from '../../model/program.js'
import { NO_RETRY } from '../../model/retry.js'
import { errorDocument } from '../documents.js'
import { messageOf, thrown } from '../recorded.js'
import { parse } from '../schema.js'
import { attempted } from './attempted.js'
import type { ContextOf } from './context.js'
import type { Call, Moved, Place, Transition } from './description.js'
import { transitionTimedOut } from './errors.js'
import type { Fields } from './fields.js'
import { firstNow, isAllowed } from './guards.js'
import type { At, Firing, Left, Scene } from './scene.js'

export async function fire(scene: Scene, turn: Turn, firing: Firing): Promise<Left> {
  const { transition, answers, isManual } = firing
  const { name } = transition
  const latest: Latest = { fields: null, key: '' }
  const order: StepOrder = {
    label: 'transition',
    retry: isManual ? NO_RETRY : transition.retry,
    timeoutMs: timeoutOf(scene, transition),
    answers,
    isEarly: scene.machine.takesEvents,
    timedOut: (ms) => transitionTimedOut(name, ms, turn.run.id),
    execute: (attempt) => execute(scene, turn, firing, { attempt, latest }),
    onFailure: (failure, end) => failed(scene, firing, failure, { ...end, latest }),
  }
  return decode(await turn.step(name, order)) as Left
}

function timeoutOf({ around, machine }: Scene, { timeoutMs }: Transition): number | null {
  if (timeoutMs !== undefined) return timeoutMs
  return machine.takesEvents ? null : around.transitionTimeoutMs
}

/** Of the attempt under way, for its failure. */
interface Latest {
  fields: Fields | null
  /** The same for all attempts, and another if a person tries again what has failed for good. */
  key: string
}

interface Executing {
  readonly attempt: Attempt
  readonly latest: Latest
}

async function execute(
  scene: Scene,
  turn: Turn,
  firing: Firing,
  { attempt, latest }: Executing,
): Promise<Effect> {
  const { transition, place, payload, at } = firing
  const { name } = transition
  latest.key = attempt.idempotencyKey
  try {
    const state = await stateBefore(scene, at)
    const of = { state, fields: firing.fields, place, name, payload }
    const { call, fields, context } = await attempted(scene, turn, attempt, of)
    latest.fields = fields
    if (firing.isGuarded && !(await isAllowed(transition, call))) return unmoved(firing)
    const moved = await transition.run(call)
    const isBeginning = transition === scene.machine.begins
    if (moved.moves.length === 0 && !isBeginning) return unmoved(firing)
    return await effectOf(scene, firing, { moved, call, fields, context })
  } catch (error) {
    throw thrown(error, { name, stopOn: transition.retry.stopOn })
  }
}

/** What the schema makes of nothing, if it can: the defaults. */
async function stateBefore({ machine }: Scene, { state, version }: At): Promise<unknown> {
  if (version > 0 || machine.state === null) return state
  const checked = await machine.state['~standard'].validate(state)
  return checked.issues ? state : (checked as { value: unknown }).value
}

function unmoved({ place, at, fields }: Pick<Firing, 'place' | 'at' | 'fields'>): Effect {
  const left: Left = { isMoved: false, isDone: false, place, state: at.state, fields, moves: [] }
  return { value: encode(left, 'a transition') }
}

interface Done {
  readonly moved: Moved
  readonly call: Call
  readonly fields: Fields
  readonly context: ContextOf
}

async function effectOf(scene: Scene, firing: Firing, done: Done): Promise<Effect> {
  const { machine } = scene
  const { moved, call, context } = done
  const { name } = firing.transition
  const state = await checkedState(scene, moved.state, name)
  const to = machine.places.get(moved.place)
  const output = await checkedOutput(scene, moved.output ?? context.output, to)
  const { starts, groups } = context
  const next = to && to.automatic.length > 0 ? firstNow(to, { ...call, state }) : undefined
  const left: Left = {
    isMoved: true,
    isDone: to?.isFinal ?? false,
    place: moved.place,
    state,
    fields: done.fields.changed(),
    moves: moved.moves,
    ...(moved.isStaying && { isStaying: true }),
    ...(call.payload !== undefined && { payload: call.payload }),
    ...(next !== undefined && { next }),
    ...(output && { output }),
    ...(starts.length > 0 && { starts }),
    ...(groups.length > 0 && { groups }),
  }
  const { events, written: documents } = context
  return { ...leaving(scene, name, left, firing.at), events, documents }
}

function partOf(state: unknown, bytesMax: number): { readonly state: Part } | null {
  const part = Part.of(state, bytesMax)
  return part && { state: part }
}

/** That a transition has left this. */
function leaving({ made, around }: Scene, name: string, left: Left, { version }: At) {
  const { place, state } = left
  const limit = around.valueBytesMax
  const inner = partOf(state, limit)
  const parts = inner && { ...left, ...inner }
  const what = `what transition '${name}' of machine "${made.name}" left`
  return {
    value: encodeWith(parts, left, what, limit),
    shown: {
      state: inner?.state.text ?? encode(state, `the state of machine "${made.name}"`, limit),
      at: { place, error: null },
    },
    checkpoint: version + 1,
  }
}

function checkedState({ machine, made }: Scene, state: unknown, name: string): unknown {
  const what = `The state of machine "${made.name}" after transition '${name}'`
  return machine.state === null ? state : parse(machine.state, state, 'PAYLOAD_INVALID', what)
}

async function checkedOutput(
  { machine, made }: Scene,
  output: { readonly value: unknown } | undefined,
  to: Place | undefined,
): Promise<{ readonly value: unknown } | undefined> {
  if (!to?.isFinal || !output || machine.output === null) return output
  const what = `The output of machine "${made.name}"`
  return { value: await parse(machine.output, output.value, 'PAYLOAD_INVALID', what) }
}

/** What stays of a failed attempt: its error as a document, and what it has assigned to `this`. */
function failed(
  scene: Scene,
  { transition, place }: Firing,
  failure: Failure,
  { attempt, isLast, latest }: { attempt: number; isLast: boolean; latest: Latest },
): Kept {
  if (scene.machine.takesEvents) return {}
  const isLeaving = isLast && transition.errorPlace !== null
  return {
    value: encode(latest.fields?.storable() ?? {}, 'the fields of a machine'),
    documents: [errorDocument(messageOf(failure), `${latest.key}:${attempt}`)],
    shown: { at: { place: isLeaving ? transition.errorPlace : place, error: failure.error } },
  }
}

// Reacting: what a message does to a run that waits, where its program can say so at once (Wish.react). It is written down as if the
// body had been heard to do it: taken, done, the end of the round, the next wait. The body hears nothing of that, so its frame
// goes on in this way alone; for whatever else comes the run is loaded.

import { BATCH_BYTES_MAX, BROUGHT_MARGIN_MS, EARLY_ENTRIES_MAX } from '../model/limits.js'
import type { Reaction, Round, Wish } from '../model/program.js'
import type { EntryMeta, Instant, Message, NewEntry } from '../model/run.js'
import { askEntry, outcomeEntry } from './answers.js'
import type { WaitAsk } from './asks.js'
import type { Frame } from './frame.js'
import { taken } from './look.js'
import { Scope } from './scope.js'
import { instantOf, newAsk, roundMeta } from './turn.js'

const NONE: readonly never[] = []

/** So many entries come of one. */
const ENTRIES_EACH = 4

/** What these do one after the other, as far as it can be said, and not more of it than may wait to be stored. */
export function reactionsTo(
  frame: Frame,
  messages: readonly Message[],
  at: Instant,
): readonly Reaction[] {
  const ask = waitOf(frame)
  if (!ask?.react || !frame.mail.isEmpty || frame.deps.attempts.execute) return NONE
  const reactions: Reaction[] = []
  let wish: Pick<Wish, 'names' | 'react'> = { names: ask.names, react: ask.react }
  let bytes = 0
  for (const message of messages) {
    const isMuch = reactions.length * ENTRIES_EACH >= EARLY_ENTRIES_MAX || bytes > BATCH_BYTES_MAX
    const reaction = !isMuch && wish.names.includes(message.name) && wish.react?.(message, at)
    if (!reaction || isDueSoon(reaction.wish, at) || isNamedAs(ask, reaction.step)) break
    reactions.push(reaction)
    bytes += reaction.effect.value.length + reaction.round.value.length
    wish = reaction.wish
  }
  return reactions
}

/** Two questions of one name in a round are told apart by counting, which the body does. */
function isNamedAs({ name, scope }: WaitAsk, step: string): boolean {
  return name === scope.path + step
}

/** It waits for one thing, in a round of a loop. */
function waitOf({ questions }: Frame): WaitAsk | null {
  const [ask] = questions.all()
  return questions.size === 1 && ask?.kind === 'wait' ? ask : null
}

function isDueSoon({ until }: Wish, at: Instant): boolean {
  return until !== null && instantOf(until, at) < at + BROUGHT_MARGIN_MS
}

/** The frame, which was kept, goes on with them, and all of it is one delta. */
export function react(
  frame: Frame,
  messages: readonly Message[],
  reactions: readonly Reaction[],
): void {
  frame.state = 'active'
  frame.handingOver = null
  const at = frame.clock()
  for (const [i, reaction] of reactions.entries()) {
    const ask = waitOf(frame)
    const message = messages[i]
    if (ask && message) write(frame, { ask, message, reaction, at })
  }
  frame.deps.counters['message.reacted'] += reactions.length
  // Of all this only the last is kept, as text and as a value.
  const bytes = 2 * (reactions.at(-1)?.round.value.length ?? 0)
  frame.bytes += bytes - frame.body.keptBytes
  frame.body.keptBytes = bytes
  frame.deps.submit(frame.run.uid)
}

interface Reacted {
  readonly ask: WaitAsk
  readonly message: Message
  readonly reaction: Reaction
  readonly at: Instant
}

/** Word for word what the answers to the body's questions would be (answers.ts); it has asked none of them. */
function write(frame: Frame, { ask, message, reaction, at }: Reacted): void {
  const { run, scribe, questions, mail, out, body, deps } = frame
  const { step, label, effect, round, wish } = reaction
  const { scope } = ask
  mail.taken(message.no)
  deps.took(run.uid, message)
  if (!deps.defects.has('taken-not-marked')) out.takes(message.no)
  scribe.append(outcomeEntry(taken(ask, message), at))
  questions.remove(ask)
  const base = { occurrence: 1, at }
  const done: EntryMeta = { target: label, askedAgo: 0, startedAgo: 0 }
  const meta = effect.checkpoint === undefined ? done : { ...done, checkpoint: effect.checkpoint }
  const kind = 'step.completed'
  scribe.append({ ...base, kind, name: scope.path + step, attempt: 1, meta, payload: effect.value })
  if (effect.shown && !deps.defects.has('shown-not-stored')) out.shows(effect.shown)
  out.answersMessage(message.no, false)
  deps.attempts.meters.step(run.definition, 'completed', 0)
  scribe.append(roundEntry(scope, round, at))
  const next = Scope.ofRoundBehind(scope)
  body.outrun(next.number, out.lastSeq, at)
  const name = next.path + ask.name.slice(scope.path.length)
  const place = { scope: next, name, occurrence: 1 }
  const wait = newAsk({ clock: () => at }, place, { kind: 'wait', wish }, unheard, unheard)
  questions.add(wait)
  scribe.append(askEntry(wait))
}

function roundEntry({ name }: Scope, round: Round, at: Instant): NewEntry {
  const [meta, payload] = [roundMeta(round), round.value]
  return { kind: 'round.ended', name, occurrence: 1, attempt: 0, at, meta, payload }
}

const unheard = (): void => {}

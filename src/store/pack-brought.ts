// Turns that bring their own messages, as the parameters of bring_v2.

import type { Brings, TurnDelta } from '../kernel/store.js'
import type { WorkerId } from '../model/ids.js'
import type { SqlValue } from './driver.js'
import { broughtEntries, countOf, isFolded } from './fold.js'
import { isOutcome, type Placed, packStates } from './pack-turns.js'
import { List, metaText, pack, packSparse, SparseList } from './wire.js'

/** All that it means can be written by bring_v2. Of others it takes the run, and stores the messages. */
export function isBroughtWhole(delta: TurnDelta): boolean {
  const { brings, next } = delta
  if (brings?.reactions) return true
  const { taken, refused, answers } = delta
  if (!brings || delta.starts.length + delta.messages.length > 0) return false
  if (delta.events.length + delta.documents.length > 0) return false
  if (delta.waits !== null || delta.undoOpen !== null || delta.notBefore !== null) return false
  const isOld = (no: number): boolean => no <= brings.inbox
  if (taken.some(isOld) || refused.some(isOld) || answers.some(({ no }) => isOld(no))) return false
  if (next.kind !== 'park') return next.kind !== 'release'
  const isSeen = next.seen === brings.inbox + brings.messages.length
  return isSeen && next.divergedBuild === null && next.stopSeen === null
}

export function broughtColumns(by: WorkerId, turns: readonly Placed<TurnDelta>[]): SqlValue[] {
  const wholes = turns.map(({ delta, place }) => ({
    delta: isBroughtWhole(delta) ? delta : onlyTaken(delta),
    place,
  }))
  const [entries, states] = [broughtEntries(wholes.map(({ delta }) => delta)), packStates(wholes)]
  const isDoubtful = turns.some(({ delta }) => !bringsOf(delta).areNew)
  const columns = [...turnColumns(by, turns, wholes), states, ...entries, ...messageColumns(wholes)]
  return [...columns, isDoubtful]
}

/** What is left of it when the rest is for the commit call. */
function onlyTaken(delta: TurnDelta): TurnDelta {
  const none = { entries: [], taken: [], refused: [], answers: [], shown: null }
  return { ...delta, ...none, next: { kind: 'go' } }
}

function turnColumns(
  by: WorkerId,
  turns: readonly Placed<TurnDelta>[],
  wholes: readonly Placed<TurnDelta>[],
): SqlValue[] {
  const [uid, owner, epoch, seq] = [new List(), new SparseList(by), new List(), new List()]
  const [count, inbox, mail, kind, outcome] = [
    new List(),
    new List(),
    new List(),
    new List(),
    new List(),
  ]
  const taken = new SparseList(0)
  const [due, before] = [new SparseList(null), new SparseList(null)]
  const [word, silent] = [new SparseList(null), new SparseList(null)]
  for (const [i, { delta }] of wholes.entries()) {
    const { fence, next } = delta
    const brings = bringsOf(delta)
    const park = next.kind === 'park' ? next : null
    uid.add(fence.uid)
    owner.add(fence.owner)
    epoch.add(fence.epoch)
    seq.add(fence.seq)
    count.add(countOf(delta))
    inbox.add(brings.inbox)
    mail.add(brings.messages.length)
    const reacted = brings.reactions?.length ?? 0
    taken.add(reacted || delta.taken.length + delta.refused.length)
    outcome.add(reacted > 0 || delta.entries.some(isOutcome))
    due.add(park ? park.dueAt : null)
    before.add(delta.notBefore)
    kind.add(next.kind)
    word.add(park ? park.reason : next.kind === 'end' ? next.status : null)
    silent.add(delta === turns[i]?.delta ? null : true)
  }
  const numbers = [uid, owner, epoch, seq, count, inbox, mail, taken, outcome, due, before]
  return [...numbers, kind, word, silent].map(String)
}

function messageColumns(turns: readonly Placed<TurnDelta>[]): SqlValue[] {
  const [turn, no, kind] = [new List(), new List(), new List()]
  const [fate, reply] = [new SparseList(null), new SparseList(null)]
  const ids: string[] = []
  const names: string[] = []
  const metas: (string | null)[] = []
  const payloads: (string | null)[] = []
  for (const [at, { delta }] of turns.entries()) {
    const { inbox, messages, areNew } = bringsOf(delta)
    if (areNew && isFolded(delta)) continue
    const replies = new Map(delta.answers.map((answer) => [answer.no, answer.entry ?? 0]))
    const [taken, refused] = [new Set(delta.taken), new Set(delta.refused)]
    for (const [i, message] of messages.entries()) {
      const number = inbox + i + 1
      turn.add(at + 1)
      no.add(i + 1)
      fate.add(taken.has(number) ? 1 : refused.has(number) ? 0 : null)
      reply.add(replies.get(number) ?? null)
      kind.add(message.kind)
      ids.push(message.id)
      names.push(message.name)
      metas.push(metaText(message.meta))
      payloads.push(message.payload)
    }
  }
  const texts = [pack(ids), pack(names), packSparse(metas), packSparse(payloads)]
  return [...[turn, no, fate, reply, kind].map(String), ...texts]
}

const NOTHING: Brings = { inbox: 0, messages: [], areNew: true, reactions: null }

function bringsOf({ brings }: TurnDelta): Brings {
  return brings ?? NOTHING
}

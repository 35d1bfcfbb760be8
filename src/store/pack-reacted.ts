// Turns that are nothing but what messages have done without the body, as the parameters of react_v1. A batch of them is the commonest one of a
// process with many machines, so what is the same for all of them is not said.

import type { Brings, Delta, Next, TurnDelta } from '../kernel/store.js'
import type { WorkerId } from '../model/ids.js'
import type { Reacted } from '../model/reacted.js'
import { nextWaitOf } from '../model/reacted.js'
import type { Instant } from '../model/run.js'
import type { SqlValue } from './driver.js'
import { foldedText, openedText } from './fold.js'
import { List, pack, packSparse, SparseList, Texts } from './wire.js'

/** As react_v1 takes it. */
export interface ReactedTurn extends TurnDelta {
  readonly brings: Brings & { readonly reactions: readonly Reacted[] }
  readonly next: Extract<Next, { kind: 'park' }>
}

/** What has ids of callers leaves messages, and bring_v2 writes these. */
export function isReacted(delta: Delta): delta is ReactedTurn {
  return delta.kind === 'turn' && !!delta.brings?.reactions?.length && delta.brings.areNew
}

export function reactedColumns(by: WorkerId, turns: readonly ReactedTurn[]): SqlValue[] {
  const [uid, owner, epoch, seq] = [new List(), new SparseList(by), new List(), new List()]
  const [inbox, count] = [new List(), new SparseList(1)]
  const [due, reason] = [new SparseList(null), new SparseList('signal')]
  const shown = new ShownRows()
  const entries = new Entries(turns[0]?.brings.reactions[0]?.at ?? 0)
  let turn = 0
  for (const { fence, brings, next } of turns) {
    turn += 1
    const { reactions } = brings
    uid.add(fence.uid)
    owner.add(fence.owner)
    epoch.add(fence.epoch)
    seq.add(fence.seq)
    inbox.add(brings.inbox)
    count.add(reactions.length)
    due.add(next.dueAt)
    reason.add(next.reason)
    shown.add(reactions, turn, entries.length)
    entries.add(turn, reactions)
  }
  const columns = [uid, owner, epoch, seq, inbox, count, due, reason].map(String)
  return [...columns, ...shown.columns(), ...entries.columns()]
}

/** What people see: the place, no error, and in which entry the state is, if not in the one of the turn's own number. */
class ShownRows {
  private readonly places: (string | null)[] = []
  private readonly entry = new List()
  private isElsewhere = false
  private count = 0

  add(reactions: readonly Reacted[], turn: number, before: number): void {
    const at = reactions.findLastIndex(({ done }) => done.place !== null)
    const place = reactions[at]?.done.place ?? null
    const entry = before + at + 1
    this.places.push(place)
    this.entry.add(place === null ? null : entry)
    if (place === null) return
    this.count += 1
    if (entry !== turn) this.isElsewhere = true
  }

  columns(): SqlValue[] {
    return [this.count, packSparse(this.places), '', this.isElsewhere ? String(this.entry) : '{}']
  }
}

/** Each is the last of four. */
class Entries {
  private readonly from: Instant
  private readonly turn = new List()
  private readonly no = new List()
  private readonly at = new List()
  private readonly names: string[] = []
  private readonly metas: string[] = []
  private readonly folded = new Texts()
  private isOneEach = true

  constructor(from: Instant) {
    this.from = from
  }

  get length(): number {
    return this.names.length
  }

  add(turn: number, reactions: readonly Reacted[]): void {
    if (reactions.length > 1) this.isOneEach = false
    let no = 0
    for (const one of reactions) {
      no += 1
      this.turn.add(turn)
      this.no.add(no)
      this.at.add(one.at - this.from)
      this.names.push(nextWaitOf(one))
      this.metas.push(openedText(one.opened))
      this.folded.add(foldedText(one), one.id, one.name)
    }
  }

  columns(): SqlValue[] {
    const { turn, no, at, from, names, metas, folded } = this
    const whose = this.isOneEach ? ['{}', '{}'] : [turn, no].map(String)
    return [...whose, from, String(at), pack(names), pack(metas), String(folded)]
  }
}

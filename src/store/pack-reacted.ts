// Turns that are nothing but what messages have done without the body, as the parameters of react_v1. A batch of them is the commonest one of a
// process with many machines, so what is the same for all of them is not said.

import type { Brings, Delta, Next, TurnDelta } from '../kernel/store.js'
import type { WorkerId } from '../model/ids.js'
import type { Reacted } from '../model/reacted.js'
import type { Instant } from '../model/run.js'
import type { SqlValue } from './driver.js'
import { foldedText, openedText } from './fold.js'
import { List, pack, packSparse, SparseList } from './wire.js'

/** As react_v1 takes it. */
export interface ReactedTurn extends TurnDelta {
  readonly brings: Brings & { readonly reactions: readonly Reacted[] }
  readonly next: Extract<Next, { kind: 'park' }>
}

/** What has ids of callers leaves messages, and bring_v2 writes these. */
export function isReacted(delta: Delta): delta is ReactedTurn {
  if (delta.kind !== 'turn' || !delta.brings?.reactions?.length) return false
  const { brings, next, shown } = delta
  if (!brings.areNew || next.kind !== 'park' || next.stopSeen !== null) return false
  if (next.divergedBuild !== null || delta.notBefore !== null) return false
  return shown === null || shownBy(brings.reactions ?? [], delta) >= 0
}

/** Which of them has left what the turn shows. -1: it is told in other words. */
function shownBy(reactions: readonly Reacted[], { shown }: TurnDelta): number {
  if (!shown?.at?.place) return -1
  const at = reactions.findLastIndex((one) => one.shown !== null)
  return reactions[at]?.state === shown.state ? at : -1
}

export function reactedColumns(by: WorkerId, turns: readonly ReactedTurn[]): SqlValue[] {
  const [uid, owner, epoch, seq] = [new List(), new SparseList(by), new List(), new List()]
  const [inbox, count] = [new List(), new SparseList(1)]
  const [due, reason] = [new SparseList(null), new SparseList('signal')]
  const shown = new ShownRows()
  const entries = new Entries(turns[0]?.brings.reactions[0]?.at ?? 0)
  let turn = 0
  for (const delta of turns) {
    turn += 1
    const { fence, brings, next } = delta
    const { reactions } = brings
    uid.add(fence.uid)
    owner.add(fence.owner)
    epoch.add(fence.epoch)
    seq.add(fence.seq)
    inbox.add(brings.inbox)
    count.add(reactions.length)
    due.add(next.dueAt)
    reason.add(next.reason)
    shown.add(delta, turn, entries.length)
    entries.add(turn, reactions)
  }
  const columns = [uid, owner, epoch, seq, inbox, count, due, reason].map(String)
  return [...columns, ...shown.columns(), ...entries.columns()]
}

/** What people see: the place, the error, and in which entry the state is, if not in the one of the turn's own number. */
class ShownRows {
  private readonly places: (string | null)[] = []
  private readonly errors: (string | null)[] = []
  private readonly entry = new List()
  private isElsewhere = false
  private count = 0

  add(delta: ReactedTurn, turn: number, before: number): void {
    const { shown } = delta
    const entry = shown ? before + shownBy(delta.brings.reactions, delta) + 1 : null
    this.places.push(shown?.at?.place ?? null)
    this.errors.push(shown?.at?.error || null)
    this.entry.add(entry)
    if (shown) this.count += 1
    if (entry !== null && entry !== turn) this.isElsewhere = true
  }

  columns(): SqlValue[] {
    const entry = this.isElsewhere ? String(this.entry) : '{}'
    return [this.count, packSparse(this.places), packSparse(this.errors), entry]
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
  private readonly folded: string[] = []
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
      this.names.push(one.next)
      this.metas.push(openedText(one.opened))
      this.folded.push(foldedText(one))
    }
  }

  columns(): SqlValue[] {
    const { turn, no, at, from, names, metas, folded } = this
    const whose = this.isOneEach ? ['{}', '{}'] : [turn, no].map(String)
    return [...whose, from, String(at), ...[names, metas, folded].map(pack)]
  }
}

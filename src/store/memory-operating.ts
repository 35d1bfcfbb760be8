// The operating half of the store in memory. A caller's transaction is a list of what to do at its commit.

import type {
  CallersTransaction,
  Client,
  ForkPlan,
  Letter,
  LoneAnswer,
  LoneStart,
  NewRun,
  OperatingStore,
  PauseAnswer,
  Receiver,
  Within,
} from '../kernel/store.js'
import type { Counted } from '../model/admission.js'
import { transactionForeign } from '../model/errors.js'
import type { Uid } from '../model/ids.js'
import { isFinal, type Stored } from '../model/run.js'
import { documentsUpTo } from './memory-documents.js'
import { refuseUnstorable } from './memory-refusals.js'
import { idKey, type MemoryRun, setDue } from './memory-run.js'
import { MemoryTables } from './memory-tables.js'

/** What a caller's transaction does when it commits. */
interface Pending {
  readonly starts: LoneStart[]
  readonly letters: Letter[]
  readonly rest: (() => void)[]
}

type Posted = Letter & { readonly no: number }

export class MemoryOperating extends MemoryTables implements Omit<OperatingStore, 'debounce'> {
  private posted: Posted[] = []
  private lettersWritten = 0
  private readonly callers = new WeakMap<Client, Pending>()

  async begin(_limitMs: number): Promise<CallersTransaction> {
    const pending: Pending = { starts: [], letters: [], rest: [] }
    const transaction: CallersTransaction = {
      query: async () => ({ rows: [], rowCount: 0 }),
      inside: (work) => work(),
      rollback: async () => void this.callers.delete(transaction),
      commit: async () => {
        this.callers.delete(transaction)
        for (const start of pending.starts) this.startNow(start)
        for (const letter of pending.letters) this.postNow(letter)
        for (const happen of pending.rest) happen()
      },
    }
    this.callers.set(transaction, pending)
    return transaction
  }

  async startAlone(start: LoneStart, within: Within | null): Promise<LoneAnswer> {
    const { run, message } = start
    refuseUnstorable([{ kind: 'start', run, claim: false }], this)
    const pending = within ? this.pendingOf(within) : null
    const answer = this.known(start) ?? pending?.starts.map((one) => met(one, start)).find(Boolean)
    if (pending && answer?.kind === 'exists' && answer.same && message) {
      pending.letters.push({ to: run, ...message })
    }
    if (answer) return answer
    if (pending) pending.starts.push(start)
    else this.startNow(start)
    return { kind: 'done' }
  }

  async lookWithin(within: Within, to: Receiver) {
    const row = this.find(to.workspace, to.id)
    if (row) return { definition: row.run.definition, status: row.status }
    const started = this.pendingOf(within).starts.find(
      ({ run }) => run.workspace === to.workspace && run.id === to.id,
    )
    return started ? { definition: started.run.definition, status: 'pending' as const } : null
  }

  async post(within: Within, letter: Letter): Promise<void> {
    this.pendingOf(within).letters.push(letter)
  }

  protected atCommit(within: Within, happen: () => void): void {
    this.pendingOf(within).rest.push(happen)
  }

  async letters(atMost: number): Promise<readonly Posted[]> {
    return this.posted.slice(0, atMost)
  }

  async burn(letters: readonly number[]): Promise<void> {
    this.posted = this.posted.filter(({ no }) => !letters.includes(no))
  }

  async setPaused(to: Receiver, isPaused: boolean): Promise<PauseAnswer> {
    const row = this.find(to.workspace, to.id)
    if (!row) return { kind: 'refused', code: 'RUN_NOT_FOUND', status: null }
    if (isFinal(row.status)) return { kind: 'refused', code: 'RUN_FINISHED', status: row.status }
    if (row.stop === 'cancel') {
      return { kind: 'refused', code: 'RUN_FINISHED', status: 'being cancelled' }
    }
    if (isPaused && row.stop === null) this.pause(row)
    if (!isPaused && row.stop === 'pause') this.resume(row)
    return { kind: 'done', uid: row.uid }
  }

  async fork(plan: ForkPlan): Promise<LoneAnswer | { readonly kind: 'gone' }> {
    const of = this.runs.get(plan.of)
    if (!of) return { kind: 'gone' }
    const { uid, id, upTo } = plan
    const input = plan.input ?? of.journal[0]?.payload ?? ''
    const parts = { parent: null, delayMs: 0, timeoutMs: null }
    const run: NewRun = { ...of.run, uid, id, version: of.version, input, ...parts }
    const answer = this.known({ run, meta: null, message: null })
    if (answer?.kind === 'exists') {
      const [created] = this.find(run.workspace, id)?.journal ?? []
      const same = JSON.stringify(created?.meta) === JSON.stringify(plan.meta)
      return { ...answer, same: answer.same && same }
    }
    if (answer) return answer
    const now = this.now()
    const row = this.insert({ kind: 'start', run, claim: false }, { by: null, now, spans: [] })
    row.startedAt = of.startedAt
    row.deadlineAt = of.deadlineAt === null ? null : now + (of.deadlineAt - of.createdAt)
    row.journal.splice(
      0,
      1,
      ...of.journal.slice(0, upTo).map((entry) => copied(entry, plan, input)),
    )
    row.documents.push(...documentsUpTo(of, upTo))
    return { kind: 'done' }
  }

  async prune(keepMs: number, _after: Uid | null) {
    const horizon = this.now() - keepMs
    const isOld = ({ finishedAt }: MemoryRun): boolean =>
      finishedAt !== null && finishedAt < horizon
    const doomed = [...this.runs.values()].filter((row) => {
      const parent = row.run.parent && this.runs.get(row.run.parent.uid)
      return isOld(row) && (!parent || isOld(parent))
    })
    for (const { uid, run } of doomed) {
      this.runs.delete(uid)
      this.byId.delete(idKey(run.workspace, run.id))
    }
    return { pruned: doomed.length, next: null }
  }

  /** Its due time stays: no claim looks at it. */
  private pause(row: MemoryRun): void {
    row.stop = 'pause'
    row.updatedAt = this.now()
    row.reason = null
    if (row.owner !== null) return
    row.status = 'waiting'
    row.reason = 'paused'
    if (row.slot === null) return
    row.slot = false
    setDue(row, row.dueAt ?? row.asksAt)
  }

  private resume(row: MemoryRun): void {
    const now = this.now()
    row.stop = null
    row.updatedAt = now
    row.reason = null
    if (row.owner !== null) return
    const isNew = row.epoch === 0
    setDue(row, isNew ? (row.dueAt ?? row.asksAt ?? now) : now)
    row.status = isNew ? 'pending' : 'waiting'
    row.reason = row.divergedBuilds.length > 0 ? 'diverged' : null
  }

  private pendingOf({ client }: Within) {
    const pending = this.callers.get(client)
    if (!pending) throw transactionForeign('elsewhere')
    return pending
  }

  private known({ run }: LoneStart): LoneAnswer | null {
    const row = this.find(run.workspace, run.id)
    if (!row) return null
    if (row.uid === run.uid) return { kind: 'done' }
    const { definition } = row.run
    const same = definition === run.definition && row.journal[0]?.payload === run.input
    return { kind: 'exists', uid: row.uid, definition, same }
  }

  /** The version that a start of a stored definition gets; null: there is none for that workspace. */
  protected storedVersion(_definition: string, _workspace: string): string | null {
    return null
  }

  /** Where a run is counted that the store starts itself; null: its definition has no limits. */
  protected limitsOf(_definition: string, _workspace: string, _input: Stored): Counted | null {
    return null
  }

  /** It is stored, for another workspace. */
  protected isForeign(_definition: string, _workspace: string): boolean {
    return false
  }

  protected startNow({ run, meta, message }: LoneStart): void {
    const now = this.now()
    const version = run.version ?? this.storedVersion(run.definition, run.workspace)
    const row = this.insert(
      { kind: 'start', run: { ...run, version }, claim: false },
      { by: null, now, spans: [] },
      meta,
    )
    if (!message) return
    row.inbox = 1
    row.messages.push({ ...message, no: 1, at: now, takenSeq: null, replySeq: null })
  }

  private postNow(letter: Letter): void {
    this.lettersWritten += 1
    this.posted.push({ ...letter, no: this.lettersWritten })
  }
}

function copied(
  entry: MemoryRun['journal'][number],
  { meta, outputs, forgetsChild }: ForkPlan,
  input: string,
): MemoryRun['journal'][number] {
  if (entry.seq === 1) return { ...entry, epoch: 0, meta, payload: input }
  const { no, uid, undoable, ...rest } = entry.meta ?? {}
  const isDone = entry.kind === 'step.completed' || entry.kind === 'child.ended'
  const isOurs = uid !== undefined && !forgetsChild.includes(entry.seq)
  const more = { ...(isOurs && { uid }), ...(isDone && { inherited: true }) }
  const own = entry.meta === null && !isDone ? null : { ...rest, ...more }
  const replaced = outputs.find(({ seq }) => seq === entry.seq)
  return { ...entry, epoch: 0, meta: own, payload: replaced?.payload ?? entry.payload }
}

/** A start of the same transaction under the same id. */
function met({ run }: LoneStart, other: LoneStart): LoneAnswer | null {
  if (run.workspace !== other.run.workspace || run.id !== other.run.id) return null
  const { uid, definition, input } = run
  const same = definition === other.run.definition && input === other.run.input
  return { kind: 'exists', uid, definition, same }
}

// One process's connection to the shared store in memory, with everything that a network and a database do to it.

import type {
  Answer,
  Committed,
  Delta,
  Fence,
  LoneStart,
  RunReader,
  StepTransaction,
  Store,
  TurnDelta,
  Worker,
} from '../../src/kernel/store.js'
import { StoreRefused, StoreUnavailable } from '../../src/kernel/store.js'
import type { Uid, WorkerId } from '../../src/model/ids.js'
import type { MemoryStore } from '../../src/store/memory.js'
import type { Faults, Options } from './options.js'
import { POISON } from './programs.js'
import type { Life, Scheduler } from './scheduler.js'

/** Hears of every change, right after it was applied. */
export interface Witness {
  readonly scheduler: Scheduler
  readonly memory: MemoryStore
  readonly options: Options
  strikes(kind: keyof Faults): boolean
  /** The database answers nobody until then. */
  readonly awayUntil: number
  dbNow(): number
  changed(what: Change): void
}

export interface Change {
  readonly method: string
  readonly by: Worker | null
  readonly deltas: readonly Delta[]
  readonly answers: readonly Answer[]
  /** The answer to the first sending was lost. */
  readonly resent?: boolean
}

const never = <T>(): Promise<T> => new Promise<T>(() => {})

export class FaultyStore implements Store {
  readonly read: RunReader
  /** Transactions that were opened and neither closed nor rolled back. */
  readonly transactions = new Set<StepTransaction>()
  /** Runs with a turn under way: sent, and not answered. */
  readonly committing = new Map<Uid, number>()
  /** When the calls were made that are not answered yet. */
  private readonly askedAt = new Set<{ readonly at: number }>()
  private readonly world: Witness
  private readonly life: Life
  private joined: WorkerId | null = null
  private isReapUnanswered = false

  constructor(world: Witness, life: Life) {
    this.world = world
    this.life = life
    const { read } = world.memory
    this.read = {
      get: (workspace, id) => this.call('get', () => read.get(workspace, id)),
      list: (filter) => this.call('list', () => read.list(filter)),
      history: (uid, page) => this.call('history', () => read.history(uid, page)),
      checkpoints: (uid, page) => this.call('checkpoints', () => read.checkpoints(uid, page)),
      documents: (uid) => this.call('documents', () => read.documents(uid)),
      openChildren: (uid) => this.call('openChildren', () => read.openChildren(uid)),
      liveDefinitions: () => this.call('liveDefinitions', () => read.liveDefinitions()),
      workers: () => this.call('workers', () => read.workers()),
      counts: (workspace) => this.call('counts', () => read.counts(workspace)),
      dueLagMs: () => this.call('dueLag', () => read.dueLagMs()),
      limitRules: () => this.call('limitRules', () => read.limitRules()),
      limitUse: () => this.call('limitUse', () => read.limitUse()),
      holders: (where, most) => this.call('holders', () => read.holders(where, most)),
      askers: (where, most) => this.call('askers', () => read.askers(where, most)),
      activity: (window) => this.call('activity', () => read.activity(window)),
      inbox: (of) => this.call('inbox', () => read.inbox(of)),
      recent: (uids, most) => this.call('recent', () => read.recent(uids, most)),
      visible: (uids, most) => this.call('visible', () => read.visible(uids, most)),
      stepCounts: (of) => this.call('stepCounts', () => read.stepCounts(of)),
    }
  }

  commit(
    by: Worker,
    deltas: readonly Delta[],
    options: { readonly resent: boolean; readonly feed: boolean },
  ): Promise<Committed> {
    const uids = deltas.flatMap((delta) => (delta.kind === 'turn' ? [delta.fence.uid] : []))
    for (const uid of uids) this.committing.set(uid, (this.committing.get(uid) ?? 0) + 1)
    const over = (): void => {
      for (const uid of uids) {
        const left = (this.committing.get(uid) ?? 1) - 1
        if (left > 0) this.committing.set(uid, left)
        else this.committing.delete(uid)
      }
    }
    const committed = this.call(
      `commit ${deltas.map(labelOf).join(' ')}${options.resent ? ' resent' : ''}`,
      async () => this.commitSome(by, deltas, options),
      true,
      this.world.options.crowdMs,
    )
    committed.then(over, over)
    return committed
  }

  private commitSome(
    by: Worker,
    deltas: readonly Delta[],
    options: { readonly resent: boolean; readonly feed: boolean },
  ): Committed {
    if (deltas.some((delta) => JSON.stringify(delta).includes(POISON))) {
      throw new StoreRefused('poison', '22P05')
    }
    const { memory } = this.world
    const kept = deltas.filter(() => !this.world.strikes('busy'))
    const committed = memory.commitNow(by, kept, options)
    const { answers } = committed
    const { resent } = options
    this.world.changed({ method: 'commit', by, deltas: kept, answers, resent })
    const answerOf = (delta: Delta): Answer => answers[kept.indexOf(delta)] ?? { kind: 'busy' }
    return { ...committed, answers: deltas.map(answerOf) }
  }

  claim(by: Worker, places: number, suspects: number) {
    const { memory } = this.world
    return this.change('claim', by, () => memory.claim(by, places, suspects), true)
  }

  admit(...args: Parameters<Store['admit']>) {
    return this.change('admit', args[1] ?? null, () => this.world.memory.admit(...args), true)
  }

  debounce(start: LoneStart, key: string) {
    return this.change('debounce', null, () => this.world.memory.debounce(start, key), true)
  }

  load(
    what: readonly { readonly fence: Fence; readonly fromSeq: number; readonly fromNo: number }[],
  ) {
    return this.call('load', () => this.world.memory.load(what))
  }

  putSchedule(...args: Parameters<Store['putSchedule']>) {
    return this.call('putSchedule', () => this.world.memory.putSchedule(...args))
  }

  schedules(...args: Parameters<Store['schedules']>) {
    return this.call('schedules', () => this.world.memory.schedules(...args))
  }

  schedule(...args: Parameters<Store['schedule']>) {
    return this.call('schedule', () => this.world.memory.schedule(...args))
  }

  schedulesOf(...args: Parameters<Store['schedulesOf']>) {
    return this.call('schedulesOf', () => this.world.memory.schedulesOf(...args))
  }

  declare(...args: Parameters<Store['declare']>) {
    return this.call('declare', () => this.world.memory.declare(...args))
  }

  saveDefinition(...args: Parameters<Store['saveDefinition']>) {
    return this.call('saveDefinition', () => this.world.memory.saveDefinition(...args))
  }

  archiveDefinition(...args: Parameters<Store['archiveDefinition']>) {
    return this.call('archiveDefinition', () => this.world.memory.archiveDefinition(...args))
  }

  definition(...args: Parameters<Store['definition']>) {
    return this.call('definition', () => this.world.memory.definition(...args))
  }

  definitions(...args: Parameters<Store['definitions']>) {
    return this.call('definitions', () => this.world.memory.definitions(...args))
  }

  definitionTexts(...args: Parameters<Store['definitionTexts']>) {
    return this.call('definitionTexts', () => this.world.memory.definitionTexts(...args))
  }

  definitionVersions(...args: Parameters<Store['definitionVersions']>) {
    return this.call('definitionVersions', () => this.world.memory.definitionVersions(...args))
  }

  usedDefinitions(...args: Parameters<Store['usedDefinitions']>) {
    return this.call('usedDefinitions', () => this.world.memory.usedDefinitions(...args))
  }

  subscribe(...args: Parameters<Store['subscribe']>) {
    return this.call('subscribe', () => this.world.memory.subscribe(...args))
  }

  pauseSchedule(...args: Parameters<Store['pauseSchedule']>) {
    return this.call('pauseSchedule', () => this.world.memory.pauseSchedule(...args))
  }

  dropSchedule(...args: Parameters<Store['dropSchedule']>) {
    return this.call('dropSchedule', () => this.world.memory.dropSchedule(...args))
  }

  dueSchedules(...args: Parameters<Store['dueSchedules']>) {
    return this.call('dueSchedules', () => this.world.memory.dueSchedules(...args))
  }

  fire(...args: Parameters<Store['fire']>) {
    return this.call('fire', () => this.world.memory.fire(...args))
  }

  putWebhooks(...args: Parameters<Store['putWebhooks']>) {
    return this.call('putWebhooks', () => this.world.memory.putWebhooks(...args))
  }

  webhooks(...args: Parameters<Store['webhooks']>) {
    return this.call('webhooks', () => this.world.memory.webhooks(...args))
  }

  webhookAt(...args: Parameters<Store['webhookAt']>) {
    return this.call('webhookAt', () => this.world.memory.webhookAt(...args))
  }

  rotateWebhook(...args: Parameters<Store['rotateWebhook']>) {
    return this.call('rotateWebhook', () => this.world.memory.rotateWebhook(...args))
  }

  startByWebhook(...args: Parameters<Store['startByWebhook']>) {
    return this.call('startByWebhook', () => this.world.memory.startByWebhook(...args))
  }

  putWebhookTargets(...args: Parameters<Store['putWebhookTargets']>) {
    return this.call('putWebhookTargets', () => this.world.memory.putWebhookTargets(...args))
  }

  webhookTargets(...args: Parameters<Store['webhookTargets']>) {
    return this.call('webhookTargets', () => this.world.memory.webhookTargets(...args))
  }

  publish(...args: Parameters<Store['publish']>) {
    return this.call('publish', () => this.world.memory.publish(...args))
  }

  standings(...args: Parameters<Store['standings']>) {
    return this.call('standings', () => this.world.memory.standings(...args))
  }

  chunks(...args: Parameters<Store['chunks']>) {
    return this.call('chunks', () => this.world.memory.chunks(...args))
  }

  follow() {
    return this.call('follow', () => this.world.memory.follow())
  }

  changes(...args: Parameters<Store['changes']>) {
    return this.call('changes', () => this.world.memory.changes(...args))
  }

  async open(by: Worker, limitMs: number): Promise<StepTransaction> {
    const inner = await this.call('open', () => this.world.memory.open(by, limitMs))
    const transaction: StepTransaction = {
      query: (sql, params) => inner.query(sql, params),
      close: (delta, options) => {
        this.transactions.delete(transaction)
        const apply = () => this.closeTransaction(by, delta, () => inner.close(delta, options))
        return this.call(`close ${labelOf(delta)}`, apply)
      },
      rollback: async () => {
        this.transactions.delete(transaction)
        await inner.rollback()
      },
    }
    this.transactions.add(transaction)
    return transaction
  }

  private async closeTransaction(
    by: Worker,
    delta: TurnDelta,
    close: () => Promise<Committed>,
  ): Promise<Committed> {
    if (JSON.stringify(delta).includes(POISON)) throw new StoreRefused('poison', '22P05')
    if (this.world.strikes('busy')) {
      const now = this.world.dbNow()
      return { now, answers: [{ kind: 'busy' }], claimed: [], feedId: null, isAsking: false }
    }
    const committed = await close()
    this.world.changed({ method: 'close', by, deltas: [delta], answers: committed.answers })
    return committed
  }

  resolve(fence: Fence, lastSeq: number) {
    return this.call('resolve', () => this.world.memory.resolve(fence, lastSeq))
  }

  async join(by: Worker) {
    const joined = await this.change('join', by, () => this.world.memory.join(by))
    this.joined = by.id
    return joined
  }

  beat(by: Worker) {
    return this.change('beat', by, () => this.world.memory.beat(by))
  }

  leave(by: Worker): Promise<void> {
    return this.change('leave', by, () => this.world.memory.leave(by))
  }

  async reap(unmoved: Parameters<Store['reap']>[0], inherit: boolean) {
    const { isReapUnanswered } = this
    const heir = inherit ? this.joined : null
    if (inherit) this.isReapUnanswered = true
    const reap = () => this.world.memory.reapFor(heir, isReapUnanswered, unmoved)
    const reaped = await this.change('reap', null, reap)
    if (inherit) this.isReapUnanswered = false
    return reaped
  }

  reopen(chain: Parameters<Store['reopen']>[0]) {
    return this.change('reopen', null, () => this.world.memory.reopen(chain))
  }

  begin(limitMs: number) {
    return this.call('begin', () => this.world.memory.begin(limitMs))
  }

  startAlone(...args: Parameters<Store['startAlone']>) {
    return this.change('startAlone', null, () => this.world.memory.startAlone(...args))
  }

  lookWithin(...args: Parameters<Store['lookWithin']>) {
    return this.call('lookWithin', () => this.world.memory.lookWithin(...args))
  }

  post(...args: Parameters<Store['post']>) {
    return this.call('post', () => this.world.memory.post(...args))
  }

  letters(atMost: number) {
    return this.call('letters', () => this.world.memory.letters(atMost))
  }

  burn(letters: readonly number[]) {
    return this.call('burn', () => this.world.memory.burn(letters))
  }

  setPaused(...args: Parameters<Store['setPaused']>) {
    return this.change('setPaused', null, () => this.world.memory.setPaused(...args))
  }

  fork(...args: Parameters<Store['fork']>) {
    return this.change('fork', null, () => this.world.memory.fork(...args))
  }

  prune(...args: Parameters<Store['prune']>) {
    return this.change('prune', null, () => this.world.memory.prune(...args))
  }

  settled(tickets: Parameters<Store['settled']>[0]) {
    return this.call('settled', () => this.world.memory.settled(tickets))
  }

  emit(...args: Parameters<Store['emit']>) {
    return this.change('emit', null, () => this.world.memory.emit(...args))
  }

  fanOut(...args: Parameters<Store['fanOut']>) {
    return this.call('fanOut', () => this.world.memory.fanOut(...args))
  }

  awaited(...args: Parameters<Store['awaited']>) {
    return this.call('awaited', () => this.world.memory.awaited(...args))
  }

  heard(...args: Parameters<Store['heard']>) {
    return this.change('heard', null, () => this.world.memory.heard(...args))
  }

  called(calls: Parameters<Store['called']>[0]) {
    return this.call('called', () => this.world.memory.called(calls))
  }

  delivered(feedIds: readonly number[]): Promise<void> {
    return this.call('delivered', () => this.world.memory.delivered(feedIds))
  }

  async close(): Promise<void> {}

  /** A call that was made by then has not been answered. */
  awaits(by: number): boolean {
    for (const { at } of this.askedAt) if (at <= by) return true
    return false
  }

  private change<T>(
    method: string,
    by: Worker | null,
    apply: () => Promise<T>,
    mayBeLate = false,
  ): Promise<T> {
    const applied = async (): Promise<T> => {
      const value = await apply()
      this.world.changed({ method, by, deltas: [], answers: [] })
      return value
    }
    return this.call(method, applied, mayBeLate)
  }

  /** A question travels, is carried out, and its answer travels back; each of the three may go wrong. */
  private call<T>(
    label: string,
    apply: () => Promise<T>,
    mayBeLate = false,
    leastMs = 0,
  ): Promise<T> {
    const { life, world } = this
    if (!life.alive) return never()
    const { scheduler } = world
    const { rng } = scheduler
    const delay = (): number =>
      world.strikes('slow') ? rng.pick([50, 400, 2_500]) : rng.chance(0.5) ? 0 : rng.int(4)
    const asked = { at: scheduler.now }
    this.askedAt.add(asked)
    return new Promise<T>((resolve, reject) => {
      const answer = (how: string, tell: () => void): void =>
        void scheduler.after(life, delay(), `${label} → ${how}`, () => {
          this.askedAt.delete(asked)
          tell()
        })
      const lost = (): void => answer('lost', () => reject(new StoreUnavailable('simulated')))
      // What is under way when its process dies still reaches the database, or not.
      scheduler.after(null, leastMs + delay(), `${life.name} ${label}`, () => {
        if (!life.alive && rng.chance(0.5)) return
        if (scheduler.now < world.awayUntil || world.strikes('notApplied')) return lost()
        if (mayBeLate && world.strikes('late')) {
          scheduler.after(null, rng.between(1, 1_500), `${life.name} ${label} late`, () => {
            apply().catch(() => {})
          })
          return lost()
        }
        apply().then(
          (value) => {
            if (world.strikes('replyLost')) lost()
            else answer('answered', () => resolve(value))
          },
          (error: unknown) => answer('refused', () => reject(error)),
        )
      })
    })
  }
}

function labelOf(delta: Delta): string {
  if (delta.kind === 'start') return `start:${delta.run.uid.slice(-4)}`
  if (delta.kind === 'message') return `${delta.message.kind}:${delta.to.id.slice(-4)}`
  const { fence, entries, next } = delta
  const kinds = entries.map((entry) => `${entry.kind}(${entry.name}${entry.occurrence})`)
  return `turn:${fence.uid.slice(-4)}@${fence.epoch}.${fence.seq}[${kinds.join(',')}]${next.kind}`
}

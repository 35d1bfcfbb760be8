// The store port on Redis. A call that writes goes to the log; one that reads is answered by the replica once it has caught up. Calls that
// come again and again with nothing to do (an idle engine polls) are not written: the replica says whether there is anything.

import type { RunReader, RunRecord, Store, ToolStore } from '../kernel/store.js'
import { transactionForeign } from '../model/errors.js'
import type { WorkerId } from '../model/ids.js'
import { fatal } from '../model/marks.js'
import type { RedisLog, Write } from './log.js'
import type { Replica } from './replica.js'

/** Of events that are old, per call. */
const FORGOTTEN_MAX = 1_000

const READS = [
  ...(['load', 'resolve', 'settled', 'called', 'awaited', 'letters'] as const),
  ...(['standings', 'chunks', 'changes'] as const),
  ...(['schedules', 'schedule', 'schedulesOf', 'dueSchedules'] as const),
  ...(['definition', 'definitions', 'definitionTexts', 'definitionVersions'] as const),
  ...(['usedDefinitions', 'webhooks', 'webhookAt', 'webhookTargets'] as const),
  ...(['liveRuns', 'selectRuns', 'runRecords', 'isMailUnderWay'] as const),
]
const READER = [
  ...(['get', 'list', 'inbox', 'history', 'checkpoints', 'documents', 'openChildren'] as const),
  ...(['liveDefinitions', 'workers', 'counts', 'dueLagMs'] as const),
  ...(['limitRules', 'limitUse', 'holders', 'askers'] as const),
  ...(['activity', 'recent', 'visible', 'stepCounts'] as const),
]
/** They write whenever they are called. */
const PLAIN = [
  ...(['commit', 'declare', 'beat', 'leave', 'reopen', 'debounce', 'setPaused', 'fork'] as const),
  ...(['putSchedule', 'subscribe', 'pauseSchedule', 'dropSchedule', 'fire'] as const),
  ...(['saveDefinition', 'archiveDefinition', 'putWebhooks', 'rotateWebhook'] as const),
  ...(['startByWebhook', 'putWebhookTargets', 'holdRuns'] as const),
]
/** They say which ones are done; often none. */
const LISTED = ['delivered', 'burn', 'heard'] as const

type Called = (...args: unknown[]) => Promise<unknown>

/** `closing`: what is closed with it. */
export function redisStore(log: RedisLog, closing: () => void): ToolStore {
  return {
    ...named<ToolStore, (typeof READS)[number]>(READS, (name) => {
      return (...args) => log.read((replica) => (replica[name] as Called).apply(replica, args))
    }),
    ...named<ToolStore, (typeof PLAIN)[number]>(PLAIN, (name) => {
      return (...args) => log.write(name, args)
    }),
    ...named<ToolStore, (typeof LISTED)[number]>(LISTED, (name) => async (list) => {
      if ((list as readonly unknown[]).length > 0) await log.write(name, [list])
    }),
    ...idling(log),
    ...ownership(log),
    read: named<RunReader, (typeof READER)[number]>(READER, (name) => {
      return (...args) => log.read(({ read }) => (read[name] as Called).apply(read, args))
    }),
    async putRuns(pages, isSkipping) {
      const records: RunRecord[] = []
      for await (const page of pages) records.push(...page)
      return written(log, 'putAll', [records, isSkipping])
    },
    // ── no transactions ──
    // Of a step: no retry helps.
    async open() {
      throw fatal(transactionForeign('redis'))
    },
    async begin() {
      throw transactionForeign('redis')
    },
    async lookWithin() {
      throw transactionForeign('redis')
    },
    async post() {
      throw transactionForeign('redis')
    },
    async startAlone(start, within) {
      if (within) throw transactionForeign('redis')
      return written(log, 'startAlone', [start, null])
    },
    async emit(workspace, event, within) {
      if (within) throw transactionForeign('redis')
      await log.write('emit', [workspace, event, null])
    },
    async close() {
      await log.close()
      closing()
    },
  }
}

/** Calls that an idle engine makes all the time. */
function idling(
  log: RedisLog,
): Pick<ToolStore, 'claim' | 'admit' | 'prune' | 'publish' | 'follow' | 'fanOut'> {
  return {
    claim: (...args) => unlessIdle(log, 'claim', args, (replica) => !replica.hasDue(...args)),
    admit: (...args) => unlessIdle(log, 'admit', args, (replica) => !replica.hasAsking(...args)),
    prune: (...args) => unlessIdle(log, 'prune', args, (replica) => !replica.hasOld(args[0])),
    async publish(by, chunks) {
      if (chunks.length > 0) await log.write('publish', [by, chunks])
    },
    async follow() {
      return (await log.read((replica) => replica.followed())) ?? written(log, 'follow', [])
    },
    // What it notes is for this process alone: which events and waits it has looked at.
    async fanOut(atMost) {
      const { found, old } = await log.read(async (replica) => {
        return { found: await replica.fanOut(atMost), old: replica.oldEvents(FORGOTTEN_MAX) }
      })
      if (old.length > 0) await log.write('forget', [old])
      return found
    },
  }
}

function ownership(log: RedisLog): Pick<Store, 'join' | 'reap'> {
  /** Who reaps: the incarnation that has joined through this store. */
  let joined: WorkerId | null = null
  let isReapUnanswered = false
  return {
    async join(by) {
      joined = by.id
      return written(log, 'join', [by])
    },
    async reap(unmoved, inherit) {
      const args = [inherit ? joined : null, isReapUnanswered, unmoved] as const
      if (inherit) isReapUnanswered = true
      const answer = await unlessIdle(log, 'reapFor', args, (replica) => !replica.hasDead(...args))
      if (inherit) isReapUnanswered = false
      return answer
    },
  }
}

function written<K extends Write>(
  log: RedisLog,
  name: K,
  args: readonly unknown[],
): ReturnType<Replica[K]> {
  return log.write(name, args) as ReturnType<Replica[K]>
}

/** A call that would change nothing is not written: the replica gives its answer. */
async function unlessIdle<K extends Write>(
  log: RedisLog,
  name: K,
  args: Readonly<Parameters<Replica[K]>>,
  isIdle: (replica: Replica) => boolean,
): Promise<Awaited<ReturnType<Replica[K]>>> {
  const idle = async (replica: Replica): Promise<{ readonly answer: unknown } | null> =>
    isIdle(replica) ? { answer: await (replica[name] as Called).apply(replica, [...args]) } : null
  const found = isIdle(log.replica) ? await log.read(idle) : null
  const answer = found ? found.answer : await log.write(name, args)
  return answer as Awaited<ReturnType<Replica[K]>>
}

function named<T, K extends keyof T & string>(
  names: readonly K[],
  make: (name: K) => Called,
): Pick<T, K> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as unknown as Pick<T, K>
}

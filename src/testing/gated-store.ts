// The store as one life of the engine sees it. Every call is counted while it is under way, commits can be made to
// be the last thing that happens, and a life that is over hears and changes nothing.

import {
  type Delta,
  type StepTransaction,
  type Store,
  StoreUnavailable,
  type TurnDelta,
} from '../kernel/store.js'
import type { Uid } from '../model/ids.js'
import { type Life, never } from './life.js'

export interface Watcher {
  /** Around every change that a crash could fall before or behind. */
  commit<T>(life: Life, commit: Commit<T>): Promise<T>
  /** What is about to be committed. */
  saw(delta: Delta): void
}

export interface AboutCommit {
  /** What it holds, for people. */
  readonly about: () => string
  /** Runs are started, and nothing else: before it nothing has happened yet. */
  readonly isStart: boolean
  readonly canBeLost: boolean
}

export interface Commit<T> extends AboutCommit {
  readonly work: () => Promise<T>
  /** What the engine hears when the answer is lost. */
  readonly lost: () => Promise<T>
}

const UNWATCHED: Watcher = { commit: (_life, { work }) => work(), saw: () => {} }

type Method = (...args: never[]) => Promise<unknown>

/** `watched`: null for a store whose commits are nobody's business. */
export function gatedStore(store: Store, life: Life, watched: Watcher | null): Store {
  const watcher = watched ?? UNWATCHED
  const own: Partial<Store> = {
    commit: (by, deltas, options) =>
      life.within(() => {
        for (const delta of deltas) watcher.saw(delta)
        return watcher.commit(life, {
          about: () => deltas.map(aboutDelta).join('; '),
          isStart: deltas.every(({ kind }) => kind === 'start'),
          canBeLost: canBeLost(deltas),
          work: () => store.commit(by, deltas, options),
          lost: () => store.commit(by, deltas, { ...options, resent: true }),
        })
      }),
    reopen: (chain) =>
      life.within(() =>
        watcher.commit(life, {
          about: () => 'a failed run is re-opened',
          isStart: false,
          canBeLost: false,
          work: () => store.reopen(chain),
          lost: () => never(),
        }),
      ),
    claim: async (by, places, suspects) => {
      const answer = await life.within(() => store.claim(by, places, suspects))
      life.claimed += answer.claimed.length
      return answer
    },
    open: (by, limitMs) =>
      life.within(async () => {
        const transaction = await store.open(by, limitMs)
        // It came too late, and would keep the one connection.
        if (!life.alive) await transaction.rollback()
        return gatedTransaction(transaction, life, watcher)
      }),
    // Steps read them: that is work of the engine, not of their code.
    read: Object.assign(Object.create(store.read), {
      documents: (uid: Uid) => life.within(() => store.read.documents(uid)),
    }),
  }
  return new Proxy(store, {
    get: (target, key) => {
      if (key in own) return Reflect.get(own, key)
      const value: unknown = Reflect.get(target, key, target)
      if (typeof value !== 'function') return value
      const method = value as Method
      return (...args: never[]) => life.within(() => method.apply(target, args))
    },
  })
}

function gatedTransaction(
  transaction: StepTransaction,
  life: Life,
  watcher: Watcher,
): StepTransaction {
  life.transactions.add(transaction)
  const ended = (): void => void life.transactions.delete(transaction)
  return {
    // User code waits for its statements here, in its own time: they are not counted.
    query: async (sql, params) => {
      if (!life.alive) return never()
      const answer = await transaction.query(sql, params)
      life.moves += 1
      return life.alive ? answer : never()
    },
    rollback: () => life.within(() => transaction.rollback().finally(ended)),
    inside: (work) => transaction.inside?.(work) ?? work(),
    close: (delta, options) =>
      life.within(() => {
        watcher.saw(delta)
        return watcher.commit(life, {
          about: () => `${aboutDelta(delta)}, in a transaction`,
          isStart: false,
          canBeLost: true,
          work: () => transaction.close(delta, options).finally(ended),
          // The kernel finds out what has become of it.
          lost: () => Promise.reject(new StoreUnavailable('the answer was lost')),
        })
      }),
  }
}

/**
 * Runs that a commit has taken for its sender, and mail to runs that the sender has, are found by the next beat if the
 * answer is lost, and a test engine never beats. All else is sent again at once: waiting for that would move the clock.
 */
function canBeLost(deltas: readonly Delta[]): boolean {
  return deltas.every(
    (delta) => delta.kind === 'turn' && delta.starts.length + delta.messages.length === 0,
  )
}

function aboutDelta(delta: Delta): string {
  switch (delta.kind) {
    case 'start':
      return `run ${delta.run.id} of "${delta.run.definition}" is started`
    case 'message': {
      const { kind, name } = delta.message
      return `${kind === 'cancel' ? 'a cancel' : `${kind} "${name}"`} is sent`
    }
    case 'turn':
      return aboutTurn(delta)
  }
}

function aboutTurn({ entries, next, brings }: TurnDelta): string {
  const sent = (brings?.messages ?? []).map(({ kind, name }) => `${kind} "${name}" is sent`)
  const facts = entries.map(({ kind, name }) => (name === '' ? kind : `${kind} "${name}"`))
  const all = [...sent, ...facts]
  return all.length > 0 ? all.join(', ') : next.kind
}

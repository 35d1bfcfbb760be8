// What callers read: a database that does not answer is an error with a name.

import { databaseAway } from '../model/errors.js'
import { type RunReader, StoreUnavailable } from './store.js'

export function readingFor(read: RunReader): RunReader {
  return {
    get: (...args) => named(read.get(...args)),
    list: (...args) => named(read.list(...args)),
    history: (...args) => named(read.history(...args)),
    checkpoints: (...args) => named(read.checkpoints(...args)),
    documents: (...args) => named(read.documents(...args)),
    openChildren: (...args) => named(read.openChildren(...args)),
    liveDefinitions: (...args) => named(read.liveDefinitions(...args)),
    workers: (...args) => named(read.workers(...args)),
    counts: (...args) => named(read.counts(...args)),
    dueLagMs: (...args) => named(read.dueLagMs(...args)),
    limitRules: (...args) => named(read.limitRules(...args)),
    limitUse: (...args) => named(read.limitUse(...args)),
    holders: (...args) => named(read.holders(...args)),
    askers: (...args) => named(read.askers(...args)),
    activity: (...args) => named(read.activity(...args)),
    inbox: (...args) => named(read.inbox(...args)),
    recent: (...args) => named(read.recent(...args)),
    visible: (...args) => named(read.visible(...args)),
    stepCounts: (...args) => named(read.stepCounts(...args)),
  }
}

export async function named<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw error instanceof StoreUnavailable ? databaseAway(error) : error
  }
}

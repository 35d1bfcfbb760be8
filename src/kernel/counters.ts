// How often the rare things happened. Metrics for people; proof for the tests that they were reached.

const ZERO = {
  'answer.stale': 0,
  'answer.stopping': 0,
  'answer.early': 0,
  'answer.exists': 0,
  'answer.busy': 0,
  'answer.refused': 0,
  'answer.repeated': 0,
  'commit.resent': 0,
  'commit.halved': 0,
  'commit.batches': 0,
  'commit.deltas': 0,
  'claim.asked': 0,
  'claim.runs': 0,
  'turn.begun': 0,
  'message.brought': 0,
  'message.unbrought': 0,
  'message.reacted': 0,
  'worker.adopted': 0,
  'worker.doubtful': 0,
  'worker.reborn': 0,
  'worker.reaped': 0,
  'run.suspect': 0,
  'run.crashLimit': 0,
  'run.diverged': 0,
  'frame.reused': 0,
  'frame.outdated': 0,
  'frame.evicted': 0,
  'frame.replayed': 0,
  'event.inherited': 0,
  'transaction.resolved': 0,
}

export type Counter = keyof typeof ZERO
export type Counters = Record<Counter, number>

export const newCounters = (): Counters => ({ ...ZERO })

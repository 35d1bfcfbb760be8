// Deliberate defects. Each switch takes out one protection; the simulation must notice. None is ever on in an
// engine: only the tests construct a kernel with one, to prove that they can see.

export type Defect =
  /** A step function starts although an earlier outcome is not stored yet (against O3). */
  | 'start-before-durable'
  /** Parking claims to have seen the counter instead of the highest number held. */
  | 'seen-is-the-counter'
  /** The end of a run overrides a cancel that it had not seen. */
  | 'end-ignores-stop'
  /** A kept frame is used whatever the journal says. */
  | 'frame-without-seq'
  /** A timer's outcome is sent without the time before which it must not be stored. */
  | 'early-timer'
  /** Open children are not told when their parent ends. */
  | 'forget-children'
  /** Listeners hear before the commit. */
  | 'event-before-commit'
  /** Runs that the database says are ours and that we do not know are left alone. */
  | 'no-adoption'
  /** start() resolves before its commit. */
  | 'ack-before-commit'
  /** After a lost reply the work is dropped as if it had been stored. */
  | 'assume-committed'
  /** Functions start in the middle of a replay. */
  | 'start-while-replaying'
  /** Parked runs are looked for only when hinted at. */
  | 'no-poll'
  /** A message taken by an entry is not marked as taken. */
  | 'taken-not-marked'
  /** A worker that has lost its lease goes on as if it had not. */
  | 'ignore-stale'
  /** What was done first is undone first. */
  | 'undo-oldest-first'
  /** A scope ends, and what it has left open stays open. */
  | 'scope-without-withdraw'
  /** What a round has done is undone although the round has ended well. */
  | 'round-not-forgotten'
  /** A run is undone while its children still run. */
  | 'undo-before-children'
  /** What the losers of a race have done stays done. */
  | 'loser-not-undone'
  /** A scope that fails does not wait for what runs in it, and does not undo it. */
  | 'scope-without-leaving'
  /** The row does not know how much there is to undo. */
  | 'undo-open-not-stored'
  /** What the database could not store now, and would have to be sent again, is taken for stored. */
  | 'busy-is-done'
  /** A timer is due one millisecond before its time. */
  | 'due-one-early'
  /** A message whose answer was lost is sent again as another one. */
  | 'new-id-after-loss'
  /** What a step shows of its run is not stored with its outcome. */
  | 'shown-not-stored'
  /** What a step shows is stored although its transaction was rolled back. */
  | 'shown-though-rolled-back'
  /** The next attempt does not get what the one before has left. */
  | 'kept-forgotten'
  /** Who waits for what a message brings about hears of it before the commit. */
  | 'reply-before-commit'

export type Defects = ReadonlySet<Defect>

// Every limit of the engine, with its reason. Settings override some; none is anywhere else.

/** UTF-8 bytes of one stored value. Larger ones belong into a file store, with a reference here. */
export const VALUE_BYTES_MAX = 2 * 1024 * 1024
/** From here on a value is named in a warning: it is copied at every replay. */
export const VALUE_BYTES_WARN = 256 * 1024
/** Nesting of a stored value. JSON.stringify overflows the stack at a few thousand. */
export const VALUE_DEPTH_MAX = 64

/** A recorded error: all of it, in bytes. Journals keep one per failed attempt. */
export const ERROR_BYTES_MAX = 64 * 1024
/** Characters of a message and of a stack: more is a payload in the wrong place. */
export const ERROR_TEXT_MAX = 8 * 1024
/** Characters of an error's name, and bytes of its code. */
export const ERROR_NAME_MAX = 256
/** Bytes of an error's own fields: what does not fit is left out. */
export const ERROR_FIELDS_BYTES_MAX = 16 * 1024
/** Causes below an error: a longer chain is a loop that makes new errors. */
export const ERROR_CAUSES_MAX = 8

/** Deltas in one commit call, and their bytes: beyond this a batch only gets slower. */
export const BATCH_DELTAS_MAX = 500
/** So many deltas are worth two commits side by side. */
export const BATCH_SPLIT_MIN = 64
/** So much of one run may wait to be stored while its events go on (StepOrder.isEarly). */
export const EARLY_ENTRIES_MAX = 1_000
export const BATCH_BYTES_MAX = 1024 * 1024
/** Connections for commits. Four gain 5 % at twice the latency on two cores. */
export const COMMIT_CONNECTIONS = 2
/** Bytes of starts and messages waiting for a commit before callers hear OVERLOADED. */
export const QUEUED_BYTES_MAX = 64 * 1024 * 1024

/** Runs executed at once by one worker. */
export const CONCURRENCY = 100
/** Rows taken by one claim call. */
export const CLAIM_MAX = 500
/** A worker that has not beaten for so long is dead to the others. */
export const LEASE_MS = 30_000
/** Due rows are looked for at least so often: hints only shorten the wait. */
export const POLL_MS = 1_000
/** Crashes in a row (no recorded outcome in between) after which a run fails as WORKER_CRASHED. */
export const CRASHES_MAX = 5
/** From here on a run is a suspect: a worker executes one suspect at a time. */
export const CRASHES_SUSPECT = 2

/** Frames of parked runs kept in memory, in number and in bytes of what was delivered into them. */
export const FRAMES_MAX = 1_000
export const FRAME_BYTES_MAX = 64 * 1024 * 1024
/** So many times as many are kept of those that are due within this time. */
export const FRAMES_SOON = 10
export const FRAME_SOON_MS = 60_000
/** Entries of one run. A longer life belongs into rounds. */
export const ENTRIES_WARN = 10_000
export const ENTRIES_MAX = 50_000
/** Messages waiting in one mailbox. */
export const MAILBOX_MAX = 10_000

/** A question that nobody has answered yet is written down after this, so that people see a long step. */
export const ASK_SHOWN_AFTER_MS = 200
/** A body that awaits something of its own is named in the log after this, and fails after that. */
export const FOREIGN_AWAIT_WARN_MS = 1_000
export const FOREIGN_AWAIT_MAX_MS = 60_000
/** Code that ignores its AbortSignal loses the right to write after this. */
export const ABORT_GRACE_MS = 5_000
/** close() waits so long for running steps. */
export const CLOSE_GRACE_MS = 10_000
/** start and signal reject with OUTCOME_UNKNOWN after this long without an answer from the database. */
export const OUTCOME_UNKNOWN_MS = 30_000
/** createEngine gives up on a database that does not answer. */
export const CONNECT_MS = 10_000

/** Of a transition of a machine that says nothing of it. */
export const TRANSITION_TIMEOUT_MS = 300_000

/** Length of a step's transaction: default, and the most that can be asked for. */
export const TRANSACTION_MS = 5_000
export const TRANSACTION_MAX_MS = 60_000

/** Finished runs are kept so long. */
export const RETENTION_MS = 30 * 24 * 60 * 60 * 1_000
/** The least that can be asked for: whoever waits for an end must be able to hear of it. */
export const RETENTION_MIN_MS = 60_000
/** From the end of one look for old runs to the next. */
export const RETENTION_EVERY_MS = 60_000

/** The longest delay a Node timer can hold; a longer one fires at once. */
export const TIMER_MAX_MS = 2 ** 31 - 1

/** An event that everybody has heard is kept so long: until then its id is known, and a wait that was on its way finds it. */
export const EVENTS_KEPT_MS = 24 * 60 * 60 * 1000

/** A time of a schedule that nobody has acted upon for so long was missed. */
export const SCHEDULE_LATE_MS = 60_000
/** Of `missed: 'all'` that says nothing of it. */
export const CATCH_UP_MS = 24 * 60 * 60 * 1000
/** One call of admit looks at so many groups of runs, and gives so many slots: milliseconds, whatever there is. */
export const ADMIT_GROUPS_MAX = 500
export const ADMIT_RUNS_MAX = 1_000
/** Calls in a row, as long as there are more groups. */
export const ADMIT_CALLS_MAX = 20

/** One value that a step publishes, and all that one execution of it may publish: tokens and progress, not files. */
export const CHUNK_BYTES_MAX = 64 * 1024
export const PUBLISHED_MAX = 100_000
export const PUBLISHED_BYTES_MAX = 16 * 1024 * 1024
/** Changes of all runs are written for so long after somebody has followed them, and kept so long. */
export const FOLLOWED_MS = 10 * 60_000

/** Of a graph that is stored. */
export const GRAPH_BYTES_MAX = 1024 * 1024

/** So many messages are brought to a run at once. */
export const BROUGHT_MAX = 500
/** A run that is due sooner is not brought anything: what is due comes first. */
export const BROUGHT_MARGIN_MS = 1_000

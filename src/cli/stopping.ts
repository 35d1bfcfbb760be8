// Ctrl-C and SIGTERM: the first closes in order, a second one ends the process at once.

/** npm and the terminal may both send the same Ctrl-C. */
const SAME_MS = 300
/** What code of users still holds open keeps nobody waiting. */
const LEAVE_MS = 1_000
const AT_ONCE = 130

export interface Stopping {
  /** 'Ctrl-C' or 'SIGTERM', once it has come. */
  readonly asked: Promise<string>
  /** The same as soon as it is known; null before. */
  readonly why: string | null
}

export function heedSignals(): Stopping {
  let why: string | null = null
  let firstAt = 0
  let resolve: (why: string) => void = () => {}
  const asked = new Promise<string>((done) => {
    resolve = done
  })
  const heed = (signal: 'SIGINT' | 'SIGTERM') => () => {
    if (why === null) {
      why = signal === 'SIGINT' ? 'Ctrl-C' : signal
      firstAt = performance.now()
      resolve(why)
    } else if (performance.now() - firstAt > SAME_MS) process.exit(AT_ONCE)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, heed(signal))
  return {
    asked,
    get why() {
      return why
    },
  }
}

/** All that is ours is closed: the process ends, with the code that it has. */
export function leaveSoon(): void {
  setTimeout(() => process.exit(), LEAVE_MS).unref()
}

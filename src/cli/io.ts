// Where a command writes: data to stdout, everything else to stderr. Colours and moving lines only on a terminal.

import { createInterface } from 'node:readline/promises'
import { text } from 'node:stream/consumers'
import pc from 'picocolors'

export interface Io {
  /** What the command is for: one line. */
  out(line: string): void
  /** Progress, hints, errors. */
  err(line: string): void
  /** What happens now: drawn over by whatever comes next. Nothing where it is not a terminal; null: nothing happens. */
  status(line: string | null): void
  /** What somebody types; null: they want out, or `signal` says that the question is over. */
  ask(question: string, signal: AbortSignal): Promise<string | null>
  /** All of stdin. */
  stdin(): Promise<string>
  /** Ctrl-C, until what it gives is called. */
  onInterrupt(listener: () => void): () => void
  now(): number
  /** stdout is a terminal: lines may be drawn over, and questions asked if stdin is one too. */
  readonly isTerminal: boolean
  readonly canAsk: boolean
  /** Characters in a line. */
  readonly width: number
  readonly paint: Paint
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
}

export type Paint = ReturnType<typeof pc.createColors>

const WIDTH = 100
const CLEAR = '\r\u001b[2K'

export function processIo(): Io {
  const isTerminal = process.stdout.isTTY === true
  const canDraw = isTerminal && process.stderr.isTTY === true
  let isDrawn = false
  const clear = (): void => {
    if (isDrawn) process.stderr.write(CLEAR)
    isDrawn = false
  }
  return {
    out: (line) => {
      clear()
      process.stdout.write(`${line}\n`)
    },
    err: (line) => {
      clear()
      process.stderr.write(`${line}\n`)
    },
    status: (line) => {
      clear()
      if (!canDraw || line === null) return
      isDrawn = true
      process.stderr.write(line.slice(0, (process.stderr.columns ?? WIDTH) - 1))
    },
    ask: (question, signal) => {
      clear()
      return asked(question, signal)
    },
    stdin: () => text(process.stdin),
    onInterrupt: (listener) => {
      process.on('SIGINT', listener)
      return () => void process.off('SIGINT', listener)
    },
    now: () => Date.now(),
    isTerminal,
    canAsk: isTerminal && process.stdin.isTTY === true,
    width: process.stdout.columns ?? WIDTH,
    paint: pc.createColors(isTerminal && !process.env.NO_COLOR && process.env.TERM !== 'dumb'),
    cwd: process.cwd(),
    env: process.env,
  }
}

async function asked(question: string, signal: AbortSignal): Promise<string | null> {
  const line = createInterface({ input: process.stdin, output: process.stderr })
  const over = new AbortController()
  const leave = (): void => over.abort()
  signal.addEventListener('abort', leave)
  line.once('SIGINT', leave)
  line.once('close', leave)
  try {
    return await line.question(question, { signal: over.signal })
  } catch {
    process.stderr.write('\n')
    return null
  } finally {
    signal.removeEventListener('abort', leave)
    line.close()
  }
}

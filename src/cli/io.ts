// Where a command writes: data to stdout, everything else to stderr. Colours and moving lines only on a terminal.

import { createInterface } from 'node:readline/promises'
import pc from 'picocolors'
import { PerdureError } from '../model/errors.js'

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
      process.stdout.write(`${harmless(line)}\n`)
    },
    err: (line) => {
      clear()
      process.stderr.write(`${harmless(line)}\n`)
    },
    status: (line) => {
      clear()
      if (!canDraw || line === null) return
      isDrawn = true
      process.stderr.write(harmless(line).slice(0, (process.stderr.columns ?? WIDTH) - 1))
    },
    ask: (question, signal) => {
      clear()
      return asked(question, signal)
    },
    stdin: () => readAll(process.stdin),
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

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
const CONTROL = /\u001b\[[0-9;]*m|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

/** What users have stored may not speak to the terminal: of its language only colours and line ends are left. */
export const harmless = (line: string): string =>
  line.replace(CONTROL, (found) => (found.length > 1 ? found : '\ufffd'))

/** As much as the API takes of a body. */
const STDIN_BYTES_MAX = 4 * 1024 * 1024

async function readAll(stream: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of stream) {
    bytes += part.length
    if (bytes > STDIN_BYTES_MAX) {
      throw new PerdureError('OPTION_INVALID', 'More than 4 MiB came from stdin.', {
        hint: 'give less: a value of a run may have 2 MiB',
      })
    }
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
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

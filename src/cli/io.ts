// Where a command writes: data to stdout, everything else to stderr. Colours and moving lines only on a terminal.

import pc from 'picocolors'

export interface Io {
  /** What the command is for: one line. */
  out(line: string): void
  /** Progress, hints, errors. */
  err(line: string): void
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

export function processIo(): Io {
  const isTerminal = process.stdout.isTTY === true
  return {
    out: (line) => void process.stdout.write(`${line}\n`),
    err: (line) => void process.stderr.write(`${line}\n`),
    isTerminal,
    canAsk: isTerminal && process.stdin.isTTY === true,
    width: process.stdout.columns ?? WIDTH,
    paint: pc.createColors(isTerminal && !process.env.NO_COLOR),
    cwd: process.cwd(),
    env: process.env,
  }
}

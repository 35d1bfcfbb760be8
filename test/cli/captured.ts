// `perdure` in this process: what it prints is kept, what it is asked is answered.

import pc from 'picocolors'
import { COMMANDS } from '../../src/cli/commands/index.js'
import type { Io } from '../../src/cli/io.js'
import { runCli } from '../../src/cli/program.js'

export interface Captured {
  readonly io: Io
  readonly out: string[]
  readonly err: string[]
  readonly asked: string[]
  /** As Ctrl-C. */
  interrupt(): void
}

/** `answers`: to the questions, in order; null: out. When there are none left, a question stays open. */
export function captured(
  over: Partial<Io> = {},
  answers: readonly (string | null)[] = [],
): Captured {
  const [out, err, asked] = [[] as string[], [] as string[], [] as string[]]
  const listeners = new Set<() => void>()
  const left = [...answers]
  const io: Io = {
    out: (line) => void out.push(line),
    err: (line) => void err.push(line),
    status: () => {},
    ask: async (question, signal) => {
      asked.push(question.trim())
      const next = left.shift()
      if (next !== undefined) return next
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve(null)))
    },
    stdin: async () => '',
    onInterrupt: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    now: () => Date.now(),
    isTerminal: false,
    canAsk: false,
    width: 80,
    paint: pc.createColors(false),
    cwd: '/nowhere',
    env: {},
    ...over,
  }
  const interrupt = (): void => {
    for (const listener of listeners) listener()
  }
  return { io, out, err, asked, interrupt }
}

export interface Ran {
  readonly exit: number
  readonly out: readonly string[]
  readonly err: readonly string[]
  readonly asked: readonly string[]
}

/** `perdure ${words}`. */
export async function perdure(
  words: readonly string[],
  over: Partial<Io> = {},
  answers: readonly (string | null)[] = [],
): Promise<Ran> {
  const { io, out, err, asked } = captured(over, answers)
  const exit = await runCli(words, io, COMMANDS)
  return { exit, out, err, asked }
}

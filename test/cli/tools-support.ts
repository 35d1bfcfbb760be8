// A command as a test runs it: in this process, with what it wrote.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pc from 'picocolors'
import { onTestFinished } from 'vitest'
import { COMMANDS } from '../../src/cli/commands/index.js'
import { processIo } from '../../src/cli/io.js'
import { type AddCommand, runCli } from '../../src/cli/program.js'

export interface Told {
  readonly exit: number
  readonly out: string
  readonly err: string
  /** Of stdout, as JSON. */
  readonly lines: readonly Record<string, unknown>[]
}

export async function perdure(
  argv: readonly string[],
  {
    cwd = process.cwd(),
    commands = COMMANDS,
  }: { cwd?: string; commands?: readonly AddCommand[] } = {},
): Promise<Told> {
  const out: string[] = []
  const err: string[] = []
  const io = {
    ...processIo(),
    out: (line: string) => void out.push(line),
    err: (line: string) => void err.push(line),
    ...{ isTerminal: false, canAsk: false, width: 100 },
    ...{ paint: pc.createColors(false), cwd, env: {} },
  }
  const exit = await runCli(argv, io, commands)
  const lines = argv.includes('--json') ? out.map((line) => JSON.parse(line)) : []
  return { exit, out: out.join('\n'), err: err.join('\n'), lines }
}

/** Is taken away when the test ends. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

// `perdure worker` and `perdure serve` as processes: started, ended in order, killed.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
const PERDURE = [process.execPath, path('../../dist/cli/main.js')] as const
/** What is started, and what it logs when it is there. */
const COMMANDS = {
  worker: { command: [...PERDURE, 'worker'], isReady: /"working"/ },
  serve: { command: [...PERDURE, 'serve', '--port', '0'], isReady: /"serving at (http[^"]+)"/ },
} as const
export type Role = keyof typeof COMMANDS

export class Member {
  readonly role: Role
  /** Of the process that answers, or has answered last: a balancer learns late that one is gone. */
  url = ''
  private child: ChildProcess | null = null
  private readonly env: NodeJS.ProcessEnv

  constructor(role: Role, env: NodeJS.ProcessEnv) {
    this.role = role
    this.env = env
  }

  get pid(): number {
    return this.child?.pid ?? 0
  }

  async start(): Promise<void> {
    const { command, isReady } = COMMANDS[this.role]
    const [file, ...args] = command
    const child = spawn(file, args, {
      cwd: path('./project'),
      env: { ...process.env, ...this.env, LOG_FORMAT: 'json' },
      stdio: ['pipe', 'ignore', 'pipe'],
    })
    this.child = child
    let said = ''
    for await (const line of createInterface({ input: child.stderr })) {
      said += `${line}\n`
      const match = isReady.exec(line)
      if (!match) continue
      child.stderr.resume()
      this.url = match[1] ?? ''
      return
    }
    throw new Error(`a ${this.role} did not start:\n${said}`)
  }

  /** Its exit code, or the signal that ended it. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | string | null> {
    const { child } = this
    if (!child || child.exitCode !== null || child.signalCode !== null) return null
    const gone = once(child, 'exit')
    child.kill(signal)
    await gone
    return child.exitCode ?? child.signalCode
  }
}

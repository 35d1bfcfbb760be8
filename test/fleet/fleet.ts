// Processes of one's own behind one pooler: started, ended in order, killed.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const PROCESS = fileURLToPath(new URL('./process.mjs', import.meta.url))
/** What is started, and what it says when it is there. */
const COMMANDS = {
  worker: { command: [process.execPath, PROCESS, 'worker'], isReady: /^ready/ },
  serve: { command: [process.execPath, PROCESS, 'serve'], isReady: /^ready (http\S+)/ },
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
      env: { ...process.env, ...this.env },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.child = child
    for await (const line of createInterface({ input: child.stdout })) {
      const match = isReady.exec(line)
      if (!match) continue
      child.stdout.resume()
      this.url = match[1] ?? ''
      return
    }
    throw new Error(`a ${this.role} did not start`)
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

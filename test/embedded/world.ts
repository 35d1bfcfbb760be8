// What every test of the embedded database needs: a directory of its own, and other processes.

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Log } from '../../src/kernel/ports.js'
import { openEmbedded } from '../../src/store/driver-embedded/open-embedded.js'

const CHILD = fileURLToPath(new URL('./child.mjs', import.meta.url))

export const quiet: Log = { debug() {}, info() {}, warn() {}, error() {} }

export type Opened = Awaited<ReturnType<typeof openEmbedded>>
export type Said = Record<string, unknown>

export class World implements AsyncDisposable {
  readonly root = fs.mkdtempSync(join(tmpdir(), 'perdure-embedded-'))
  readonly directory = join(this.root, 'data')
  readonly #ends: (() => unknown)[] = []

  /** A directory that has been initialised before: copied, because making one takes seconds. */
  static async initialised(): Promise<World> {
    const world = new World()
    fs.cpSync(await template(), world.directory, { recursive: true })
    return world
  }

  get lockPath(): string {
    return join(this.directory, 'lock')
  }

  async open(
    timing: { heartbeatMs?: number; watchMs?: number } = {},
    log: Log = quiet,
  ): Promise<Opened> {
    const { directory } = this
    const driver = await openEmbedded({
      directory,
      production: false,
      allowInProduction: false,
      log,
      timing,
    })
    this.#ends.push(() => driver.close().catch(() => {}))
    return driver
  }

  process(what: string, timing: object = {}, env: Record<string, string> = {}): Process {
    const child = new Process([this.directory, what, JSON.stringify(timing)], env)
    this.#ends.push(() => child.kill())
    return child
  }

  readLock(): Record<string, unknown> {
    return JSON.parse(fs.readFileSync(this.lockPath, 'utf8')) as Record<string, unknown>
  }

  writeLock(holder: object): void {
    fs.mkdirSync(this.directory, { recursive: true })
    fs.writeFileSync(this.lockPath, JSON.stringify(holder))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const end of this.#ends.reverse()) await end()
    fs.rmSync(this.root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
}

/** A process in a group of its own, so that its children can be killed with it. */
export class Process {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #lines: AsyncIterator<string>
  readonly ended: Promise<void>

  constructor(args: readonly string[], env: Record<string, string>) {
    this.#child = spawn(process.execPath, [CHILD, ...args], {
      detached: true,
      env: { ...process.env, ...env, NODE_OPTIONS: '' },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
    this.ended = new Promise((resolve) => {
      this.#child.once('exit', () => resolve())
    })
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error('the process did not start')
    return this.#child.pid
  }

  /** The next thing it says; null once it has ended. */
  async hear(): Promise<Said | null> {
    const { value, done } = await this.#lines.next()
    return done ? null : (JSON.parse(value) as Said)
  }

  speak(): void {
    this.#child.stdin.write('go\n')
  }

  signal(signal: NodeJS.Signals): void {
    process.kill(this.pid, signal)
  }

  async kill(): Promise<void> {
    try {
      process.kill(this.pid, 'SIGKILL')
    } catch {
      // It has ended already.
    }
    await this.ended
  }
}

let made: Promise<string> | null = null

function template(): Promise<string> {
  made ??= (async () => {
    const directory = fs.mkdtempSync(join(tmpdir(), 'perdure-embedded-template-'))
    process.once('exit', () => fs.rmSync(directory, { recursive: true, force: true }))
    const driver = await openEmbedded({
      directory,
      production: false,
      allowInProduction: false,
      log: quiet,
    })
    await driver.script('create table notes (n int4 primary key, pad text)')
    await driver.close()
    return directory
  })()
  return made
}

export async function notes(driver: Opened): Promise<readonly number[]> {
  const rows = await driver.query('read', 'select n from notes order by n', [])
  return rows.map((row) => row.n as number)
}

export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('it did not fail')
}

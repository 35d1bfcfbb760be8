// Processes of the command, in folders of their own.

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
export const MAIN = join(ROOT, 'dist/cli/main.js')

export interface Started {
  readonly child: ChildProcessByStdio<null, Readable, Readable>
  /** The exit code, or null after a kill. */
  readonly ended: Promise<number | null>
  /** All that it has said, on both streams. */
  readonly text: string
  readonly errors: string
  says(part: string | RegExp): Promise<void>
}

/** For as long as a machine under load may take. */
export const eventually = <T>(look: () => T) => expect.poll(look, { timeout: 60_000, interval: 20 })

/** A folder that is gone with the test; `files` by their paths. */
export function folderWith(files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-cli-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [path, text] of Object.entries(files)) put(folder, path, text)
  return folder
}

export function put(folder: string, path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

export function perdure(
  args: readonly string[],
  cwd: string,
  more: Readonly<Record<string, string>> = {},
): Started {
  const {
    DATABASE_URL: _,
    PERDURE_DATABASE_URL: __,
    NODE_ENV: ___,
    PORT: ____,
    ...env
  } = process.env
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd,
    env: { ...env, NO_COLOR: '1', ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { text: '', errors: '' }
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    said.text += chunk
  })
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said.text += chunk
    said.errors += chunk
  })
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => resolve(code))
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return {
    child,
    ended,
    get text() {
      return said.text
    },
    get errors() {
      return said.errors
    },
    says: (part) =>
      eventually(() => said.text).toEqual(
        typeof part === 'string' ? expect.stringContaining(part) : expect.stringMatching(part),
      ),
  }
}

type Loose = ReturnType<JSON['parse']>
export type Api = (method: string, path: string, body?: unknown) => Promise<Loose>

export function apiAt(url: string, token?: string): Api {
  return async (method, path, body) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return response.json()
  }
}

/** Waits for the end of a run for as long as it takes. */
export async function resultOf(api: Api, id: string) {
  for (;;) {
    const result = await api('GET', `/api/v1/runs/${id}/result?waitMs=20000`)
    if (result.isOver !== false) return result
  }
}

// examples/nestjs as a process: compiled as NestJS compiles, on the package as it is published.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import ts from 'typescript'
import { expect, onTestFinished, test } from 'vitest'
import { describeOn, freshSchema, urlOf } from '../support/databases.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

describeOn(['postgres18'], 'the example', (database) => {
  test('orders survive a SIGTERM, and go on in the next process', async () => {
    const url = await newDatabase(urlOf(database))
    const first = await start(url)
    expect((await post(`${first.url}/orders/42`)).status).toBe(201)
    await first.stop()
    const second = await start(url)
    expect((await post(`${second.url}/orders/42/payment`)).status).toBe(201)
    expect(await second.says('order-42')).toBe('order-42: {"tracking":"parcel-42","left":2}')
    expect((await fetch(`${second.url}/perdure/`)).status).toBe(401)
    const headers = { authorization: 'Bearer secret' }
    const studio = await fetch(`${second.url}/perdure/`, { headers })
    expect(await studio.text()).toContain('<base href="/perdure/" />')
    // The first has taken its leave: nobody has to wait for its lease to end.
    const workers = await fetch(`${second.url}/perdure/api/v1/workers`, { headers })
    const { items } = (await workers.json()) as { items: unknown[] }
    expect(items).toHaveLength(1)
    await second.stop()
  })
})

/** The example has the usual schema, and so a database of its own. */
async function newDatabase(server: string): Promise<string> {
  const name = freshSchema()
  const client = new pg.Client(server)
  await client.connect()
  await client.query(`create database ${name}`)
  onTestFinished(async () => {
    await client.query(`drop database ${name} with (force)`)
    await client.end()
  })
  return Object.assign(new URL(server), { pathname: `/${name}` }).href
}

interface Running {
  readonly url: string
  says(text: string): Promise<string>
  stop(): Promise<void>
}

async function start(database: string): Promise<Running> {
  const env = { ...process.env, PERDURE_DATABASE_URL: database, PORT: '0', TOKEN: 'secret' }
  const child = spawn(process.execPath, [compiled()], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const says = linesOf(child)
  const listening = await says('listening at ')
  return {
    url: listening.slice('listening at '.length),
    says,
    stop: async () => {
      child.kill('SIGTERM')
      // NestJS ends by the signal that it was given, when all is closed.
      expect(await once(child, 'exit')).toEqual([null, 'SIGTERM'])
    },
  }
}

function linesOf(child: ChildProcess): (text: string) => Promise<string> {
  const lines: string[] = []
  let changed = () => {}
  const told = () => changed()
  if (!child.stdout) throw new Error('no stdout')
  createInterface(child.stdout).on('line', (line) => {
    lines.push(line)
    told()
  })
  child.once('exit', told)
  return async (text) => {
    for (;;) {
      const found = lines.find((line) => line.startsWith(text))
      if (found) return found
      if (child.exitCode !== null) throw new Error(`it ended:\n${lines.join('\n')}`)
      await new Promise<void>((resolve) => {
        changed = resolve
      })
    }
  }
}

function compiled(): string {
  const folder = join(ROOT, '.cache/nestjs')
  const file = join(folder, 'main.mjs')
  const { outputText } = ts.transpileModule(
    readFileSync(join(ROOT, 'examples/nestjs/main.ts'), 'utf8'),
    {
      compilerOptions: {
        target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.ESNext,
        experimentalDecorators: true,
        emitDecoratorMetadata: true,
      },
    },
  )
  mkdirSync(folder, { recursive: true })
  writeFileSync(file, outputText)
  return file
}

const post = (url: string) => fetch(url, { method: 'POST', headers: { connection: 'close' } })

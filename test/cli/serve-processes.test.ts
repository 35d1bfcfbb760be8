// perdure serve and perdure worker on PostgreSQL, and the commands of the files for containers.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { describeOn, freshSchema, urlOf } from '../support/databases.js'
import {
  apiAt,
  eventually,
  folderWith,
  perdure,
  put,
  ROOT,
  resultOf,
  type Started,
} from './processes.js'

const TOKEN = 'a-token-of-enough-characters'

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly command?: readonly string[]
        readonly deploy?: { readonly replicas: number }
        readonly environment?: Readonly<Record<string, string>>
        readonly profiles?: readonly string[]
      }
    >
  >
}

/** The log of a process, one object for each line of it. */
const logOf = ({ errors }: Started) =>
  errors
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)

const HOLDER = `
import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as later } from 'node:timers/promises'
import { workflow } from 'perdure'
export const holder = workflow('holder', async (wf, until: string) => {
  await wf.do('hold', async () => {
    appendFileSync('began.txt', process.pid + '\\n')
    while (!existsSync(until)) await later(20)
  })
  return wf.do('last', () => process.pid)
})
`

test('what cannot serve is refused before anything is opened, and says what to do', async () => {
  const folder = folderWith({ 'empty/.keep': '' })
  const started = [
    perdure(
      ['serve', '--host', '0.0.0.0', '--database', 'postgres://nobody@127.0.0.1:1/x'],
      folder,
    ),
    perdure(['serve', '--port', '0'], folder),
    perdure(['worker', 'empty', '--database', 'postgres://nobody@127.0.0.1:1/x'], folder),
    perdure(['serve', '--port', '70000'], folder, { PERDURE_TOKENS: 'nonsense' }),
    perdure(['worker', '--health-port', 'x'], folder),
  ]
  const codes = await Promise.all(started.map(({ ended }) => ended))
  expect(codes).toEqual([2, 2, 2, 2, 2])
  const [open, embedded, nothing, port, health] = started.map(({ errors }) => errors)
  expect(open).toContain(
    'serve was told to listen at 0.0.0.0, without any tokens. [OPTION_INVALID]',
  )
  expect(embedded).toContain('the embedded database has room for one process only')
  expect(embedded).toContain('perdure serve --worker')
  expect(nothing).toContain('There are no workflows in empty. [PROJECT_INVALID]')
  expect(port).toContain('PERDURE_TOKENS')
  expect(health).toContain('Option "--health-port" in perdure cannot be "x"')
  expect(existsSync(join(folder, '.perdure'))).toBe(false)
})

describeOn(['postgres18'], 'processes', (database) => {
  test('the commands of compose.yaml and of the Dockerfile start, and runs pass from a server to a worker', async () => {
    const { services } = parse(readFileSync(join(ROOT, 'compose.yaml'), 'utf8'), {
      merge: true,
    }) as Compose
    expect(services.serve?.deploy?.replicas).toBe(2)
    expect(services.worker?.deploy?.replicas).toBe(3)
    expect(services.pgbouncer?.profiles).toEqual(['pgbouncer'])
    expect(services.serve?.environment?.DATABASE_URL).toMatch(/^postgres:\/\//)
    expect(services.worker?.environment?.DATABASE_URL).toMatch(/^postgres:\/\//)

    const schema = ['--schema', freshSchema()]
    const env = {
      DATABASE_URL: urlOf(database),
      PERDURE_TOKENS: `admin:${TOKEN}`,
      NODE_ENV: 'production',
    }
    const here = (command: readonly string[] = []) => [...command.map(onLoopback), ...schema]
    const servers = [
      perdure(here(services.serve?.command), ROOT, env),
      perdure(here(commandOfDockerfile()), ROOT, { ...env, PORT: '0' }),
    ]
    const worker = perdure(here(services.worker?.command), ROOT, env)
    for (const server of servers) await server.says('serving at')
    await worker.says('working')
    const [first, second] = servers.map(
      (server) => /http:\/\/127.0.0.1:\d+/.exec(server.errors)?.[0] ?? '',
    )
    const started = logOf(worker).at(-1)
    expect(started).toMatchObject({ level: 'info', message: 'working' })
    expect(started?.workflows).toContain('order (function)')
    const health = `http://127.0.0.1:${started?.healthPort}`
    expect(await (await fetch(`${health}/readyz`)).json()).toEqual({ status: 'ok' })
    expect((await fetch(`${health}/api/v1/runs`)).status).toBe(404)

    const path = '/api/v1/workflows/lead-routing/runs'
    const input = { id: 'l-1', email: 'bob@acme.example' }
    expect(await apiAt(first ?? '')('POST', path, { input })).toMatchObject({
      code: 'UNAUTHENTICATED',
    })
    await apiAt(first ?? '', TOKEN)('POST', path, { input, id: 'l-1' })
    const result = await resultOf(apiAt(second ?? '', TOKEN), 'l-1')
    expect(result).toMatchObject({ status: 'completed', output: { owner: 'ada/l-1' } })

    const all = [...servers, worker]
    for (const { child } of all) child.kill('SIGTERM')
    expect(await Promise.all(all.map(({ ended }) => ended))).toEqual([0, 0, 0])
    for (const one of all) expect(logOf(one).at(-1)).toMatchObject({ message: 'closed' })
  })

  test('SIGTERM lets a step finish, gives the run back, and ends with 0', async () => {
    const folder = folderWith({ 'workflows/holder.ts': HOLDER })
    const env = { DATABASE_URL: urlOf(database) }
    const schema = ['--schema', freshSchema()]
    const serve = ['serve', '--worker', '--port', '0', '--concurrency', '5', ...schema]
    const first = perdure(serve, folder, { ...env, LOG_FORMAT: 'text' })
    await first.says('serving at')
    const url = /http:\/\/127.0.0.1:\d+/.exec(first.errors)?.[0] ?? ''
    await apiAt(url)('POST', '/api/v1/workflows/holder/runs', { input: 'go', id: 'held' })
    await eventually(() => existsSync(join(folder, 'began.txt'))).toBe(true)
    first.child.kill('SIGTERM')
    await first.says('SIGTERM: closing')
    put(folder, 'go', '')
    expect(await first.ended).toBe(0)
    expect(first.errors).toMatch(/^\d\d:\d\d:\d\d info +serving at/)

    const second = perdure(serve, folder, env)
    await second.says('serving at')
    const again = /http:\/\/127.0.0.1:\d+/.exec(second.errors)?.[0] ?? ''
    const { output } = await resultOf(apiAt(again), 'held')
    // The step was recorded by the one that ended; where the next one was executed is not said here.
    expect([first.child.pid, second.child.pid]).toContain(output)
    expect(readFileSync(join(folder, 'began.txt'), 'utf8').trim()).toBe(String(first.child.pid))
    // A second signal does not wait for a step that does not end.
    await apiAt(again)('POST', '/api/v1/workflows/holder/runs', { input: 'never', id: 'endless' })
    await eventually(() => readFileSync(join(folder, 'began.txt'), 'utf8').trim()).toMatch(/\n/)
    const signals = setInterval(() => second.child.kill('SIGTERM'), 200)
    expect(await second.ended).toBe(130)
    clearInterval(signals)
  })
})

/** No test listens elsewhere, and each takes ports that are free. */
const onLoopback = (word: string): string =>
  word === '0.0.0.0' ? '127.0.0.1' : /^41\d\d$/.test(word) ? '0' : word

function commandOfDockerfile(): readonly string[] {
  const text = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  const words = (name: string) =>
    JSON.parse(new RegExp(`^${name} (\\[.*\\])$`, 'm').exec(text)?.[1] ?? '[]') as string[]
  expect(words('ENTRYPOINT')).toEqual(['node', 'dist/cli/main.js'])
  return words('CMD')
}

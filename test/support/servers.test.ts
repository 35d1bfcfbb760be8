import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { describeOn, freshSchema, urlOf } from './databases.js'
import { hasBinaries, type Postgres, startPostgres } from './servers.mjs'

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

describeOn(['postgres15', 'postgres18'], 'the server of the test run', (database) => {
  test('is of the version its name says', async () => {
    const [row] = await query(urlOf(database), 'show server_version')
    const { server_version: version } = row as { server_version: string }
    expect(`postgres${version.split('.')[0]}`).toBe(database.name)
  })

  test('takes a schema of its own for each test', async () => {
    await query(urlOf(database), `create schema ${freshSchema()}`)
  })
})

describe.each([15, 18] as const)('a server of its own, PostgreSQL %d', (version) => {
  const missing = !hasBinaries(version)

  async function withServer(body: (server: Postgres) => Promise<void>): Promise<void> {
    const server = await startPostgres({ version, settings: { work_mem: '5MB' } })
    try {
      await body(server)
    } finally {
      await server.stop()
    }
    expect(existsSync(dirname(server.dataDir))).toBe(false)
  }

  test.skipIf(missing)('keeps port and committed rows over every kind of restart', async () => {
    await withServer(async (server) => {
      const { url } = server
      await query(url, 'create table kept (n int)')
      await query(url, 'insert into kept values (1)')
      await server.restart('fast')
      await query(url, 'insert into kept values (2)')
      await server.restart('immediate')
      await query(url, 'insert into kept values (3)')
      await server.kill9()
      expect(server.pid).toBe(null)
      await expect(query(url, 'select 1')).rejects.toThrow('ECONNREFUSED')
      await server.start()
      expect(server.url).toBe(url)
      expect(await query(url, 'select n from kept order by n')).toEqual([
        { n: 1 },
        { n: 2 },
        { n: 3 },
      ])
      expect(await query(url, 'show work_mem')).toEqual([{ work_mem: '5MB' }])
    })
  })

  test.skipIf(missing)('ends, files and all, when its process is killed', async () => {
    const servers = new URL('./servers.mjs', import.meta.url).href
    const program = `
      const { startPostgres } = await import(${JSON.stringify(servers)})
      const { pid, dataDir } = await startPostgres({ version: ${version} })
      console.log(JSON.stringify({ pid, dataDir }))
      setInterval(() => {}, 1000)`
    const child = spawn(process.execPath, ['--input-type=module', '-e', program])
    const [line] = await once(child.stdout, 'data')
    const { dataDir } = JSON.parse(String(line)) as { pid: number; dataDir: string }
    expect(existsSync(dataDir)).toBe(true)
    child.kill('SIGKILL')
    for (let tries = 100; tries > 0 && existsSync(dirname(dataDir)); tries -= 1) await sleep(100)
    expect(existsSync(dirname(dataDir))).toBe(false)
  })
})

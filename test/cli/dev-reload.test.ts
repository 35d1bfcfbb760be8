// perdure dev as people use it: an empty folder, code that changes and breaks, a second start beside it, kill -9, Ctrl-C.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { apiAt, eventually, folderWith, perdure, put, resultOf } from './processes.js'

/** `done` tells which code it is. Both last until a file says so: one sleeps, the other is in a step. */
const code = (version: string) => `
import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as later } from 'node:timers/promises'
import { workflow } from 'perdure'

const began = (step: string) => appendFileSync('began.txt', step + '\\n')

export const sleeper = workflow('sleeper', async (wf) => {
  const before = await wf.do('before', () => (began('before'), '${version}'))
  let round = 0
  do await wf.sleep('nap ' + round, '1s')
  while (!(await wf.do('look ' + round++, () => existsSync('go'))))
  return [before, await wf.do('done', () => '${version}')]
})

export const holder = workflow('holder', async (wf) => {
  const held = await wf.do('hold', async () => {
    began('hold')
    while (!existsSync('go')) await later(20)
    return '${version}'
  })
  return [held, await wf.do('done', () => '${version}')]
})
`
const FILE = 'workflows/work.ts'

test('changed code takes over a run in its sleep and one in the middle of a step, which is executed once', async () => {
  const folder = folderWith()
  const began = (step: string) =>
    existsSync(join(folder, 'began.txt'))
      ? readFileSync(join(folder, 'began.txt'), 'utf8')
          .split('\n')
          .filter((line) => line === step)
      : []
  const dev = perdure(['dev'], folder, { PORT: '0' })
  await dev.says('Ctrl-C stops')
  // An empty folder says what to do, in a few lines.
  expect(dev.text).toContain('none yet: "perdure init" writes a first one')
  expect(dev.text.split('\n').filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(8)
  const { url, pid } = JSON.parse(readFileSync(join(folder, '.perdure/server.json'), 'utf8'))
  expect(pid).toBe(dev.child.pid)
  expect(Number(new URL(url).port)).toBeGreaterThan(4114 + 20)
  const api = apiAt(url)

  put(folder, FILE, code('old'))
  await dev.says(`↻ ${FILE} loaded`)
  await api('POST', '/api/v1/workflows/sleeper/runs', { id: 'asleep' })
  await api('POST', '/api/v1/workflows/holder/runs', { id: 'held' })
  await eventually(() => [...began('before'), ...began('hold')]).toEqual(['before', 'hold'])

  // Broken code is not taken up, and what is wrong is said.
  put(folder, FILE, code('old').replace('await wf.sleep(', 'await wf.sleep(('))
  await dev.says(`${FILE}: not loaded; the code before it goes on`)
  expect(dev.errors).toMatch(/workflows\/work\.ts:\d+:\d+: Expected .*\[PROJECT_INVALID\]/)
  expect((await api('GET', '/api/v1/workflows')).items.length).toBeGreaterThan(0)

  put(folder, FILE, code('new'))
  await eventually(() => dev.text.split(`↻ ${FILE} loaded`).length).toBe(3)
  put(folder, 'go', '')
  expect(await resultOf(api, 'held')).toMatchObject({ output: ['old', 'new'] })
  expect(await resultOf(api, 'asleep')).toMatchObject({ output: ['old', 'new'] })
  expect(began('hold')).toHaveLength(1)
  expect(began('before')).toHaveLength(1)

  // A second one is told who has the port, and who the directory.
  const port = new URL(url).port
  const elsewhere = folderWith({ [FILE]: code('other') })
  const samePort = perdure(['dev', '--port', port], elsewhere)
  const sameFolder = perdure(['dev', '--port', '0'], folder)
  expect(await samePort.ended).toBe(2)
  expect(samePort.errors).toContain(`Port ${port} of 127.0.0.1 is taken by process ${pid} (`)
  expect(await sameFolder.ended).toBe(2)
  expect(sameFolder.errors).toContain(`.perdure/data is already open in process ${pid}`)
  expect(sameFolder.errors).toContain(`it serves at ${url}`)

  // Killed in the middle of a sleep, it goes on at the next start.
  await api('POST', '/api/v1/workflows/sleeper/runs', { id: 'killed' })
  await eventually(() => began('before')).toHaveLength(2)
  await eventually(async () => (await api('GET', '/api/v1/runs/killed')).status).toBe('waiting')
  dev.child.kill('SIGKILL')
  await dev.ended
  const token = 'a-token-of-thirty-two-characters'
  const again = perdure(['dev', '--port', '0'], folder, { PERDURE_TOKENS: `admin:${token}` })
  await again.says('Workflows holder (function) · sleeper (function)')
  await again.says('Ctrl-C stops')
  const address = JSON.parse(readFileSync(join(folder, '.perdure/server.json'), 'utf8'))
  expect((await resultOf(apiAt(address.url, token), 'killed')).output).toEqual(['new', 'new'])
  // It has tokens now, and says the admin's to the other commands of its owner.
  expect((await fetch(`${address.url}/api/v1/runs`)).status).toBe(401)
  expect(address.token).toBe(token)
  expect(began('before')).toHaveLength(2)

  again.child.kill('SIGINT')
  expect(await again.ended).toBe(0)
  expect(again.text).toContain('Ctrl-C: closing; runs continue at the next start.')
  expect(existsSync(join(folder, '.perdure/server.json'))).toBe(false)
})

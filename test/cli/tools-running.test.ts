// perdure check and perdure export while another process has the embedded database open: they ask that process.

import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { announce } from '../../src/cli/address.js'
import { checkCommand } from '../../src/cli/commands/check.js'
import { serve } from '../../src/http/index.js'
import { createEngine, type Wf, workflow } from '../../src/index.js'
import { eventually } from '../support/world.js'
import { newFolder, perdure } from './tools-support.js'

const order = (first: string) =>
  workflow('order', async (wf: Wf) => {
    await wf.do(first, () => 1)
    await wf.waitFor('approval')
  })
const held = workflow('held', (wf) =>
  wf.do('hold', ({ signal }) => new Promise((go) => signal.addEventListener('abort', go))),
)
const TOKEN = 'a-token-of-thirty-two-characters'
const graph = {
  id: 'stored',
  nodes: [{ id: 'paid', type: 'wait-for-event', config: { mode: 'event', event: 'paid' } }],
  edges: [{ from: 'trigger', to: 'paid' }],
}

test('with the embedded database open, check and export go through the process that has it', async () => {
  const cwd = newFolder()
  const database = `file:${join(cwd, '.perdure/data')}`
  mkdirSync(join(cwd, '.perdure'))
  const workflows = [order('charge'), held] as const
  const engine = await createEngine({ database, workflows })
  const serving = await serve(engine, { port: 0, tokens: [{ token: TOKEN, role: 'admin' }] })
  const withdraw = announce(join(cwd, '.perdure'), {
    ...{ url: serving.url, pid: process.pid, token: TOKEN },
  })
  onTestFinished(async () => {
    withdraw()
    await serving.close()
    await engine.close()
  })
  await engine.graphs.save(graph as never)
  for (const id of ['o-1', 'o-2']) await engine.start('order', undefined as never, { id })
  await engine.start('stored' as never, {} as never, { id: 's-1' })
  await engine.workspace('acme').start('order', undefined as never, { id: 'a-1' })
  const waiting = async () => {
    const there = await engine.stats()
    return there.filter(({ status }) => status === 'waiting').map(({ runs }) => runs)
  }
  await eventually(waiting).toEqual([3, 1])

  const check = (code: readonly unknown[], ...argv: string[]) => {
    const commands = [checkCommand(async () => ({ workflows: code }))]
    return perdure(['check', ...argv], { cwd, commands })
  }
  const same = await check(workflows)
  expect(same.err).toBe('')
  expect(same).toMatchObject({ exit: 0 })
  expect(same.out).toContain('4 runs have not ended: 4 fit.')
  const other = await check([order('pay')], '--workspace', 'default')
  expect(other.exit).toBe(1)
  expect(other.out).toContain(
    '    recorded  step "charge" (inline)\n    now       step "pay" (inline)',
  )
  expect(other.out).toContain('3 runs have not ended: 2 would diverge, 1 fit.')

  const copied = await perdure(['export', '--copy', '--out', 'copy.jsonl'], { cwd })
  expect(copied).toMatchObject({ exit: 0, err: '4 runs and 1 stored graphs written.' })
  expect(await waiting()).toEqual([3, 1])

  // What a worker has is not moved, and nothing is paused for it.
  await engine.start('held', undefined as never, { id: 'h-1' })
  await eventually(async () => (await engine.get('h-1'))?.status).toBe('running')
  const busy = await perdure(['export', '--out', 'busy.jsonl'], { cwd })
  expect(busy.exit).toBe(1)
  expect(busy.err).toContain('cannot be moved now: h-1')
  expect(busy.err).toContain('[RUNS_BUSY]')
  expect(await engine.get('o-1')).toMatchObject({ reason: 'signal' })

  const moved = await perdure(['export', 'o-1', '--workspace', 'default', '--out', 'one.jsonl'], {
    cwd,
  })
  expect(moved).toMatchObject({ exit: 0 })
  expect(moved.err).toContain('1 of them have not ended: they are paused here')
  const lines = readFileSync(join(cwd, 'one.jsonl'), 'utf8').trim().split('\n')
  expect(lines.map((line) => Object.keys(JSON.parse(line))[0])).toEqual(['perdure', 'run', 'end'])
  expect(await engine.get('o-1')).toMatchObject({ reason: 'paused' })
  expect(await engine.get('o-2')).toMatchObject({ reason: 'signal' })
})

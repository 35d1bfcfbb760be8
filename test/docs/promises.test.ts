// Promises of the README that no other suite shows in one piece.

import { expect, onTestFinished, test } from 'vitest'
import { composeEngine } from '../../src/compose-engine.js'
import { readEngineOptions } from '../../src/engine/options.js'
import { type Definition, type Engine, workflow } from '../../src/index.js'
import { openMemory } from '../../src/open-store.js'
import { readPage } from './programs.js'

const quiet = { debug() {}, info() {}, warn() {}, error() {} }

/** Engines on one store, one after the other: deploys and restarts. */
async function deploys() {
  const { store, hints } = await openMemory()
  return async (...workflows: readonly Definition[]): Promise<Engine> => {
    const settings = readEngineOptions({ database: 'memory:', workflows, log: quiet }, {})
    const engine = await composeEngine(settings, { opened: { store, hints } })
    onTestFinished(() => engine.close())
    return engine
  }
}

test('a recorded step is not executed again', async () => {
  const deploy = await deploys()
  let charges = 0
  const order = workflow('order', async (wf) => {
    await wf.do('charge', () => {
      charges += 1
    })
    return wf.waitFor('go')
  })
  const before = await deploy(order)
  await before.start(order, undefined, { id: 'o' })
  await expect.poll(() => before.get('o')).toMatchObject({ status: 'waiting' })
  await before.close()

  const after = await deploy(order)
  await after.signal('o', 'go', 'now')
  expect(await after.handle(order, 'o').result()).toBe('now')
  expect(charges).toBe(1)
})

test('signals sent before the wait are kept, in order', async () => {
  const engine = await (await deploys())(
    workflow('order', async (wf) => {
      await wf.sleep('a moment', '50ms')
      return [await wf.waitFor('note'), await wf.waitFor('note'), await wf.waitFor('other')]
    }),
  )
  const run = await engine.start('order', undefined, { id: 'o' })
  await engine.signal('o', 'other', 3)
  await engine.signal('o', 'note', 1, { id: 'm' })
  await engine.signal('o', 'note', 1, { id: 'm' })
  await engine.signal('o', 'note', 2)
  expect(await run.result()).toEqual([1, 2, 3])
})

test('code that no longer matches stops the run, and the old code goes on with it', async () => {
  const deploy = await deploys()
  const ran: string[] = []
  const step = (name: string) => () => void ran.push(name)
  const old = workflow('order', async (wf) => {
    await wf.do('charge', step('charge'))
    await wf.waitFor('go')
    await wf.do('ship', step('ship'))
  })
  const changed = workflow('order', async (wf) => {
    await wf.do('reserve', step('reserve'))
    await wf.waitFor('go')
  })
  const first = await deploy(old)
  await first.start(old, undefined, { id: 'o' })
  await expect.poll(() => first.get('o')).toMatchObject({ status: 'waiting' })
  await first.close()

  const second = await deploy(changed)
  await second.signal('o', 'go')
  await expect.poll(() => second.get('o')).toMatchObject({ status: 'waiting', reason: 'diverged' })
  expect(ran).toEqual(['charge'])
  await second.close()

  const third = await deploy(old)
  await third.handle(old, 'o').result()
  expect(ran).toEqual(['charge', 'ship'])
})

test('every proof that a page names is the title of a test in that file', () => {
  const names = ['databases', 'operating', 'running'].map((name) => `docs/${name}.md`)
  const pages = ['README.md', 'ARCHITECTURE.md', ...names]
  const wrong = pages.flatMap((page) => {
    const text = readPage(page).replace(/\s+/g, ' ')
    const proofs = [...text.matchAll(/"([^"]+)" in \[([^\]]+)\]\(([^)]+)\)/g)]
    return proofs
      .filter(([, title = '', path = '']) => !readPage(path).includes(title))
      .map(([, title, path]) => `${page}: "${title}" is not in ${path}`)
  })
  expect(wrong).toEqual([])
})

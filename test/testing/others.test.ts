// Calls, events and other runs under a clock that is moved by hand, and across crashes.

import { expect, test } from 'vitest'
import { document, typed, workflow } from '../../src/index.js'
import { crashEverywhere, createTestEngine } from '../../src/testing/index.js'

const plan = workflow(
  'plan',
  { signals: { change: typed<string>() }, state: typed<string>() },
  async (wf) => {
    wf.setState('basic')
    const next = await wf.waitFor('change')
    await wf.do('note', () => next)
    wf.setState(next)
    await wf.sleep('a month', '30 days')
    return next
  },
)
const child = workflow('child', async (wf, n: number) => {
  await wf.sleep('nap', '1 day')
  return n * 2
})
const parent = workflow('parent', async (wf) => {
  const started = await wf.start('child', child, 4)
  const free = await wf.start('free', child, 5, { id: 'free', detached: true })
  wf.emit('begun', { by: wf.run.id })
  return [await started.result(), await free.result()]
})
const hearer = workflow('hearer', async (wf) => wf.waitForEvent('begun', { match: { by: 'p' } }))

test('a call is answered, and refused, without the clock being moved', async () => {
  await using engine = await createTestEngine({ workflows: [plan] })
  const run = await engine.start(plan)
  await engine.settle()
  expect(await run.trigger('change', 'pro')).toMatchObject({ id: run.id, state: 'basic' })
  await engine.settle()
  await expect(run.trigger('change', 'max')).rejects.toMatchObject({ code: 'NOT_AVAILABLE' })
  await engine.advance('30 days')
  expect(await run.result()).toBe('pro')
})

test('events and other runs are heard of, whatever commit a crash stands beside', async () => {
  const open = () => createTestEngine({ workflows: [parent, child, hearer] })
  const { commits } = await crashEverywhere(open, async (engine) => {
    const hearing = await engine.start(hearer, undefined, { id: 'h' })
    await engine.settle()
    const run = await engine.start(parent, undefined, { id: 'p' })
    await engine.advance('2 days')
    return [await run.result(), await hearing.result()]
  })
  expect(commits).toBeGreaterThan(6)
})

const Note = document('Note', typed<{ text: string }>())
const writing = workflow('writing', async (wf) => {
  await wf.documents.save(Note, { text: 'draft' }, { key: 'note' })
  await wf.sleep('nap', '1 day')
  await wf.documents.save(Note, { text: 'aside' })
  const before = await wf.documents.find(Note, 'note')
  await wf.documents.save(Note, { text: `${before?.content.text}, revised` }, { key: 'note' })
  return (await wf.documents.all(Note)).map(({ content }) => content.text)
})

test('documents are saved once, whatever commit a crash stands beside', async () => {
  const open = () => createTestEngine({ workflows: [writing] })
  const { output } = await crashEverywhere(open, async (engine) => {
    const run = await engine.start(writing)
    await engine.advance('1 day')
    const shown = await engine.documents(run.id, Note)
    return [await run.result(), shown.map(({ content, key, step }) => [content.text, key, step])]
  })
  expect(output).toEqual([
    ['draft, revised', 'aside'],
    [
      ['draft, revised', 'note', 'document:Note#3'],
      ['aside', null, 'document:Note#2'],
    ],
  ])
})

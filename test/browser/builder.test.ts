// Graphs that are drawn: built with the mouse and with keys, put right, saved, compared, run and watched.

import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { createEngine, type GraphJson, nodeType, task } from '../../src/index.js'
import { seriousIn } from './axe.js'
import { describeInBrowser, pageOf, studioWith } from './studio.js'

/** The bank answers when the story says so. */
let bankSays: (answer: Error | null) => void = () => {}
const pay = nodeType('bank.pay', { description: 'Takes the money.' }, async () => {
  const answer = await new Promise<Error | null>((resolve) => {
    bankSays = resolve
  })
  if (answer) throw answer
  return { paid: true }
})
const enrich = task('enrich', async ({ email }: { email: string }) => ({ size: email.length }))

const routing = (owner: string): GraphJson => ({
  id: 'routing',
  nodes: [
    {
      id: 'enriched',
      type: 'task',
      config: { task: 'enrich', input: { email: { cel: 'input.email' } } },
    },
    { id: 'large', type: 'condition', config: { if: { cel: 'enriched.size > 8' } } },
    { id: 'assigned', type: 'set', config: { owner } },
    { id: 'campaign', type: 'set', config: { owner: 'campaign' } },
  ],
  edges: [
    { from: 'trigger', to: 'enriched' },
    { from: 'enriched', to: 'large' },
    { from: 'large', to: 'assigned', when: true },
    { from: 'large', to: 'campaign', when: false },
  ],
})

describeInBrowser('the builder of graphs', () => {
  const studio = studioWith(async () => {
    const engine = await createEngine({
      database: 'memory:',
      workflows: [enrich],
      nodeTypes: [pay],
    })
    await engine.workspace('default').graphs.save(routing('ada'), { note: 'the first one' })
    return engine
  })
  // A browser says so whenever a save is refused.
  const { open } = pageOf(studio, (problem) => !problem.includes('status of 409'))

  const node = (page: Page, id: string): Locator =>
    page.locator(`.react-flow__node[data-id="${id}"]`)
  const drop = async (page: Page, title: string, onto: Locator): Promise<void> => {
    const palette = page.getByRole('complementary', { name: 'Palette' })
    await palette.getByRole('button', { name: title, exact: true }).dragTo(onto)
  }
  const fine = (page: Page): Promise<void> => page.getByText('Nothing to put right').waitFor()
  const idsOf = async (page: Page): Promise<readonly (string | null)[]> => {
    const all = await page.locator('.react-flow__node').all()
    const ids = await Promise.all(all.map((one) => one.getAttribute('data-id')))
    return ids.toSorted()
  }

  test('an author builds a graph with a condition, a fork and a try-catch, runs it and watches it', async () => {
    const page = await open('/builder')
    await page.getByRole('button', { name: 'New graph' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('checkout')
    await page.getByRole('button', { name: 'Draw it' }).click()

    await drop(page, 'Condition', node(page, 'trigger'))
    const condition = page.getByRole('combobox', { name: 'If' })
    await condition.pressSequentially('inp')
    await page.getByRole('option', { name: /input/ }).click()
    await condition.press('End')
    await condition.pressSequentially('.amount >')
    await page.getByText('Cannot read the expression').waitFor()
    await condition.pressSequentially(' 100')
    await page.getByText('Cannot read the expression').waitFor({ state: 'detached' })
    await drop(page, 'Fork', node(page, 'condition1'))
    await drop(page, 'Set', node(page, 'condition1'))
    await page.getByRole('button', { name: 'Add a field' }).click()
    await drop(page, 'Set', node(page, 'fork1'))
    await page.getByRole('button', { name: 'Add a field' }).click()
    await drop(page, 'Try catch', node(page, 'fork1'))
    await drop(page, 'Pay', node(page, 'tryCatch1').locator('[data-zone=body]'))
    const id = page.getByLabel('Id of the node')
    await id.fill('paid')
    await id.press('Enter')
    await drop(page, 'Set', node(page, 'tryCatch1').locator('[data-zone=handler]'))
    await page.getByRole('button', { name: 'Add a field' }).click()
    await page.getByLabel('field1: kind of value').selectOption('Expression')
    await page.getByRole('combobox', { name: 'field1', exact: true }).fill('error.message')
    await fine(page)

    await page.getByRole('button', { name: 'Run' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('amount: kind of value').selectOption('Number')
    await dialog.getByLabel('amount', { exact: true }).fill('200')
    await dialog.getByRole('button', { name: 'Save and run' }).click()

    await node(page, 'paid').locator('.is-open').waitFor()
    await node(page, 'condition1').locator('.is-done').waitFor()
    await node(page, 'set2').locator('.is-done').waitFor()
    await expect.poll(() => node(page, 'set1').locator('.is-skipped').count()).toBe(1)
    bankSays(new Error('the bank is closed'))
    await node(page, 'paid').locator('.is-failed').waitFor()
    await node(page, 'set3').locator('.is-done').waitFor()
    await page.getByRole('status').getByText('completed').waitFor()
    await node(page, 'paid').click()
    await page
      .getByRole('complementary', { name: 'Details' })
      .getByText('the bank is closed')
      .first()
      .waitFor()

    const stored = await studio.engine.graphs.get('checkout')
    expect(stored?.json.edges).toEqual([
      { from: 'trigger', to: 'condition1' },
      { from: 'condition1', to: 'fork1', when: true },
      { from: 'condition1', to: 'set1', when: false },
      { from: 'fork1', to: 'set2' },
      { from: 'fork1', to: 'tryCatch1' },
      { from: 'tryCatch1', to: 'set3', when: 'catch' },
    ])
    const run = new URL(page.url()).searchParams.get('run') ?? ''
    expect((await studio.engine.get(run))?.version).toBe('#1')
    expect(await seriousIn(page)).toEqual([])
  })

  test('with keys alone a node is added, connected, copied, undone, done again and deleted', async () => {
    const page = await open('/builder/routing')
    await fine(page)
    const before = await idsOf(page)
    await page.getByRole('button', { name: 'Nodes', exact: true }).press('Enter')
    await page.getByRole('button', { name: /^assigned/ }).press('Enter')
    await page.getByRole('button', { name: 'Add', exact: true }).press('Enter')
    await page.getByLabel('Search the types of nodes').fill('merge')
    await page.getByLabel('Search the types of nodes').press('Enter')
    await node(page, 'merge1').waitFor()
    await page.getByRole('button', { name: 'Nodes', exact: true }).press('Enter')
    await page.getByRole('button', { name: /^campaign/ }).press('Enter')
    await page.getByLabel('Lead on to').selectOption('merge1')
    await page.getByText('set → merge1').nth(1).waitFor()
    const withMerge = await idsOf(page)
    expect(withMerge).toEqual([...before, 'merge1'].toSorted())

    const nodes = page.getByRole('list', { name: 'Nodes' })
    await nodes.getByRole('button', { name: /^merge1/ }).press('Enter')
    await page.keyboard.press('Control+c')
    await page.keyboard.press('Control+v')
    await node(page, 'merge2').waitFor()
    await page.getByText('"merge2" is never reached').first().waitFor()
    await page.keyboard.press('Delete')
    await node(page, 'merge2').waitFor({ state: 'detached' })

    for (let steps = 0; steps < 4; steps += 1) await page.keyboard.press('Control+z')
    await page.getByText('version 1', { exact: true }).waitFor()
    expect(await idsOf(page)).toEqual(before)
    await page.keyboard.press('Control+Shift+z')
    await page.keyboard.press('Control+Shift+z')
    expect(await idsOf(page)).toEqual(withMerge)

    // What is not saved is kept while somebody looks elsewhere.
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.goBack()
    await page.getByText('version 1, changed').waitFor()
    expect(await idsOf(page)).toEqual(withMerge)
  })

  test('what is wrong is marked on its node and listed; a click leads there', async () => {
    const page = await open('/builder/routing')
    await fine(page)
    await node(page, 'large').click()
    const field = page.getByRole('combobox', { name: 'If' })
    await field.fill('enrched.size > 8')
    const problem = page.getByRole('region', { name: 'To put right' }).getByRole('button')
    await problem.getByText('did you mean "enriched"?').waitFor()
    await expect.poll(() => page.locator('.expression mark').textContent()).toBe('enrched')
    await node(page, 'large').locator('.diagram-problems').waitFor()
    expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
    expect(await seriousIn(page)).toEqual([])
    await page.locator('.react-flow__pane').click({ position: { x: 5, y: 5 } })
    await field.waitFor({ state: 'detached' })
    await problem.click()
    await field.fill('enriched.size > 9')
    await fine(page)
  })

  test('a version is saved with a note, compared with the one before, and kept from being overwritten', async () => {
    const page = await open('/builder/routing?tab=json', { colorScheme: 'dark' })
    const text = page.getByLabel('The graph, as JSON')
    const { nodes, edges } = routing('bob')
    const changed = {
      ...routing('bob'),
      nodes: [...nodes.filter(({ id }) => id !== 'campaign'), { id: 'told', type: 'merge' }],
      edges: [...edges.filter(({ to }) => to !== 'campaign'), { from: 'assigned', to: 'told' }],
    }
    await text.fill('{ "id": ')
    await page.getByText('Not taken over yet').waitFor()
    await text.fill(JSON.stringify(changed))
    await studio.engine.workspace('default').graphs.save(routing('eve'))
    await page.getByRole('button', { name: 'Save' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Note').fill('bob takes them')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('Somebody has saved version 2 since.').waitFor()
    await dialog.getByRole('button', { name: 'Save on top of version 2' }).click()
    await page.getByText('version 3', { exact: true }).waitFor()

    await page.getByRole('tab', { name: 'Versions' }).click()
    await page.getByText('bob takes them').waitFor()
    await page.getByLabel('The older version').selectOption('1')
    await node(page, 'told').locator('.mark-added').waitFor()
    await node(page, 'assigned').locator('.mark-changed').waitFor()
    await node(page, 'campaign').locator('.mark-removed').waitFor()
    expect(await node(page, 'large').locator('[class*=mark-]').count()).toBe(0)
    expect(await seriousIn(page)).toEqual([])
    await page.getByRole('button', { name: 'As text' }).click()
    await page.locator('.diff-line.is-added').getByText('"owner": "bob"').waitFor()
  })

  test('a hundred nodes are drawn and copied; on a narrow screen they are read as a list', async () => {
    const steps = Array.from({ length: 100 }, (_, no) => `n${no}`)
    await studio.engine.graphs.save({
      id: 'large-graph',
      nodes: steps.map((id) => ({ id, type: 'set', config: { [`v_${id}`]: 1 } })),
      edges: steps.map((id, no) => ({
        from: steps[Math.floor((no - 1) / 2)] ?? 'trigger',
        to: id,
      })),
    })
    const page = await open('/builder/large-graph')
    await node(page, 'n99').waitFor({ state: 'attached' })
    await expect.poll(() => page.locator('.react-flow__node').count()).toBe(101)
    await expect.poll(() => page.locator('.react-flow__edge').count()).toBe(100)
    // It was saved for all workspaces: who is in one takes a copy.
    await page.getByRole('button', { name: 'Copy as another graph' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('my-graph')
    await page.getByRole('button', { name: 'Draw it' }).click()
    await page.getByText('new, not saved').waitFor()
    await expect.poll(() => page.locator('.react-flow__node').count()).toBe(101)
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByRole('list', { name: 'Nodes' }).getByRole('button', { name: /^n7\b/ }).click()
    await page.getByText('"v_n7": 1').waitFor()
    expect(await seriousIn(page)).toEqual([])
  })
})

// What people do in the Studio, from the first click to the last: real pages, a real browser, a real engine.

import { expect, test } from 'vitest'
import { createEngine } from '../../src/index.js'
import { describeInBrowser, pageOf, studioWith } from './studio.js'
import { bank, order, parcel, patient, press, refund, review, WORKFLOWS } from './world.js'

describeInBrowser('stories of the Studio', () => {
  const studio = studioWith(() => createEngine({ database: 'memory:', workflows: WORKFLOWS }))
  const { open, countOnly } = pageOf(studio)

  test('a newcomer starts an order, sees it fail, be tried again by itself, wait for a person, and finish', async () => {
    const page = await open('/')
    await page.getByRole('button', { name: 'Start' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Workflow').selectOption('order')
    await dialog.getByLabel('Id (optional)', { exact: false }).fill('ord-1')
    await dialog.getByLabel('Id', { exact: true }).fill('o-1')
    await dialog.getByLabel('Amount').fill('100')
    await dialog.getByRole('button', { name: 'Start' }).click()
    await page.getByRole('button', { name: 'approval', exact: true }).first().click()
    await dialog.getByLabel('Ok').check()
    await dialog.getByLabel('Carrier').selectOption('courier')
    await dialog.getByRole('button', { name: 'approval' }).click()
    await page.getByRole('main').getByText('completed', { exact: true }).waitFor()
    await page.getByRole('tab', { name: 'Data' }).click()
    await page.getByText('courier').first().waitFor()
    expect(await page.getByRole('button', { name: 'Cancel' }).count()).toBe(0)
    await page.getByRole('tab', { name: 'Errors 1' }).click()
    await page.getByText('card network down').waitFor()
  })

  test('while an attempt is due by itself there is no Retry, but when it is due', async () => {
    await studio.engine.start(patient, undefined, { id: 'patient-1' })
    const page = await open('/runs/patient-1')
    await page.getByText(/It is tried again by itself in (1 h|59 m)/).waitFor()
    expect(await page.getByRole('button', { name: 'Retry' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('It has done nothing that would be undone.').waitFor()
    await page.getByRole('button', { name: 'Cancel the run' }).click()
    await page.getByRole('main').getByText('cancelled', { exact: true }).waitFor()
  })

  test('an engineer goes back in a finished run, and forks it with another input', async () => {
    const run = await studio.engine.start(order, { id: 'o-2', amount: 80 }, { id: 'ord-2' })
    await run.signal('approval', { ok: true, carrier: 'post' })
    await run.result()
    const page = await open('/runs/ord-2?tab=data')
    await page.getByText('pay-o-2').waitFor()
    await page.keyboard.press('[')
    await page.keyboard.press('[')
    await page.getByText('It is there when the run is completed.').waitFor()
    expect(new URL(page.url()).searchParams.get('at')).toBe('6')
    await page.reload()
    await page.getByText('It is there when the run is completed.').waitFor()
    await page.getByRole('button', { name: 'Fork from here' }).click()
    await page.getByLabel('From').selectOption('')
    await page.getByRole('textbox', { name: 'Input' }).fill('{ "id": "o-3", "amount": 7 }')
    await page.getByLabel('Id (optional)').fill('ord-3')
    await page.getByRole('dialog').getByRole('button', { name: 'Fork' }).click()
    await page.waitForURL('**/runs/ord-3')
    expect(await studio.engine.get('ord-3')).toMatchObject({ input: { id: 'o-3', amount: 7 } })
    expect(await studio.engine.get('ord-2')).toMatchObject({ status: 'completed' })
  })

  test('a machine is forked at a moment with a state that was edited, and goes on from there', async () => {
    press.isBroken = false
    await studio.engine.start(review, { topic: 'ants' }, { id: 'ants-1' })
    await expect.poll(() => studio.engine.get('ants-1')).toMatchObject({ place: 'reviewing' })
    const { items } = await studio.engine.checkpoints('ants-1')
    const page = await open(`/runs/ants-1?at=${items.at(-1)?.seq}`)
    await page.getByRole('button', { name: 'Fork from here' }).click()
    const dialog = page.getByRole('dialog')
    const state = dialog.getByLabel('State at reviewing')
    await expect.poll(() => state.inputValue()).toContain('About ants, version 1')
    await state.fill('{ "text": "By hand", "rounds": 7 }')
    await dialog.getByLabel('Id (optional)').fill('ants-2')
    await dialog.getByRole('button', { name: 'Fork' }).click()
    await page.waitForURL('**/runs/ants-2')
    await page.getByRole('button', { name: 'approve' }).click()
    await dialog.getByLabel('By').fill('ada')
    await dialog.getByRole('button', { name: 'approve' }).click()
    await page.getByRole('main').getByText('completed', { exact: true }).waitFor()
    expect(await studio.engine.get('ants-2')).toMatchObject({ output: 'By hand' })
    expect(await studio.engine.get('ants-1')).toMatchObject({ status: 'waiting' })
  })

  test('the steps of a child stand below it in the timeline; a run is paused and resumed on its page', async () => {
    const run = await studio.engine.start(parcel, { id: 'p-1' }, { id: 'par-1' })
    const page = await open('/runs/par-1')
    await page.getByRole('button', { name: 'pick-up', exact: true }).waitFor()
    const names = page.locator('.timeline-name')
    expect(await names.getByText('wrap').count()).toBe(0)
    await page.getByRole('button', { name: 'Show the steps of box' }).click()
    await names.getByText('seal').waitFor()
    const lanes = await names.locator('.timeline-select > .truncate').allTextContents()
    expect(lanes).toEqual(['weigh', 'box', 'wrap', 'seal', 'pick-up'])
    const leftOf = async (name: string) => (await names.getByText(name).boundingBox())?.x ?? 0
    expect(await leftOf('wrap')).toBeGreaterThan(await leftOf('weigh'))

    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    expect(await page.getByRole('button', { name: 'Pause' }).count()).toBe(0)
    expect(await run.get()).toMatchObject({ status: 'waiting', reason: 'paused' })
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    await run.signal('pick-up', null)
    await page.getByRole('main').getByText('completed', { exact: true }).waitFor()
  })

  test('what has failed for good can be retried by a person, a step as well as a transition', async () => {
    bank.isUp = false
    press.isBroken = true
    await studio.engine.start(refund, { id: 'r-1' }, { id: 'ref-1' })
    await studio.engine.start(review, { topic: 'bees' }, { id: 'rev-1' })
    const page = await open('/runs/ref-1')
    await page.getByText('the bank is closed').first().waitFor()
    bank.isUp = true
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('main').getByText('completed', { exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Retry' }).count()).toBe(0)

    await page.goto(`${studio.url}/runs/rev-1?tab=diagram`)
    // A way that leads back is drawn as well.
    await page.locator('.react-flow__edge').filter({ hasText: 'reject' }).waitFor()
    await page.getByRole('button', { name: 'approve' }).click()
    await page.getByLabel('By').fill('ada')
    await page.getByRole('dialog').getByRole('button', { name: 'approve' }).click()
    await page.getByText('out of paper').first().waitFor()
    press.isBroken = false
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('main').getByText('completed', { exact: true }).waitFor()
    expect(await studio.engine.get('rev-1')).toMatchObject({ output: 'About bees, version 1' })
  })

  test('many runs are listed without many rows; new ones wait to be asked for; all that fail are retried at once', async () => {
    bank.isUp = false
    const items = Array.from({ length: 400 }, (_, n) => ({
      input: { id: `b-${n}` },
      options: { id: `bulk-${n}` },
    }))
    const runs = await studio.engine.startMany(refund, items)
    await Promise.allSettled(runs.map((run) => run.result()))
    const page = await open('/runs?workflow=refund')
    const rows = page.getByRole('row')
    await rows.first().waitFor()
    expect(await rows.count()).toBeLessThan(80)
    await page.keyboard.press('/')
    await page.keyboard.type('bulk-39')
    await page.waitForURL('**text=bulk-39**')
    await page.getByRole('link', { name: 'bulk-389' }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'bulk-39', exact: true }).waitFor()
    await studio.engine.run(refund, { id: 'b' }, { id: 'bulk-399-new' })
    await page.getByRole('button', { name: '1 new' }).click()
    await page.getByRole('link', { name: 'bulk-399-new' }).waitFor()
    bank.isUp = true
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('dialog').getByText('12 runs').first().waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Retry 12 runs' }).click()
    await page.getByText('12 runs run again').waitFor()
  })

  test('keys lead everywhere, and a lost server is told, greyed and recovered from without a reload', async () => {
    const page = await open('/')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: /part of the id/ }).waitFor()
    await page.keyboard.type('ord-2')
    await page.getByRole('option', { name: 'ord-2' }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/runs/ord-2')
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('3')
    await page.getByRole('table', { name: 'Journal' }).waitFor()
    await page.goto(`${studio.url}/runs`)
    await page.getByRole('row').first().waitFor()
    await studio.whileDown(async () => {
      await page.getByText('The server does not answer').waitFor()
      await page.getByText('no connection', { exact: true }).waitFor()
      await page.locator('.frame.is-lost').waitFor()
    })
    await page.getByText('The server does not answer').waitFor({ state: 'detached' })
    await page.locator('.frame.is-lost').waitFor({ state: 'detached' })
    await studio.engine.run(refund, { id: 'back' }, { id: 'back-1' })
    await page.getByRole('button', { name: /^\d+ new$/ }).click()
    await page.getByRole('link', { name: 'back-1' }).waitFor()
    countOnly(isNotOffline)
  })
})

/** What a browser says by itself of a server that is not there. */
const isNotOffline = (problem: string): boolean => !/ERR_|Failed to load resource/.test(problem)

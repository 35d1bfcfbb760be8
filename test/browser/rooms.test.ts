// The pages beside the runs: the inbox, workflows, schedules, workers, settings. What people do there, and that nobody is left out.

import { expect, test } from 'vitest'
import { seriousIn } from './axe.js'
import { engineWithRooms, HOSTILE, NARROW } from './rooms.js'
import { describeInBrowser, go, pageOf, studioWith } from './studio.js'
import { bank } from './world.js'

const PAGES = [
  '/inbox',
  '/workflows',
  ...['publish', 'review', 'lead-routing', 'drawn-leads', 'enrich'].map(
    (name) => `/workflows/${name}`,
  ),
  '/schedules',
  '/workers',
  '/settings',
]

/** Pages that offer to change something, to those who may. */
const TOUCHING = [
  ...['/', '/runs?status=failed', '/runs/pub-1', '/runs/rev-1', '/runs/ref-1', '/runs/narrow-1'],
  ...['/inbox', '/workflows/refund', '/schedules', '/builder', '/builder/drawn-leads'],
]
const CHANGES =
  /^(Start|Retry|Cancel|Fork|Pause|Resume|Run|Run now|Save|New graph|decision|approve|reject)\b/

/** What a browser says by itself of a request that is refused. */
const isNotRefused = (problem: string): boolean => !problem.includes('status of 401')

describeInBrowser('the pages beside the runs', () => {
  const studio = studioWith(engineWithRooms)
  const { open, countOnly } = pageOf(studio)

  test('nobody is left out, in light and dark, nor on a telephone', async () => {
    const page = await open('/inbox', { reducedMotion: 'reduce' })
    const found: string[] = []
    for (const path of PAGES) {
      await page.emulateMedia({ colorScheme: 'light' })
      await go(page, path)
      found.push(...(await seriousIn(page)).map((one) => `${path} ${one}`))
      await page.emulateMedia({ colorScheme: 'dark' })
      const inDark = await seriousIn(page, { runOnly: ['color-contrast'] })
      found.push(...inDark.map((one) => `${path}, dark: ${one}`))
      await page.setViewportSize({ width: 390, height: 844 })
      const width = await page.evaluate('document.documentElement.scrollWidth')
      if (width !== 390) found.push(`${path} is ${width} wide`)
      await page.setViewportSize({ width: 1440, height: 900 })
    }
    expect(found).toEqual([])
  })

  test('a reviewer answers from the Inbox, with one click where nothing is asked, and sees what the run did next', async () => {
    const page = await open('/')
    await page.getByRole('link', { name: 'Inbox 3' }).click()
    const article = page.getByRole('article', { name: 'publish pub-1' })
    await article.getByRole('heading', { name: 'Bees' }).waitFor()
    await article.getByText('goes on without you in').waitFor()
    await article.getByLabel('Is it good enough?').check()
    await article.getByLabel('Section').selectOption('culture')
    await article.getByRole('button', { name: 'decision' }).click()
    const answered = page.getByRole('article', { name: 'publish pub-1, answered' })
    await answered.getByRole('listitem').filter({ hasText: 'typeset' }).waitFor()
    await answered.getByText('/culture/bees').waitFor()
    expect(await studio.engine.get('pub-1')).toMatchObject({ output: { url: '/culture/bees' } })

    const machine = page.getByRole('article', { name: 'review rev-1', exact: true })
    await machine.getByText(HOSTILE).waitFor()
    await machine.getByRole('button', { name: 'reject', exact: true }).click()
    await page.getByRole('article', { name: 'review rev-1, answered' }).waitFor()
    // It has written another version, and asks again.
    await machine.waitFor()
    expect(await studio.engine.get('rev-1')).toMatchObject({ state: { rounds: 2 } })
    expect(await page.locator('img').count()).toBe(0)
  })

  test('an operator finds the failed refund by its workflow, reads why, and retries it', async () => {
    bank.isUp = false
    const page = await open('/workflows')
    await page.getByRole('link', { name: 'refund' }).click()
    const step = page.getByRole('row', { name: /^pay back/ })
    await step.getByText('100 %').waitFor()
    await page
      .getByRole('region', { name: 'Diagram of refund' })
      .getByText(/▲ 100 %/)
      .waitFor()
    await page.getByRole('tab', { name: 'curl' }).click()
    await page.getByText(`${studio.url}/api/v1/workflows/refund/runs`).waitFor()
    await page
      .getByRole('region', { name: 'Newest runs' })
      .getByRole('link', { name: 'ref-1' })
      .click()
    await page.getByText('the bank is closed').first().waitFor()
    bank.isUp = true
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('main').getByText('completed', { exact: true }).waitFor()
  })

  test('a schedule is told in words, is resumed and run now; a stored graph leads to the builder', async () => {
    const page = await open('/schedules')
    await page.getByText('At 03:30, Monday through Friday').waitFor()
    const hourly = page.getByRole('listitem').filter({ hasText: 'hourly' })
    await hourly.getByRole('button', { name: 'Resume' }).click()
    await hourly.getByRole('button', { name: 'Pause' }).waitFor()
    await expect.poll(() => hourly.locator('.schedule-time').count()).toBe(5)
    await hourly.getByRole('button', { name: 'Run now' }).click()
    await page.waitForURL('**/runs/**')
    await page.goto(`${studio.url}/workflows`)
    await page.getByRole('link', { name: 'drawn-leads' }).click()
    const versions = page.getByRole('region', { name: 'Versions' })
    await versions.getByText('with a campaign').waitFor()
    await versions.getByRole('link', { name: 'version 1' }).waitFor()
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByRole('dialog').getByLabel('Value, as JSON').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Open in the builder' }).click()
    await page.waitForURL('**/builder/drawn-leads')
  })

  test('a server with tokens asks for one, says so if it is wrong, and lets a viewer look at every page and touch nothing', async () => {
    const viewer = 'viewer-0123456789abcdef'
    const url = await studio.also({
      tokens: [
        { token: viewer, role: 'viewer', name: 'ada' },
        { token: 'admin-0123456789abcdef', role: 'admin' },
      ],
    })
    const page = await open(`${url}/runs`)
    const dialog = page.getByRole('dialog', { name: 'Who asks?' })
    const signIn = async (token: string): Promise<void> => {
      await dialog.getByLabel('Token').fill(token)
      await dialog.getByRole('button', { name: 'Go on' }).click()
    }
    await dialog.waitFor()
    await page.keyboard.press('Escape')
    await signIn('nobody-0123456789abcdef')
    await dialog.getByText('You are not signed in.').waitFor()
    expect(await page.getByRole('link', { name: 'pub-1' }).count()).toBe(0)
    await signIn(viewer)
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'ord-2' }).waitFor()
    await page.getByTitle('change nothing').waitFor()

    const offered: string[] = []
    for (const path of TOUCHING) {
      await go(page, path)
      await page.getByTitle('change nothing').waitFor()
      const buttons = page.locator('main .button:enabled').filter({ hasText: CHANGES })
      offered.push(...(await buttons.allTextContents()).map((text) => `${path}: ${text}`))
    }
    expect(offered).toEqual([])
    await page.goto(`${url}/inbox`)
    await page.getByText('it answers nothing').first().waitFor()
    await page.goto(`${url}/settings`)
    await page.getByText('changes nothing').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await dialog.waitFor()
    expect(await page.evaluate('sessionStorage.length')).toBe(0)
    expect(await page.getByText('ada', { exact: true }).count()).toBe(0)
    // The same pages offer it to who may: it is not this test that does not find it.
    await signIn('admin-0123456789abcdef')
    await dialog.waitFor({ state: 'detached' })
    await page.goto(`${url}/schedules`)
    await page.getByRole('button', { name: 'Run now' }).first().waitFor()
    countOnly(isNotRefused)
  })

  test('limits say who has a slot and who waits for one; settings say who asks, and keep the theme', async () => {
    const page = await open('/workers')
    const limits = page.getByRole('region', { name: 'Limits' })
    await limits.getByText('1 of 1 used').waitFor()
    await limits.getByRole('button', { name: 'Who' }).click()
    await limits.getByRole('link', { name: 'narrow-3' }).waitFor()
    await Promise.all(NARROW.map((id) => studio.engine.cancel(id)))
    await page.goto(`${studio.url}/settings`)
    await page.getByText('may do everything').waitFor()
    await page.getByText('are kept for').waitFor()
    await page.getByRole('radio', { name: 'Dark' }).check()
    await page.reload()
    expect(await page.getByRole('radio', { name: 'Dark' }).isChecked()).toBe(true)
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark')
  })
})

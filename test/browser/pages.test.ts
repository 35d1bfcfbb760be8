// Every page, light and dark, wide and narrow: nothing that a checker of accessibility calls serious, and no value of a user that is more than text.

import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { createEngine, workflow } from '../../src/index.js'
import { seriousIn } from './axe.js'
import { describeInBrowser, studioWith } from './studio.js'
import { leads, order, refund, review, WORKFLOWS } from './world.js'

/** B130 to B136: what has been tried on pages that show what others have typed. */
const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '</script><script>alert(1)</script>',
  'javascript:alert(1)',
  '<svg onload=alert(1)>',
  '{{constructor.constructor("alert(1)")()}}',
  '@import url(//evil.example/x.css)',
  '![x](https://evil.example/x.png)',
  '[click](javascript:alert(1))',
]
const hostile = workflow('hostile', {}, async (wf, input: unknown) => {
  for (const [index, text] of HOSTILE.entries()) await wf.do(`step ${index} ${text}`, () => text)
  await wf.documents.save('text', { text: HOSTILE.join('\n\n') })
  await wf.do(HOSTILE[0] ?? '', () => {
    throw Object.assign(new Error(HOSTILE.join(' ')), { input })
  })
})

/** What only markup or a script could have made. */
const MARKUP = 'img, script:not([src]), [onerror], [onload], a[href^="javascript"]'

const TABS = ['timeline', 'diagram', 'journal', 'data', 'documents', 'errors']
const PAGES = [
  '/',
  '/runs',
  '/runs?status=failed',
  '/nowhere',
  '/runs/none',
  '/runs/ord-1?sel=charge',
  ...['diagram', 'journal', 'data', 'documents', 'errors'].map((tab) => `/runs/ord-1?tab=${tab}`),
  '/runs/rev-1?tab=diagram',
  '/runs/lead-1?tab=diagram&at=3',
]

async function ready(page: Page): Promise<void> {
  await page.locator('h1, h2').first().waitFor()
  await page.locator('.skeleton').first().waitFor({ state: 'detached' })
}

describeInBrowser('pages of the Studio', () => {
  const studio = studioWith(async () => {
    const workflows = [...WORKFLOWS, hostile]
    const engine = await createEngine({ database: 'memory:', workflows })
    await engine.start(
      order,
      { id: 'o-1', amount: 100 },
      { id: 'ord-1', tags: { customer: 'acme' } },
    )
    await engine.start(review, { topic: 'bees' }, { id: 'rev-1' })
    const lead = { id: 'l-1', email: 'bob@acme.example' }
    await (await engine.start(leads, lead, { id: 'lead-1' })).result()
    await engine.run(refund, { id: 'r-1' }, { id: 'ref-1' })
    const tags = { note: HOSTILE[0] ?? '' }
    await engine.run(hostile, { [HOSTILE[3] ?? '']: HOSTILE }, { id: 'bad-1', tags })
    return engine
  })

  test('on every page nobody is left out, in light and in dark, and it fits a telephone', async () => {
    const { page, problems } = await studio.open('/', { reducedMotion: 'reduce' })
    const found: string[] = []
    const look = async (what: string): Promise<void> => {
      await page.emulateMedia({ colorScheme: 'light' })
      found.push(...(await seriousIn(page, {})).map((one) => `${what}: ${one}`))
      await page.emulateMedia({ colorScheme: 'dark' })
      const colours = { runOnly: ['color-contrast'] }
      found.push(...(await seriousIn(page, colours)).map((one) => `${what} in dark: ${one}`))
    }
    for (const path of PAGES) {
      await page.goto(studio.url + path)
      await ready(page)
      await look(path)
      await page.setViewportSize({ width: 390, height: 844 })
      const width = await page.evaluate('document.documentElement.scrollWidth')
      if (width !== 390) found.push(`${path} is ${String(width)} wide on a telephone`)
      await page.setViewportSize({ width: 1440, height: 900 })
    }
    await page.goto(`${studio.url}/runs/rev-1`)
    await page.getByRole('button', { name: 'approve' }).click()
    await page.getByLabel('By').waitFor()
    await look('a form')
    expect(found).toEqual([])
    // A browser says by itself that a run is not there.
    expect(problems.filter((one) => !one.includes('404'))).toEqual([])
    await page.context().close()
  })

  test('[B130] values of users are text, whatever they look like, in every panel', async () => {
    const { page, problems } = await studio.open('/runs')
    await page.getByRole('link', { name: 'bad-1' }).waitFor()
    for (const tab of TABS) {
      await page.goto(`${studio.url}/runs/bad-1?tab=${tab}`)
      await ready(page)
      await page.getByRole('tabpanel').getByText('onerror=alert(1)').first().waitFor()
      const made = await page.locator(MARKUP).count()
      expect([tab, made]).toEqual([tab, 0])
    }
    expect(problems).toEqual([])
    await page.context().close()
  })
})

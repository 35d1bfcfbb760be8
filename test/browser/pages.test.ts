// Every page, light and dark, wide and narrow: nothing that a checker of accessibility calls serious.

import { expect, test } from 'vitest'
import { createEngine } from '../../src/index.js'
import { seriousIn } from './axe.js'
import { describeInBrowser, go, studioWith } from './studio.js'
import { leads, order, refund, review, WORKFLOWS } from './world.js'

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

describeInBrowser('pages of the Studio', () => {
  const studio = studioWith(async () => {
    const engine = await createEngine({ database: 'memory:', workflows: WORKFLOWS })
    await engine.start(
      order,
      { id: 'o-1', amount: 100 },
      { id: 'ord-1', tags: { customer: 'acme' } },
    )
    await engine.start(review, { topic: 'bees' }, { id: 'rev-1' })
    const lead = { id: 'l-1', email: 'bob@acme.example' }
    await (await engine.start(leads, lead, { id: 'lead-1' })).result()
    await engine.run(refund, { id: 'r-1' }, { id: 'ref-1' })
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
      await go(page, path)
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

  test('who asks is asked once, though the stream begins by saying that runs are to be read again', async () => {
    const { page } = await studio.open('/nowhere')
    // What that page still asks for is not meant.
    await page.goto('about:blank')
    const asked: string[] = []
    const times = (path: string): number => asked.filter((one) => one.endsWith(path)).length
    const isReadAgain = new Promise<void>((resolve) => {
      page.on('request', (request) => {
        asked.push(new URL(request.url()).pathname)
        if (times('/stats') === 2) resolve()
      })
    })
    await page.goto(studio.url)
    await isReadAgain
    // All that is read again is asked for at once: by now the browser has told of it.
    await page.evaluate('0')
    expect(times('/me')).toBe(1)
    await page.context().close()
  })
})

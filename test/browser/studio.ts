// The built Studio in a real browser, in front of a real engine. Violations of the content security policy, errors of pages and
// failed requests of files are gathered: each test looks at them at its end.

import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, inject } from 'vitest'
import { type ServeOptions, type Serving, serve } from '../../src/http/index.js'
import type { Engine } from '../../src/index.js'
import { ROOT } from '../tidy/repository.js'

const FOLDER = join(ROOT, 'dist/studio')

const found = inject('browser')

/** As describe; skipped, with the reason in its title, where there is no browser. */
export function describeInBrowser(title: string, tests: () => void): void {
  if ('skip' in found) describe.skip(`${title} (skipped: ${found.skip})`, tests)
  else describe(title, tests)
}

interface Opened {
  readonly page: Page
  /** What went wrong in the page so far. */
  readonly problems: readonly string[]
}

export interface Studio {
  readonly url: string
  readonly engine: Engine
  open(path: string, options?: BrowserContextOptions): Promise<Opened>
  /** The same engine behind another server; where that listens. */
  also(options: ServeOptions): Promise<string>
  /** Nothing answers any more, until the end of `work`. */
  whileDown(work: () => Promise<void>): Promise<void>
}

/** Made before the tests of a file, and taken down behind them. */
export function studioWith(makeEngine: () => Promise<Engine<never> | Engine>): Studio {
  let browser: Browser
  let server: Serving
  let engine: Engine
  const others: Serving[] = []
  const listen = async (port: number): Promise<void> => {
    server = await serve(engine, { port, studio: FOLDER, rateLimit: false })
  }
  beforeAll(async () => {
    if ('skip' in found) return
    browser = await chromium.connect(found.endpoint)
    engine = (await makeEngine()) as Engine
    await listen(0)
  })
  afterAll(async () => {
    await browser?.close()
    await Promise.all([server, ...others].map((one) => one?.close()))
    await engine?.close()
  })
  return {
    get url() {
      return server.url
    },
    get engine() {
      return engine
    },
    open: async (path, options = {}) => {
      const context = await browser.newContext({
        viewport: { width: 1440, height: 900 },
        ...options,
      })
      const page = await context.newPage()
      const problems = watched(page)
      await page.goto(new URL(path, server.url).href)
      return { page, problems }
    },
    also: async (options) => {
      const other = await serve(engine, { port: 0, studio: FOLDER, rateLimit: false, ...options })
      others.push(other)
      return other.url
    },
    whileDown: async (work) => {
      const { port } = server
      await server.close()
      await work()
      await listen(port)
    },
  }
}

/** A page for each test. At its end the page is closed, and nothing may have gone wrong in it: no errors, no violations of the policy. */
export function pageOf(
  studio: Studio,
  isWrong: (problem: string) => boolean = () => true,
): {
  readonly open: (...args: Parameters<Studio['open']>) => Promise<Page>
  /** In this test only such problems count. */
  readonly countOnly: (isProblem: (problem: string) => boolean) => void
} {
  let opened: Opened | null = null
  let isCounted = isWrong
  afterEach(async () => {
    const wrong = (opened?.problems ?? []).filter(isCounted)
    await opened?.page.context().close()
    opened = null
    isCounted = isWrong
    expect(wrong).toEqual([])
  })
  return {
    open: async (...args) => {
      opened = await studio.open(...args)
      return opened.page
    },
    countOnly: (isProblem) => {
      isCounted = isProblem
    },
  }
}

/** It has a heading, and nothing in it is still being read. */
export async function ready(page: Page): Promise<void> {
  await page.locator('h1, h2').first().waitFor()
  await expect.poll(() => page.locator('.skeleton').count()).toBe(0)
}

/** To another page without loading the Studio again, as its links do. */
export async function go(page: Page, path: string): Promise<void> {
  const to = JSON.stringify(path)
  await page.evaluate(
    `history.pushState(null, '', ${to}); dispatchEvent(new PopStateEvent('popstate'))`,
  )
  await ready(page)
}

function watched(page: Page): readonly string[] {
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(`threw ${error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(`said ${message.text()}`)
  })
  page.on('dialog', (dialog) => {
    problems.push(`opened a dialog: ${dialog.message()}`)
    dialog.dismiss().catch(() => {})
  })
  return problems
}

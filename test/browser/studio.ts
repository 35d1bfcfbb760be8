// The built Studio in a real browser, in front of a real engine. Violations of the content security policy, errors of pages and
// failed requests of files are gathered: each test looks at them at its end.

import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, inject } from 'vitest'
import { createHandler, nodeListener } from '../../src/http/index.js'
import type { Engine } from '../../src/index.js'
import { ROOT } from '../tidy/repository.js'

const FOLDER = join(ROOT, 'dist/studio')
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}
const POLICY =
  "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"

const found = inject('browser')

/** As describe; skipped, with the reason in its title, where there is no browser. */
export function describeInBrowser(title: string, tests: () => void): void {
  if ('skip' in found) describe.skip(`${title} (skipped: ${found.skip})`, tests)
  else describe(title, tests)
}

export interface Opened {
  readonly page: Page
  /** What went wrong in the page so far. */
  readonly problems: readonly string[]
}

export interface Studio {
  readonly url: string
  readonly engine: Engine
  open(path: string, options?: BrowserContextOptions): Promise<Opened>
  /** Nothing answers any more, until the end of `work`. */
  whileDown(work: () => Promise<void>): Promise<void>
}

/** Made before the tests of a file, and taken down behind them. */
export function studioWith(makeEngine: () => Promise<Engine<never> | Engine>): Studio {
  let browser: Browser
  let server: Server
  let engine: Engine
  let url = ''
  beforeAll(async () => {
    if ('skip' in found) return
    browser = await chromium.connect(found.endpoint)
    engine = (await makeEngine()) as Engine
    server = await served(engine)
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(async () => {
    await browser?.close()
    server?.closeAllConnections()
    server?.close()
    await engine?.close()
  })
  return {
    get url() {
      return url
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
      await page.goto(url + path)
      return { page, problems }
    },
    whileDown: async (work) => {
      const { port } = server.address() as AddressInfo
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await work()
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    },
  }
}

function watched(page: Page): readonly string[] {
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(`threw ${error.message}`))
  page.on('console', (message) => {
    const text = message.text()
    // A part of the API that this server does not have: the page then shows less.
    if (message.type() === 'error' && !text.includes('status of 404')) problems.push(`said ${text}`)
  })
  page.on('dialog', (dialog) => {
    problems.push(`opened a dialog: ${dialog.message()}`)
    dialog.dismiss().catch(() => {})
  })
  return problems
}

async function served(engine: Engine): Promise<Server> {
  const listener = nodeListener(createHandler(engine, { open: true, rateLimit: false }))
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://studio')
    if (pathname.startsWith('/api/')) return void listener(request, response)
    const name =
      extname(pathname) === '' || pathname.startsWith('/runs/') ? '/index.html' : pathname
    readFile(join(FOLDER, name)).then(
      (bytes) => {
        const type = TYPES[extname(name)] ?? 'application/octet-stream'
        response.writeHead(200, { 'content-type': type, 'content-security-policy': POLICY })
        response.end(bytes)
      },
      () => response.writeHead(404).end(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

// One browser for all tests of this project, or the reason why there is none.

import { readFileSync, writeFileSync } from 'node:fs'
import { chromium } from 'playwright-core'
import type { TestProject } from 'vitest/node'
import { ENABLE, findBrowser } from './find-browser.js'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where the browser listens, or why there is none. */
    browser: { readonly endpoint: string } | { readonly skip: string }
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  try {
    const { path, args } = await findBrowser()
    const server = await chromium.launchServer({ executablePath: path, args: [...args] })
    project.provide('browser', { endpoint: server.wsEndpoint() })
    report(null)
    return () => server.close()
  } catch (error) {
    const skip = (error as Error).message.split('\n', 1)[0] ?? ''
    if (process.env.REQUIRE?.split(',').includes('browser')) {
      throw new Error(`REQUIRE asks for what is missing: browser (${skip})`)
    }
    project.provide('browser', { skip })
    report(skip)
    return async () => {}
  }
}

/** For the table that scripts/test.mjs prints at the end, beside the databases. */
function report(skip: string | null): void {
  const file = process.env.PERDURE_TEST_DATABASES
  if (!file) return
  const found = JSON.parse(readFileSync(file, 'utf8')) as object[]
  const enable = skip === null ? null : ENABLE
  writeFileSync(file, JSON.stringify([...found, { name: 'browser', url: null, skip, enable }]))
}

// One browser for all tests of this project, or the reason why there is none.

import { chromium } from 'playwright-core'
import type { TestProject } from 'vitest/node'
import { reportParts } from '../support/parts.js'
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

/** For the table that scripts/test.mjs prints at the end. */
function report(skip: string | null): void {
  const enable = skip === null ? null : ENABLE
  reportParts([{ name: 'browser', skip, enable }])
}

// axe-core in a page.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { ROOT } from '../tidy/repository.js'

const AXE = readFileSync(join(ROOT, 'node_modules/axe-core/axe.min.js'), 'utf8')

/** What keeps people out who do not see the page or do not use a mouse. */
export async function seriousIn(page: Page, options: object = {}): Promise<readonly string[]> {
  await page.evaluate(AXE)
  const how = JSON.stringify({ resultTypes: ['violations'], ...options })
  const { violations } = (await page.evaluate(`axe.run(${how})`)) as AxeResults
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .map(({ html }) => html)
          .slice(0, 3)
          .join(' ')}`,
    )
}

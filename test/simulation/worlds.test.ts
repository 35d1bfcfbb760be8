// The worlds of npm test. They run as `npm run simulate` runs them, on all cores and without vitest around each call.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { missing } from './rare.js'

const isFast = process.env.PERDURE_TEST_FAST === '1'
const SEEDS = isFast ? 240 : 5_000
const SCRIPT = fileURLToPath(new URL('../../scripts/simulate.mjs', import.meta.url))

/** How often each rare state was met. */
const rare: Record<string, number> = {}

/** A world that never ends would go on without end. */
const TIMEOUT_MS = 10 * 60_000

test(`${SEEDS} random worlds keep every promise`, { timeout: 2 * TIMEOUT_MS }, async () => {
  const args = [SCRIPT, '--seeds', String(SEEDS)]
  const how = { maxBuffer: 1e8, timeout: TIMEOUT_MS }
  const ran = await promisify(execFile)(process.execPath, args, how).catch(
    (error: { stdout: string; stderr: string }) => expect.fail(`${error.stdout}${error.stderr}`),
  )
  const lines = ran.stdout.trim().split('\n')
  for (const line of lines) {
    const [, count, name = ''] = /^ *(\d+) {2}(.+)$/.exec(line) ?? []
    if (count) rare[name] = Number(count)
  }
  console.info(lines.at(-1))
  expect(lines.at(-1)).toMatch(new RegExp(`^${SEEDS} seeds, .* 0 broken$`))
})

test.runIf(!isFast)('everything rare has happened, and no code was taken for changed', () => {
  expect(missing(rare)).toEqual([])
  expect(rare['run.diverged']).toBe(0)
})

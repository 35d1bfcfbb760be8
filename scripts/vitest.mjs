// Runs vitest and reads what it found. Shared by test.mjs and conformance.mjs.

import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { CACHE, install, ROOT, run, sourceHash } from './bootstrap.mjs'

/** The report of the last complete run, and the hash of the sources it is true of. */
export const LAST_REPORT = join(CACHE, 'last-run.json')

/** They have packages of their own: what stands beside those of the root, or would be too large among them. */
const FOLDERS = [
  ...['test/nestjs/majors/10', 'test/nestjs/majors/12', 'test/bullmq/majors/5'],
  ...['test/mounting/next', 'site'],
]

/** All that can change the outcome of a test. */
export function testedHash() {
  return sourceHash([
    ...['src', 'sql', 'test', 'docs', 'examples', 'scripts', 'studio/src', 'README.md'],
    ...['package.json', 'package-lock.json', 'vitest.config.ts', 'tsconfig.json'],
  ])
}

/** `report` is null when vitest did not get as far as writing one. */
export async function runVitest(args, { fast = false, stdio = 'inherit' } = {}) {
  for (const folder of fast ? [] : FOLDERS) await install(join(ROOT, folder))
  // Only their types are read.
  if (!fast) await install(join(ROOT, 'test/docs/compare'), ['--ignore-scripts'])
  // A whole run begins without what earlier ones have left there; see vitest.config.ts.
  if (!fast && args.length === 0) rmSync(join(CACHE, 'vitest'), { recursive: true, force: true })
  const reportFile = join(CACHE, `vitest-${process.pid}.json`)
  const partsFile = join(CACHE, `parts-${process.pid}.jsonl`)
  // Ctrl-C reaches vitest too; it ends, and we still print what there is.
  let interrupted = false
  const onInterrupt = () => {
    interrupted = true
  }
  process.on('SIGINT', onInterrupt)
  const { code } = await run(
    process.execPath,
    [
      join(ROOT, 'node_modules/vitest/vitest.mjs'),
      'run',
      '--reporter=default',
      '--reporter=json',
      `--reporter=${join(ROOT, 'scripts/late-reporter.mjs')}`,
      `--outputFile.json=${reportFile}`,
      ...args,
    ],
    { stdio, env: { PERDURE_TEST_FAST: fast ? '1' : '', PERDURE_TEST_PARTS: partsFile } },
  )
  process.off('SIGINT', onInterrupt)
  const [report = null] = take(reportFile)
  return { code, interrupted, report, parts: take(partsFile) }
}

/** One JSON in each line. */
function take(file) {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  rmSync(file)
  return lines.map((line) => JSON.parse(line))
}

/** Every test of a report as { file, title, suite, status: passed | failed | skipped }. */
export function testsOf(report) {
  return report.testResults.flatMap((file) =>
    file.assertionResults.map(({ title, ancestorTitles, status }) => ({
      file: file.name.replace(`${ROOT}/`, ''),
      title,
      suite: ancestorTitles.join(' > '),
      status: status === 'passed' || status === 'failed' ? status : 'skipped',
    })),
  )
}

/** Files that failed without a failed test: they could not be loaded, or a hook of theirs threw. */
export function brokenFiles(report) {
  const broken = report.testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  )
  return broken.map(({ name }) => name.replace(`${ROOT}/`, ''))
}
